import { concat, fromBase64, utf8Encode } from '../bytes.ts'
import type { ProofProviders, PublicKey } from '../crypto.ts'
import type { EntryStep } from '../entry/entry-step.ts'
import { ProofError } from '../error.ts'
import type { JsonObject } from '../json/json-value.ts'
import { parsePublicKey } from '../keys.ts'
import { type AgentKeyRegistration, agentKeyText } from '../statement/agent-key.ts'
import { SIGNED_BY_AGENTS } from '../statement/kinds.ts'

/** A key of an agent that was registered before. */
export type KnownAgentKey = {
  readonly agent: string
  readonly key: PublicKey
  readonly required: boolean
  readonly revoked: boolean
}

/** A key with the places of the entries that registered and revoked it. */
export type StoredAgentKey = Omit<KnownAgentKey, 'revoked'> & {
  readonly kid: string
  readonly registeredSeq: number
  readonly revokedSeq: number | null
}

/** Kids of agents that a verifier knows from elsewhere, by agent. Each such agent has signed all that it did by these, and by keys that they endorse. */
export type PinnedAgents = ReadonlyMap<string, ReadonlySet<string>>

/** Entries about keys say nothing in the agent's name, and one that has lost its key could not be silenced otherwise. */
const ABOUT_KEYS: ReadonlySet<string> = new Set(['agent-key-registered', 'agent-key-revoked'])

/** Current keys of an agent at a time. */
export const AGENT_KEYS_MAX = 8

/** Part of an entry that says who made and signed it. */
type Signed = Pick<EntryStep, 'kind' | 'kid' | 'actor' | 'actedFor'>

/**
 * Keys by which agents sign for themselves, rebuilt from the chain: the order of the chain alone decides from where to where each
 * signs.
 *
 * A thief of the server's keys can register a first key for an agent that has none. An agent that has one, and requires it, is out of
 * the thief's reach: another key needs a signature by one that it has, and an entry in its name does too.
 */
export class LedgerAgentKeys {
  readonly #providers: ProofProviders
  readonly #keys = new Map<string, KnownAgentKey>()
  /** How many current keys each agent has that ever had one. */
  readonly #agents = new Map<string, number>()
  readonly #required = new Set<string>()
  #digest: Uint8Array | null = null
  readonly #pinned: PinnedAgents
  /** Kids that a caller named, or that one of these has endorsed. */
  readonly #trusted = new Set<string>()

  constructor(providers: ProofProviders, pinned: PinnedAgents = new Map()) {
    this.#providers = providers
    this.#pinned = pinned
  }

  has(kid: string): boolean {
    return this.#keys.has(kid)
  }

  /** Digest of all registrations and revocations so far, in their order; null: there was never one. */
  get digest(): Uint8Array | null {
    return this.#digest
  }

