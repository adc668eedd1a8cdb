import type { Lookups } from '../../db/records/lookups.ts'
import type { RecordRowRead } from '../../db/records/read-records.ts'
import { EVERY_VERSION, type StepRow } from '../../db/records/read-steps.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { isVisible } from '../read/read.ts'
import { readSteps, type Steps } from '../read/step-view.ts'
import { type OnBehalfOf, partyOf } from '../write/on-behalf-of.ts'
import { integrityFault } from './verify-state.ts'

export type Current = {
  readonly row: RecordRowRead
  readonly record: string
  readonly stepRows: readonly StepRow[]
  readonly steps: Steps
}

/**
 * Returns the record for a caller that wants to take a step. Throws `not_found` if the record does not exist or the
 * caller may not see it.
 */
export async function getForStep(
  { lookups, envelopeKeys }: { readonly lookups: Lookups; readonly envelopeKeys: EnvelopeKeys },
  caller: Caller,
  { recordId, onBehalfOf }: { readonly recordId: Uuid; readonly onBehalfOf: OnBehalfOf | null },
): Promise<Current> {
  const record = formatId('rec', recordId)
  const row = await lookups.findRecord(caller.ledgerId, recordId)
  if (row === null || !maySee(row, caller, onBehalfOf))
    throw new ApiError('not_found', `the ledger has no record ${record}`)
  // At version 1 or 2 the earlier steps are not read, because the record's next step refers only to the record's last
  // leaf.
  const every = { recordId: row.recordId, version: EVERY_VERSION }
  const stepRows = row.version < 3 ? [] : await lookups.listSteps(caller.ledgerId, every)
  const steps = readSteps(envelopeKeys, stepRows)
  if (Object.keys(steps).length === stepRows.length) return { row, record, stepRows, steps }
  return integrityFault(new ProofError('statement_structure', `a stored step of ${record} is malformed`))
}

/**
 * Returns true if the caller may see the record. A caller with a scope to read records may see all records. Any other
 * caller may see records of which it is a party or can still become a party.
 */
function maySee(row: RecordRowRead, caller: Caller, onBehalfOf: OnBehalfOf | null): boolean {
  if (caller.scopes.has('records:read') || caller.scopes.has('verdicts:overturn')) return true
  const isOpen = row.gate !== null && row.performerId === null
  return isOpen || [caller.agentId, partyOf(caller, onBehalfOf)].some((agentId) => isVisible(row, agentId))
}
