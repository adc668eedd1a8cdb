import { concat, fromBase64, utf8Encode } from '../bytes.ts'
import type { ProofProviders, PublicKey } from '../crypto.ts'
import type { EntryStep, OwnStep } from '../entry/entry-step.ts'
import { ProofError } from '../error.ts'
import type { JsonObject } from '../json/json-value.ts'
import { parsePublicKey } from '../keys.ts'
import { type AgentKeyRegistration, agentKeyText } from '../statement/agent-key.ts'
import { ENTRY_KINDS, type EntryKind, isSignedByAgents } from '../statement/kinds.ts'
import { KeyRing, type RingKey } from './key-ring.ts'

export type StoredAgentKey = {
  readonly kid: string
  readonly agent: string
  readonly key: PublicKey
  readonly required: boolean
  readonly registeredSeq: number
  readonly revokedSeq: number | null
}

/**
 * Maps an agent to its trusted kids, which the caller knows from another source. Each entry of such an agent must be
 * signed by one of these keys, or by a key that they endorsed.
 */
export type PinnedAgents = ReadonlyMap<string, ReadonlySet<string>>

type SignedStep = Pick<OwnStep, 'kind' | 'kid' | 'actor' | 'actedFor'>

/**
 * Keys by which agents sign for themselves, rebuilt from the chain. The order of entries alone decides which entries
 * each key may sign.
 *
 * Somebody who stole the server's keys can register a first key for an agent that has no key yet. An agent that has a
 * required key is safe, because one of its keys must sign any further key and any entry in its name.
 */
export class LedgerAgentKeys {
  readonly #providers: ProofProviders
  readonly #ring = new KeyRing<PublicKey>('agent')
  readonly #required = new Set<string>()
  #digest: Uint8Array | null = null
  readonly #pinned: PinnedAgents
  /** Kids that the caller named, and kids that one of the named keys has endorsed. */
  readonly #trusted = new Set<string>()

  constructor(providers: ProofProviders, pinned: PinnedAgents = new Map()) {
    this.#providers = providers
    this.#pinned = pinned
  }

