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
 * Registered statements of a ledger. Each statement lies right before its `statement-registered` entry, and both
 * entries were appended together. The newest policy before them is the policy that accepted the statement. A statement
 * without a `statement-registered` entry is refused, because nobody in the ledger would be responsible for it.
 */
export class LedgerStatements {
  readonly #providers: ProofProviders
  #policy: { readonly leaf: string; readonly content: RegistrationPolicy } | null = null
  #open: Statement | null = null
  #count = 0

  constructor(providers: ProofProviders) {
    this.#providers = providers
  }

  get count(): number {
    return this.#count
  }

  /**
   * Throws `statement_pair` if a statement is not followed by a `statement-registered` entry, or if a
   * `statement-registered` entry does not follow a statement. Must be called for each entry.
   */
  verifyPairing({ seq, kind }: Pick<EntryStep, 'seq' | 'kind'>): void {
    if ((this.#open !== null) === (kind === 'statement-registered')) return
    throw new ProofError(
      'statement_pair',
      `seq ${seq} is ${kind}, but ${this.#open ? 'only statement-registered can follow a statement' : 'the entry before it is not a statement'}`,
    )
  }

  takeStatement(step: Statement): void {
    if (step.kind === STATEMENT) this.#open = step
  }

  setPolicy(step: EntryStep, { predicate }: ParsedStatement): void {
    this.#policy = { leaf: toHex(step.leaf), content: predicate as unknown as RegistrationPolicy }
  }

  /**
   * Applies the `statement-registered` entry that follows a statement, and verifies the issuer's signature by the
   * policy. Throws `statement_pair`, `policy_refused` or the codes of verifyRegistration.
   */
  register(step: EntryStep, { subjects, predicate }: ParsedStatement): void {
    const registered = this.pair(step, { subjects, predicate })
    if (this.#policy === null)
      throw new ProofError('policy_refused', 'a statement was registered before a policy was set')
    if (predicate['policy'] !== this.#policy.leaf)
      throw new ProofError(
        'policy_refused',
        `the statement was registered under the policy ${predicate['policy']}, which was not the newest policy`,
      )
    verifyRegistration(registered, this.#policy.content, this.#providers)
  }

  /**
   * Applies the `statement-registered` entry like `register`, but without a policy. So the issuer's signature is not
   * verified. Returns the statement. Throws `statement_pair`.
   */
  pair(
    step: Pick<EntryStep, 'seq' | 'atMs'>,
    { subjects, predicate }: Pick<ParsedStatement, 'subjects' | 'predicate'>,
  ): SignedStatement {
    const { leaf, atMs, registered } = this.#open!
    this.#open = null
    if (subjects[0].sha256 !== toHex(leaf) || step.atMs !== atMs)
      throw new ProofError(
        'statement_pair',
        `seq ${step.seq} must name the leaf and the time of the statement before it, but names others`,
      )
    verifyClaims(predicate, registered!, this.#providers)
    this.#count++
    return registered!
  }

  /** Verifies the end of the chain. Throws `statement_pair` if the last statement has no registration. */
  finish(): void {
    if (this.#open)
      throw new ProofError('statement_pair', `no entry registers the statement at seq ${this.#open.seq}`)
  }
}

/** Throws `statement_pair` if a claim in the predicate differs from the statement. */
function verifyClaims(predicate: JsonObject, statement: SignedStatement, { sha256 }: ProofProviders): void {
  const itself = claimsOf(statement, sha256)
  for (const name of ['issuer', 'subject', 'contentType', 'kid', 'payload'] as const) {
    if (predicate[name] === itself[name]) continue
    throw new ProofError(
      'statement_pair',
      `${name} of the statement is ${itself[name]}, but statement-registered names ${predicate[name]}`,
    )
  }
}

/** Returns the members that the `statement-registered` entry of this statement must have. */
export function claimsOf(statement: SignedStatement, sha256: ProofProviders['sha256']) {
  const { issuer, subject, contentType, kid, payload } = statement
  return { issuer, subject, contentType, kid, payload: toHex(sha256(payload)) }
}
