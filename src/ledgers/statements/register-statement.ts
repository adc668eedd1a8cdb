import type { Author } from '../../append/entry.ts'
import { findStatement, type StatementRow } from '../../db/ledgers/statements.ts'
import { ApiError } from '../../errors.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import { claimsOf } from '../../proof/ledger/statements.ts'
import { verifyRegistration } from '../../proof/scitt/registration-policy.ts'
import { admitStatement, type SignedStatement } from '../../proof/scitt/signed-statement.ts'
import { leafHash } from '../../proof/tree/merkle.ts'
import type { Entropy } from '../../signing/entropy.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { type AdministerDeps, administer } from '../administration.ts'
import { STATEMENT_RETRIES_MAX } from '../limits.ts'
import { findPolicy, type SetPolicy, type setPolicy } from './policy.ts'

type RegisterDeps = AdministerDeps & Parameters<typeof setPolicy>[0] & { readonly entropy: Entropy }

/** A registered statement. `existing`: true if the ledger had already registered the same bytes. */
type Registered = { readonly row: StatementRow; readonly existing: boolean }

/**
 * Registers a Signed Statement of another issuer (RFC 9943 §6.3). The registration policy of the ledger must accept it.
 * The statement becomes an entry of its own, and a `statement-registered` entry follows directly after it. Throws
 * `statement_invalid`, `no_registration_policy`, `statement_rejected`, and the errors of `administer`.
 */
export async function registerStatement(
  deps: RegisterDeps,
  author: Author,
  sent: Uint8Array,
): Promise<Registered> {
  const statement = parse(sent)
  const leaf = leafHash(nativeProviders.sha256, statement.bytes)
  const find = () => findStatement(deps.readPool, author.ledgerId, { leaf })
  for (let attempt = 0; ; attempt++) {
    const known = await find()
    if (known) return { row: known, existing: true }
    const policy = await takenBy(deps, author, statement)
    try {
      await append(deps, author, { statement, leaf, policy })
      return { row: (await find())!, existing: false }
    } catch (error) {
      // True if another request has registered the statement or set another policy in the meantime.
      const isOvertaken =
        error instanceof ApiError && (error.code === 'statement_exists' || error.code === 'policy_changed')
      if (!isOvertaken || attempt === STATEMENT_RETRIES_MAX) throw error
    }
  }
}

function append(
  deps: RegisterDeps,
  author: Author,
  { statement, leaf, policy }: { statement: SignedStatement; leaf: Uint8Array; policy: SetPolicy },
) {
  const id = deps.entropy.uuidv7(deps.now())
  const claims = claimsOf(statement, nativeProviders.sha256)
  const { payload: _, ...found } = claims
  return administer(deps, author, {
    kind: 'statement-registered',
    subject: { id, name: formatId('stm', id), digest: toHex(leaf) },
    predicate: { policy: policy.leaf, ...claims },
    detail: { policy: policy.leaf, ...found },
    statement: { bytes: statement.bytes, leaf },
  })
}

function parse(sent: Uint8Array): SignedStatement {
  try {
    return admitStatement(sent)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new ApiError('statement_invalid', `${error.code}: ${error.detail}`)
  }
}

/** Returns the policy if it accepts the statement. Otherwise throws ApiError. */
async function takenBy(
  deps: RegisterDeps,
  { ledgerId }: Author,
  statement: SignedStatement,
): Promise<SetPolicy> {
  const policy = await findPolicy(deps, ledgerId)
  if (!policy)
    throw new ApiError(
      'no_registration_policy',
      'the ledger has no registration policy: set one with PUT /v1/registration-policy',
    )
  try {
    verifyRegistration(statement, policy, nativeProviders)
    return policy
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new ApiError('statement_rejected', `${error.code}: ${error.detail}`)
  }
}