  /**
   * Throws if the kid belongs to an agent. Must be called for each new key of the ledger, because a kid must show
   * whether the ledger or an agent signed.
   */
  refuse(kid: string): void {
    if (this.#ring.get(kid))
      throw new ProofError(
        'key_not_current',
        `the key ${kid} belongs to an agent, so the key cannot become a key of the ledger`,
      )
  }

  /** Digest of all registrations and revocations so far, in order. null if there are none yet. */
  get digest(): Uint8Array | null {
    return this.#digest
  }

  /** Loads keys whose entries were verified before. The caller must load them before any other change. */
  load(stored: readonly StoredAgentKey[]): void {
    const changes = stored.flatMap((key) => [
      { seq: key.registeredSeq, make: () => this.#add(key) },
      ...(key.revokedSeq === null
        ? []
        : [{ seq: key.revokedSeq, make: () => this.#end(key.kid, key.revokedSeq!) }]),
    ])
    for (const { make } of changes.sort((a, b) => a.seq - b.seq)) make()
  }

  #add({ kid, agent, key, required, registeredSeq }: Omit<StoredAgentKey, 'revokedSeq'>): void {
    this.#ring.introduce(kid, agent, key, registeredSeq)
    if (required) this.#required.add(agent)
    this.#extend([kid, agent, required])
  }

  #end(kid: string, seq: number): void {
    this.#ring.end(kid, seq)
    this.#extend([kid])
  }

  /** Adds a change to the digest. Only the change is hashed, because a ledger may have any number of keys. */
  #extend(change: readonly unknown[]): void {
    const before = this.#digest ?? new Uint8Array(0)
    this.#digest = this.#providers.sha256(concat([before, utf8Encode(JSON.stringify(change))]))
  }

  /**
   * Returns true if an agent signed the entry. If it returns false, the caller must verify that the ledger's own key
   * signed the entry. Throws if the agent's key may not sign the entry. Also throws if the agent had to sign, but the
   * ledger signed.
   */
  verifySigner({ kind, kid, actor, actedFor }: SignedStep): boolean {
    const known = this.#ring.get(kid)
    if (known) verifyMaySign(known, kind, actor)
    else if (this.#needsAgentSignature(actor, kind)) throw unsigned(actor)
    for (const agent of actedFor) if (agent !== actor && this.#required.has(agent)) throw unsigned(agent)
    return known !== undefined
  }

  /** Returns true if the agent itself must sign an entry of this kind in its name. */
  #needsAgentSignature(actor: string, kind: EntryKind): boolean {
    return (
      (this.#required.has(actor) && !isAboutAgentKeys(kind)) ||
      (this.#pinned.has(actor) && isSignedByAgents(kind))
    )
  }

  /** Throws if a pinned agent has registered none of the keys that the caller named for it. */
  verifyPinned(): void {
    for (const [agent, kids] of this.#pinned)
      if (![...kids].some((kid) => this.#trusted.has(kid)))
        throw new ProofError(
          'trusted_key_absent',
          `${agent} has registered none of the given keys: ${[...kids].sort().join(', ')}`,
        )
  }

  register({ ledger, seq }: Pick<EntryStep, 'ledger' | 'seq'>, predicate: JsonObject): void {
    const { agent, newKey, required, proof, endorsement } = predicate as unknown as AgentKeyRegistration
    const { kid, alg, spki } = newKey
    this.#ring.verifyNew({ kid, holder: agent, endorsedBy: endorsement?.kid ?? null })
    const key = parsePublicKey(alg, fromBase64(spki))
    const text = agentKeyText({ ledger, agent, kid, required })
    if (!this.#providers.verifySignature(key, text, fromBase64(proof)))
      throw new ProofError('agent_key_refused', `the proof of possession of the key ${kid} does not verify`)
    if (endorsement) this.#verifyEndorsement(endorsement, text)
    this.#trust(agent, kid, endorsement?.kid)
    this.#add({ kid, agent, key, required, registeredSeq: seq })
  }

  revoke(predicate: JsonObject, seq: number): void {
    const { agent, kid } = predicate as { agent: string; kid: string }
    const known = this.#ring.get(kid)
    if (known?.holder !== agent)
      throw new ProofError(
        'subject_unknown',
        `${agent} has registered no signing key ${kid}, so the key cannot be revoked`,
      )
    if (known.until !== null) throw new ProofError('duplicate_subject', `the key ${kid} is revoked twice`)
    this.#end(kid, seq)
  }

  /**
   * Adds a pinned agent's new key to the trusted keys. Throws if the caller did not name the key and no trusted key
   * endorses the new key.
   */
  #trust(agent: string, kid: string, endorsedBy: string | undefined): void {
    const pinned = this.#pinned.get(agent)
    if (!pinned) return
    if (!pinned.has(kid) && !this.#trusted.has(endorsedBy ?? ''))
      throw new ProofError(
        'agent_key_refused',
        `the key ${kid} of ${agent} is neither one of the given keys nor endorsed by one`,
      )
    this.#trusted.add(kid)
  }

  /** Verifies the signature of an endorsement. The endorsing key must be a current key in the ring. */
  #verifyEndorsement(
    { kid, signature }: NonNullable<AgentKeyRegistration['endorsement']>,
    text: Uint8Array,
  ): void {
    if (!this.#providers.verifySignature(this.#ring.get(kid)!.key, text, fromBase64(signature)))
      throw new ProofError('agent_key_refused', `the endorsement by ${kid} is not a signature of this key`)
  }
}

/**
 * Returns true if entries of this kind are about agents' keys. Such entries state nothing in the agent's name. So the
 * server may sign them. Otherwise nobody could revoke the key of an agent that lost its key.
 */
function isAboutAgentKeys(kind: EntryKind): boolean {
  const { gives, ends } = ENTRY_KINDS[kind]
  return ends === 'agent' || gives?.[0]?.use === 'agent'
}

function verifyMaySign({ kid, holder, until }: RingKey<PublicKey>, kind: EntryKind, actor: string): void {
  if (holder !== actor)
    throw new ProofError(
      'key_of_another_agent',
      `the key ${kid} belongs to ${holder}, but signed an entry of ${actor}`,
    )
  if (until !== null) throw new ProofError('key_not_valid', `the key ${kid} was revoked before this entry`)
  if (!isSignedByAgents(kind))
    throw new ProofError(
      'actor_not_entitled',
      `the entry is signed by an agent, but ${kind} must be signed by the server`,
    )
}

function unsigned(agent: string): ProofError {
  return new ProofError(
    'agent_signature_missing',
    `${agent} must sign its own entries, and has not signed this one`,
  )
}
