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

/** An agent's key, and whose it is. */
type AgentKey = KnownKey & { readonly agent: NonNullable<KnownKey['agent']> }

type Load = {
  /** The deployment's own keys. */
  readonly findKey: () => Promise<FindKey>
  /** The entry by which an agent of the ledger has registered the kid (lower-case hex); null: none has. */
  readonly findRegistration: (ledgerId: Uuid, kid: string) => Promise<SignedLine | null>
}

/**
 * Public keys that sign envelopes: the deployment's, read when one is asked for that is not known yet, after a rotation; and those that
 * agents have registered.
 */
export class EnvelopeKeys {
  /** Statements that these keys are known to have signed. */
  readonly known = new KnownStatements()
  readonly #load: Load
  readonly #agentKeys = new Map<string, AgentKey>()
  #findKey: FindKey = () => null

  constructor(load: Load) {
    this.#load = load
  }

  /** Knows all of `kids` (lower-case hex) that the deployment has, and agents of the ledger. */
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
   * A key that an agent of the ledger has registered; null: none has. Not whether it was revoked, which the place in the chain decides.
   * The row is an index that the database's owner can write; believed is the entry that it names, which the server signed. Throws
   * ProofError where it did not.
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