  /** Takes keys as they stand, of whose entries another verification has made sure. In an order of their own, where nothing was taken before. */
  load(stored: readonly StoredAgentKey[]): void {
    const changes = stored.flatMap((key) => [
      { seq: key.registeredSeq, make: () => this.#add(key.kid, { ...key, revoked: false }) },
      ...(key.revokedSeq === null ? [] : [{ seq: key.revokedSeq, make: () => this.#end(key.kid) }]),
    ])
    for (const { make } of changes.sort((a, b) => a.seq - b.seq)) make()
  }

  #add(kid: string, { agent, key, required }: KnownAgentKey): void {
    this.#keys.set(kid, { agent, key, required, revoked: false })
    this.#agents.set(agent, (this.#agents.get(agent) ?? 0) + 1)
    if (required) this.#required.add(agent)
    this.#extend([kid, agent, required])
  }

  #end(kid: string): void {
    const known = this.#keys.get(kid)!
    this.#keys.set(kid, { ...known, revoked: true })
    this.#agents.set(known.agent, this.#agents.get(known.agent)! - 1)
    this.#extend([kid])
  }

  /** By what has changed alone: a ledger has as many keys as it likes. */
  #extend(change: readonly unknown[]): void {
    const before = this.#digest ?? new Uint8Array(0)
    this.#digest = this.#providers.sha256(concat([before, utf8Encode(JSON.stringify(change))]))
  }

  /** Whether an agent has signed the entry; if not, the ledger's own key must have. Throws if it may not, or had to. */
  verifySigner({ kind, kid, actor, actedFor }: Signed): boolean {
    const known = this.#keys.get(kid)
    if (known) verifyMaySign(known, kid, kind, actor)
    else if (this.#isUnspoken(actor, kind)) throw unsigned(actor)
    for (const agent of actedFor) if (agent !== actor && this.#required.has(agent)) throw unsigned(agent)
    return known !== undefined
  }

  /** Whether nobody but the agent itself says such a thing in its name. */
  #isUnspoken(actor: string, kind: string): boolean {
    return (
      (this.#required.has(actor) && !ABOUT_KEYS.has(kind)) ||
      (this.#pinned.has(actor) && SIGNED_BY_AGENTS.has(kind))
    )
  }

  /** Throws unless each pinned agent has one of the keys that were named. */
  verifyPinned(): void {
    for (const [agent, kids] of this.#pinned)
      if (![...kids].some((kid) => this.#trusted.has(kid)))
        throw new ProofError('trusted_key_absent', `${agent} has none of the keys that were named for it`)
  }

  register({ ledger }: Pick<EntryStep, 'ledger'>, predicate: JsonObject): void {
    const { agent, newKey, required, proof, endorsement } = predicate as unknown as AgentKeyRegistration
    const { kid, alg, spki } = newKey
    if (this.#keys.has(kid)) throw new ProofError('duplicate_subject', `the key ${kid} is registered twice`)
    const current = this.#agents.get(agent)
    if (current === AGENT_KEYS_MAX)
      throw new ProofError('agent_key_refused', `${agent} has ${AGENT_KEYS_MAX} current keys already`)
    const key = parsePublicKey(alg, fromBase64(spki))
    const text = agentKeyText({ ledger, agent, kid, required })
    if (!this.#providers.verifySignature(key, text, fromBase64(proof)))
      throw new ProofError('agent_key_refused', `nobody has shown that it holds the key ${kid}`)
    if (current !== undefined || endorsement) this.#verifyEndorsement(agent, text, endorsement)
    this.#trust(agent, kid, endorsement?.kid)
    this.#add(kid, { agent, key, required, revoked: false })
  }

  revoke(predicate: JsonObject): void {
    const { agent, kid } = predicate as { agent: string; kid: string }
    const known = this.#keys.get(kid)
    if (known?.agent !== agent) throw new ProofError('subject_unknown', `${agent} has no key ${kid}`)
    if (known.revoked) throw new ProofError('duplicate_subject', `the key ${kid} is revoked twice`)
    this.#end(kid)
  }

  /** A key of a pinned agent is one that was named, or descends from one. */
  #trust(agent: string, kid: string, endorsedBy: string | undefined): void {
    const pinned = this.#pinned.get(agent)
    if (!pinned) return
    if (!pinned.has(kid) && !this.#trusted.has(endorsedBy ?? ''))
      throw new ProofError(
        'agent_key_refused',
        `the key ${kid} of ${agent} is not one that was named, nor endorsed by one`,
      )
    this.#trusted.add(kid)
  }

  #verifyEndorsement(
    agent: string,
    text: Uint8Array,
    endorsement: AgentKeyRegistration['endorsement'],
  ): void {
    const by = endorsement && this.#keys.get(endorsement.kid)
    const isEndorsed =
      by?.agent === agent &&
      !by.revoked &&
      this.#providers.verifySignature(by.key, text, fromBase64(endorsement!.signature))
    if (!isEndorsed)
      throw new ProofError('agent_key_refused', `no current key of ${agent} endorses another one of it`)
  }
}

function verifyMaySign(known: KnownAgentKey, kid: string, kind: string, actor: string): void {
  if (known.agent !== actor)
    throw new ProofError('key_of_another_agent', `${kid} belongs to ${known.agent}, not ${actor}`)
  if (known.revoked) throw new ProofError('key_not_valid', `${kid} was revoked before`)
  if (!SIGNED_BY_AGENTS.has(kind)) throw new ProofError('actor_not_entitled', `agents do not sign ${kind}`)
}

function unsigned(agent: string): ProofError {
  return new ProofError('agent_signature_missing', `${agent} signs for itself, and has not signed this`)
}
