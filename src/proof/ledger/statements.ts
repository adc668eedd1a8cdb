import { toHex } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import type { EntryStep } from '../entry/entry-step.ts'
import { ProofError } from '../error.ts'
import type { JsonObject } from '../json/json-value.ts'
import { type RegistrationPolicy, verifyRegistration } from '../scitt/registration-policy.ts'
import type { SignedStatement } from '../scitt/signed-statement.ts'
import { STATEMENT } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'

type Statement = Pick<EntryStep, 'seq' | 'kind' | 'leaf' | 'atMs' | 'registered'>

/**
 * Registered statements of a ledger. Each stands right before the `statement-registered` that speaks for it, and the two were appended as one; the policy
 * that took it is the newest before them. A statement alone would be an entry for which nobody in the ledger answers.
 */
export class LedgerStatements {
  readonly #providers: ProofProviders
  #policy: { readonly leaf: string; readonly says: RegistrationPolicy } | null = null
  #open: Statement | null = null
  #count = 0

  constructor(providers: ProofProviders) {
    this.#providers = providers
  }

  /** Number of statements that were registered. */
  get count(): number {
    return this.#count
  }

  /** Throws `statement_pair` for every entry behind a statement but the one that registers it, and for that one elsewhere. */
  verifyTurn({ seq, kind }: Pick<EntryStep, 'seq' | 'kind'>): void {
    if ((this.#open !== null) === (kind === 'statement-registered')) return
    throw new ProofError(
      'statement_pair',
      `seq ${seq} is ${kind}, ${this.#open ? 'behind' : 'not behind'} a statement`,
    )
  }

  hold(step: Statement): void {
    if (step.kind === STATEMENT) this.#open = step
  }

  setPolicy(step: EntryStep, { predicate }: ParsedStatement): void {
    this.#policy = { leaf: toHex(step.leaf), says: predicate as unknown as RegistrationPolicy }
  }

  /** The entry behind a statement. Throws `statement_pair`, and as verifyRegistration does. */
  register(step: EntryStep, { subjects, predicate }: ParsedStatement): void {
    const registered = this.pair(step, { subjects, predicate })
    if (this.#policy === null)
      throw new ProofError('policy_refused', 'a statement was registered before any policy was set')
    if (predicate['policy'] !== this.#policy.leaf)
      throw new ProofError(
        'policy_refused',
        `registered by the policy ${predicate['policy']}, not the newest`,
      )
    verifyRegistration(registered, this.#policy.says, this.#providers)
  }

  /** `register` without the policy, so the issuer's signature is not judged. Throws `statement_pair`. */
  pair(
    step: Pick<EntryStep, 'seq' | 'atMs'>,
    { subjects, predicate }: Pick<ParsedStatement, 'subjects' | 'predicate'>,
  ): SignedStatement {
    const { leaf, atMs, registered } = this.#open!
    this.#open = null
    if (subjects[0].sha256 !== toHex(leaf) || step.atMs !== atMs)
      throw new ProofError(
        'statement_pair',
        `seq ${step.seq} registers another statement, or at another time`,
      )
    verifySaid(predicate, registered!, this.#providers)
    this.#count++
    return registered!
  }

  /** The end: throws `statement_pair` if a statement's other half is missing. */
  finish(): void {
    if (this.#open)
      throw new ProofError('statement_pair', `nothing registers the statement at seq ${this.#open.seq}`)
  }
}

/** Throws `statement_pair` unless the predicate says of the statement what it says itself. */
function verifySaid(predicate: JsonObject, statement: SignedStatement, { sha256 }: ProofProviders): void {
  const itself = saidOf(statement, sha256)
  for (const name of ['issuer', 'subject', 'contentType', 'kid', 'payload'] as const) {
    if (predicate[name] === itself[name]) continue
    throw new ProofError(
      'statement_pair',
      `${name} of the statement is ${itself[name]}, not ${predicate[name]}`,
    )
  }
}

/** Members of a `statement-registered` about the statement. */
export function saidOf(statement: SignedStatement, sha256: ProofProviders['sha256']) {
  const { issuer, subject, contentType, kid, payload } = statement
  return { issuer, subject, contentType, kid, payload: toHex(sha256(payload)) }
}
