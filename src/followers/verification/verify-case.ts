import type { GatedCase } from '../../db/records/gated-cases.ts'
import { toHex } from '../../proof/bytes.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import {
  type ClaimedState,
  requireOf,
  verifyClaimedState,
  verifySigned,
} from '../../records/gated/verify-state.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'

/** A gated record with its signed statements. */
export type SignedCase = ClaimedState & {
  readonly issuer: string
  readonly created: ParsedStatement
  readonly newest: ParsedStatement
  /** Leaf hash of the newest entry in lower-case hex. The record's next entry must name it. */
  readonly lastLeaf: string
}

/**
 * Verifies a gated record. Throws ProofError if the record was created in another ledger, or if its columns differ from
 * its newest signed entry. The check is needed because the owner of the database can write columns and rows, and the
 * worker signs verdicts that depend on them.
 */
export async function verifyCase(keys: EnvelopeKeys, found: GatedCase): Promise<SignedCase> {
  const ledger = formatId('led', found.ledgerId)
  const record = formatId('rec', found.recordId)
  const claimed = { ledger, record, state: found.state, version: found.version }
  const created = await verifySigned(keys, found.created)
  const { issuer } = parseEnvelope(found.created.envelope)
  requireOf(created, 'record-created', claimed)
  if (found.version === 1) {
    if (found.state !== 'CREATED' || found.steps.length > 0)
      throw new ProofError(
        'transition_refused',
        `a record of version 1 must be CREATED and have no steps, but ${record} is ${found.state} and has ${found.steps.length} steps`,
      )
    return {
      ...claimed,
      issuer,
      created,
      newest: created,
      lastLeaf: found.created.leaf,
    }
  }
  const newest = await verifyClaimedState(keys, claimed, found.steps)
  if (found.version === 2 && newest.predicate['previous'] !== found.created.leaf)
    throw new ProofError(
      'previous_mismatch',
      'the member previous of the first step is not the leaf of the record’s creation',
    )
  if (newest.subjects[0].sha256 !== created.subjects[0].sha256)
    throw new ProofError(
      'subject_unknown',
      `the newest step of ${record} names another payload than the creation`,
    )
  const lastLeaf = toHex(found.steps.find(({ version }) => version === found.version)!.leaf)
  return { ...claimed, issuer, created, newest, lastLeaf }
}
