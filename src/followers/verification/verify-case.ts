import type { GatedCase } from '../../db/records/gated-cases.ts'
import { toHex } from '../../proof/bytes.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import {
  type ClaimedStanding,
  requireOf,
  verifySigned,
  verifyStanding,
} from '../../records/gated/verify-standing.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'

/** A gated record as it was signed. */
export type SignedCase = ClaimedStanding & {
  /** As its first envelope has it. */
  readonly issuer: string
  readonly created: ParsedStatement
  readonly newest: ParsedStatement
  /** Leaf of the newest entry, lower-case hex: the next one is bound to it. */
  readonly lastLeaf: string
}

/**
 * Throws ProofError unless the record was created in this ledger, and stands where its columns say, as its newest entry was
 * signed. The database's owner can write columns and rows, and the worker signs its verdict on their word.
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
        `${record} has version 1, but is ${found.state}, or has steps`,
      )
    return {
      ...claimed,
      issuer,
      created,
      newest: created,
      lastLeaf: found.created.leaf,
    }
  }
  const newest = await verifyStanding(keys, claimed, found.steps)
  if (found.version === 2 && newest.predicate['previous'] !== found.created.leaf)
    throw new ProofError('previous_mismatch', 'the first step does not follow the creation')
  if (newest.subjects[0].sha256 !== created.subjects[0].sha256)
    throw new ProofError('subject_unknown', `${record} was created with another payload`)
  const lastLeaf = toHex(found.steps.find(({ version }) => version === found.version)!.leaf)
  return { ...claimed, issuer, created, newest, lastLeaf }
}
