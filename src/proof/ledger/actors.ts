import type { OwnStep } from '../entry/entry-step.ts'
import { ProofError } from '../error.ts'
import type { JsonObject } from '../json/json-value.ts'
import { KEY_LINGER_MS_MAX } from '../limits.ts'
import { ENTRY_KINDS } from '../statement/kinds.ts'
import { parseRemoteAgent } from '../statement/remote-agents.ts'

/**
 * Rebuilds from a ledger's entries who may act in the ledger: agents, their API keys, and the scopes of each key.
 *
 * Without this check a server could sign "agent X did it" for an agent X that was never registered, or under the key of
 * another agent. Anybody with the API's database login and the envelope key can write such an entry. Only the order of
 * registrations in the chain shows that the entry is not legitimate.
 *
 * A chain without a registered agent makes no claim about agents. So agents are checked only after the first
 * registration. In the same way, API keys are checked only after the first key was created. Our ledgers register an
 * agent and create a key right after `ledger-created`.
 */
type Agent = { readonly digest: string; disabledAtMs: number | null }
type Key = {
  readonly agent: string
  readonly digest: string
  readonly scopes: ReadonlySet<string>
  readonly expiresAtMs: number | null
  revokedAtMs: number | null
}

const SCOPE_ACT = 'agents:act'
const SCOPE_RECORDS = 'records:write'

type ActingEntry = Pick<OwnStep, 'kind' | 'actor' | 'key' | 'actedFor' | 'atMs' | 'statement'>

export class LedgerActors {
  readonly #agents = new Map<string, Agent>()
  readonly #keys = new Map<string, Key>()

  /**
   * Throws if the actor's API key did not allow this entry at the time of the entry. Also checks the agents on whose
   * behalf the entry was made.
   */
  verifyActor({ kind, actor, key, actedFor, atMs, statement }: ActingEntry): void {
    const entitled = ENTRY_KINDS[kind]
    if (actor === 'system') {
      if (actedFor.length > 0)
        throw new ProofError('actor_not_entitled', 'system cannot act on behalf of an agent')
      if (!entitled.system)
        throw new ProofError('actor_not_entitled', `the actor of ${kind} must be an agent, not system`)
      return
    }
    // The actor is an agent of another ledger. peers.ts checks the agent's offer against the peering.
    if (parseRemoteAgent(actor) !== null) return
    if (entitled.scope === null)
      throw new ProofError('actor_not_entitled', `the actor of ${kind} must be system, not an agent`)
    this.#verifyAgent(actor, atMs)
    for (const agent of actedFor) this.#verifyAgent(agent, atMs)
    if (this.#keys.size === 0) return
    const known = this.#keys.get(key!) // parseStatement requires a key unless the actor is `system`.
    if (!known)
      throw new ProofError(
        'key_not_created',
        `no earlier entry creates the API key ${key}, which ${actor} used`,
      )
    if (known.agent !== actor)
      throw new ProofError(
        'key_of_another_agent',
        `the API key ${key} belongs to ${known.agent}, but ${actor} used the key`,
      )
    if (isOver(known.revokedAtMs, atMs))
      throw new ProofError('key_not_valid', `the API key ${key} was revoked before this entry`)
    if (isOver(known.expiresAtMs, atMs))
      throw new ProofError('key_not_valid', `the API key ${key} expired before this entry`)
    this.#verifyScope(key, isOfOwnKey(actor, statement) ? SCOPE_RECORDS : entitled.scope)
    if (actedFor.length > 0) this.#verifyScope(key, SCOPE_ACT)
  }

  /**
   * Throws if `key` lacks `scope`. Does nothing if `key` is null, because then the actor is `system`, which needs no
   * scope.
   */
  #verifyScope(key: string | null, scope: string): void {
    const known = this.#keys.get(key ?? '')
    if (known && !known.scopes.has(scope))
      throw new ProofError(
        'actor_not_entitled',
        `the API key ${key} lacks the scope ${scope}, which this entry needs`,
      )
  }

  registerAgent(agent: string, digest: string): void {
    if (this.#agents.has(agent)) throw new ProofError('duplicate_subject', `${agent} is registered twice`)
    this.#agents.set(agent, { digest, disabledAtMs: null })
  }

  disableAgent(agent: string, digest: string, atMs: number): void {
    this.verifyRegistered(agent, digest)
    const known = this.#agents.get(agent)!
    if (known.disabledAtMs !== null) throw new ProofError('duplicate_subject', `${agent} is disabled twice`)
    known.disabledAtMs = atMs
  }

  /** Throws if the agent was not registered with this digest. */
  verifyRegistered(agent: string, digest: string): void {
    if (this.#agents.get(agent)?.digest !== digest)
      throw new ProofError(
        'subject_unknown',
        `no earlier entry registers ${agent} with the digest that this entry names`,
      )
  }

  /** Adds a new key. `by`: the key that creates the new key. A key cannot grant a scope that it lacks itself. */
  createKey(key: string, digest: string, made: JsonObject, by: { key: string | null; atMs: number }): void {
    if (this.#keys.has(key)) throw new ProofError('duplicate_subject', `${key} is created twice`)
    const { agent, scopes, expiresAt } = made as { agent: string; scopes: string[]; expiresAt: string | null }
    this.#verifyAgent(agent, by.atMs)
    for (const scope of scopes) this.#verifyScope(by.key, scope)
    const expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt)
    this.#keys.set(key, { agent, digest, scopes: new Set(scopes), expiresAtMs, revokedAtMs: null })
  }

  revokeKey(key: string, digest: string, atMs: number): void {
    const known = this.#keys.get(key)
    if (!known || known.digest !== digest) {
      throw new ProofError(
        'subject_unknown',
        `no earlier entry creates the API key ${key} with the digest that this entry names`,
      )
    }
    if (known.revokedAtMs !== null) throw new ProofError('duplicate_subject', `${key} is revoked twice`)
    known.revokedAtMs = atMs
  }

  #verifyAgent(agent: string, atMs: number): void {
    if (this.#agents.size === 0) return
    const known = this.#agents.get(agent)
    if (!known) throw new ProofError('agent_not_registered', agent)
    if (isOver(known.disabledAtMs, atMs))
      throw new ProofError('agent_disabled', `${agent} was disabled before this entry`)
  }
}

/**
 * Returns true if an agent revokes its own signing key, or registers a further signing key that an earlier key
 * endorses. For this, the agent needs only the scope to write records. A key without an endorsement may be the agent's
 * first key. To register a first key, the scope to manage agents is needed.
 */
function isOfOwnKey(actor: string, statement: ActingEntry['statement']): boolean {
  if (statement?.predicate['agent'] !== actor) return false
  if (statement.kind === 'agent-key-revoked') return true
  return statement.kind === 'agent-key-registered' && statement.predicate['endorsement'] !== undefined
}

function isOver(endMs: number | null, atMs: number): boolean {
  return endMs !== null && atMs > endMs + KEY_LINGER_MS_MAX
}
