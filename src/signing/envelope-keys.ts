import { fromBase64, toHex } from '../proof/bytes.ts'
import {
  type FindKey,
  type KnownKey,
  type SignedLine,
  verifySignedEntry,
} from '../proof/entry/verify-entry.ts'
import { parseEnvelope } from '../proof/envelope/cose.ts'
import { ProofError } from '../proof/error.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { parsePublicKey } from '../proof/keys.ts'
import type { AgentKeyRegistration } from '../proof/statement/agent-key.ts'
import { KnownStatements } from './known-statements.ts'
import { AGENT_KEYS_KNOWN_MAX } from './limits.ts'
import { nativeProviders } from './native.ts'

type AgentKey = KnownKey & { readonly agent: NonNullable<KnownKey['agent']> }

type Load = {
  /** Reads the deployment's own keys. */
  readonly findKey: () => Promise<FindKey>
  /**
   * Returns the entry with which an agent of the ledger registered the kid (lower-case hex). Returns null if no entry
   * registered the kid.
   */
  readonly findRegistration: (ledgerId: Uuid, kid: string) => Promise<SignedLine | null>
}

/**
 * Public keys that sign envelopes: the deployment's keys, and keys that agents registered. The deployment's keys are
 * read again if an unknown kid is requested, for example after a rotation.
 */
export class EnvelopeKeys {
  /** Statements that are known to be signed by these keys. */
  readonly known = new KnownStatements()
  readonly #load: Load
  readonly #agentKeys = new Map<string, AgentKey>()
  #findKey: FindKey = () => null

  constructor(load: Load) {
    this.#load = load
  }

  /**
   * Returns a FindKey that finds the keys of `kids` (lower-case hex), both the deployment's and those of the ledger's
   * agents.
   */
  async finderFor(kids: Iterable<string>, ledgerId: Uuid | null = null): Promise<FindKey> {
    for (const kid of kids) {
      if (this.#findKey(kid) || (ledgerId && (await this.findAgentKey(ledgerId, kid)))) continue
      this.#findKey = await this.#load.findKey()
      break
    }
    const findKey = this.#findKey
    if (ledgerId === null) return findKey
    return (kid) => findKey(kid) ?? this.#agentKeys.get(`${ledgerId} ${kid}`) ?? null
  }

  /**
   * Returns a key that an agent of the ledger registered. Returns null if no agent registered it. The key may be
   * revoked: whether a revocation applies depends on the position in the chain, and is not checked here.
   *
   * The key's row is only an index, which the database's owner can write. Therefore the entry that the row names is
   * verified. Throws ProofError if the server did not sign the entry, or if the entry does not register this key.
   */
  async findAgentKey(ledgerId: Uuid, kid: string): Promise<AgentKey | null> {
    const id = `${ledgerId} ${kid}`
    const known = this.#agentKeys.get(id)
    if (known) return known
    const line = await this.#load.findRegistration(ledgerId, kid)
    if (line === null) return null
    const findKey = await this.finderFor([toHex(parseEnvelope(line.envelope).kid)])
    const { statement } = verifySignedEntry(line, findKey, nativeProviders)
    const { agent, newKey } = statement.predicate as unknown as AgentKeyRegistration
    const ledger = formatId('led', ledgerId)
    if (statement.kind !== 'agent-key-registered' || newKey.kid !== kid || statement.ledger !== ledger)
      throw new ProofError('columns_contradict_entries', `no entry of ${ledger} registers the key ${kid}`)
    const key = { ...parsePublicKey(newKey.alg, fromBase64(newKey.spki)), agent: { ledger, agent } }
    if (this.#agentKeys.size >= AGENT_KEYS_KNOWN_MAX)
      this.#agentKeys.delete(this.#agentKeys.keys().next().value!)
    this.#agentKeys.set(id, key)
    return key
  }
}
