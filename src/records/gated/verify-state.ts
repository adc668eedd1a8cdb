import { toSignedLine } from '../../db/chain/signed-entries.ts'
import type { CaseStep } from '../../db/records/gated-cases.ts'
import { ApiError } from '../../errors.ts'
import { type SignedLine, verifyLine, verifySignedStatement } from '../../proof/entry/verify-entry.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { ProofError } from '../../proof/error.ts'
import { parseId } from '../../proof/ids.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { leafOf } from '../../signing/known-statements.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'

/** State of a gated record as its columns claim it. Ids are TypeIDs. */
export type ClaimedState = {
  readonly ledger: string
  readonly record: string
  readonly state: string
  readonly version: number
}

/**
 * Verifies the newest step and returns its statement. `steps`: the newest step of each kind. The record must have steps
 * after its creation. Throws ProofError if one of these is false:
 *
 * - The step was signed for this ledger, record, version and state.
 * - The step follows the previous step.
 * - The record has as many steps as its version says.
 *
 * These checks are needed because the database's owner can write columns. An old verification that is inserted again
 * has a valid signature. But either it was signed for an old version, or the record then has one step too many.
 */
export async function verifyClaimedState(
  keys: EnvelopeKeys,
  claimed: ClaimedState,
  steps: readonly CaseStep[],
): Promise<ParsedStatement> {
  const { version, record } = claimed
  const last = steps.find((step) => step.version === version)
  const before = steps.find((step) => step.version === version - 1)
  if (!last || last.steps !== version - 1)
    throw new ProofError(
      'version_mismatch',
      `${record} has version ${version}, so ${version - 1} steps are expected, but ${last?.steps ?? 0} are stored`,
    )
  const statement = await verifySigned(keys, lineOfStep(last))
  const { predicate, subjects, ledger } = statement
  const signed = [ledger, subjects[0].name, predicate['version'], predicate['to']].join(' ')
  const found = [claimed.ledger, record, version, claimed.state].join(' ')
  if (signed !== found)
    throw new ProofError(
      'transition_refused',
      `the newest step was signed as ${signed}, but the database has ${found}`,
    )
  if (before && predicate['previous'] !== toHex(before.leaf))
    throw new ProofError(
      'previous_mismatch',
      `the stored step before version ${version} is not the step that was signed as previous`,
    )
  return statement
}

/** Returns the signed line of a step. MUST NOT be called for a step whose envelope was not loaded. */
export function lineOfStep(step: CaseStep): SignedLine {
  return toSignedLine({ ...step, envelope: step.envelope! })
}

/**
 * Returns the statement of an entry. Throws ProofError if neither a key of the deployment nor a key of the agent signed
 * the entry, or if the columns contradict the entry.
 */
export async function verifySigned(keys: EnvelopeKeys, line: SignedLine): Promise<ParsedStatement> {
  const leaf = leafOf(line.envelope)
  const statement = keys.known.findSigned(leaf, line.envelope) ?? (await verifyUnknown(keys, leaf, line))
  verifyLine(line, leaf, statement)
  return statement
}

async function verifyUnknown(
  keys: EnvelopeKeys,
  leaf: string,
  { envelope }: SignedLine,
): Promise<ParsedStatement> {
  // The statement is not verified yet, so `ledger` is only a claim. The verification below checks that an agent's key
  // belongs to the same ledger and agent.
  const { ledger } = keys.known.read(envelope)
  const findKey = await keys.finderFor([toHex(parseEnvelope(envelope).kid)], parseId('led', ledger))
  const { statement } = verifySignedStatement(envelope, findKey, nativeProviders, keys.known.findRead(leaf))
  keys.known.addSigned(leaf, envelope, statement)
  return statement
}

/** Throws ProofError if the statement has another kind, or is about another ledger or record. */
export function requireOf(
  { kind, ledger, subjects }: ParsedStatement,
  expected: ParsedStatement['kind'],
  claimed: Pick<ClaimedState, 'ledger' | 'record'>,
): void {
  const signed = `${kind} of ${subjects[0].name}`
  if (ledger !== claimed.ledger)
    throw new ProofError('ledger_foreign', `the signed entry belongs to ${ledger}, not to ${claimed.ledger}`)
  if (signed !== `${expected} of ${claimed.record}`)
    throw new ProofError(
      'columns_contradict_entries',
      `the signed entry is ${signed}, not ${expected} of ${claimed.record}`,
    )
}

/**
 * Throws `integrity_fault` for a ProofError, which means that the database contradicts the signed entries. The details
 * go to the log. Throws any other error again.
 */
export function integrityFault(error: unknown): never {
  if (!(error instanceof ProofError)) throw error
  throw new ApiError(
    'integrity_fault',
    'the stored record differs from what was signed: nothing was written',
    {
      cause: error,
    },
  )
}
