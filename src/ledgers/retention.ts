import type pg from 'pg'
import type { Author } from '../append/entry.ts'
import type { Selector } from '../db/chain/entry-details.ts'
import { refusalBy } from '../db/connect/constraints.ts'
import { HOLDS_RECORDS_MAX, RETENTION_RULES_MAX } from '../db/limits.ts'
import {
  countRetention,
  findHold,
  type HoldRow,
  listRules,
  type RuleRow,
} from '../db/records/retention-rules.ts'
import { ApiError } from '../errors.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { administerLedger } from './administer-ledger.ts'
import type { AdministerDeps } from './administration.ts'

/* Sets retention rules and legal holds of a ledger. Each change is an entry made by an agent. */

type RetentionDeps = AdministerDeps & { readonly readPool: pg.Pool; readonly retentionDaysMin: number }

/** Request to set a retention rule. `days` is null if the documents are to be stored forever. */
export type RuleRequest = Selector & { readonly days: number | null; readonly basis: string }
export type HoldRequest = Selector & { readonly caseId: string; readonly recordIds: readonly Uuid[] | null }

/**
 * Sets how long documents of records are stored. If the new time is longer than before, it applies to all records. If
 * it is shorter, it applies only to new records. Throws `invalid_request` if the deployment requires more days.
 */
export async function setRule(deps: RetentionDeps, author: Author, request: RuleRequest): Promise<RuleRow> {
  const { days, basis, type, agentId } = request
  if (days !== null && days < deps.retentionDaysMin) {
    throw new ApiError(
      'invalid_request',
      `this deployment stores records for at least ${deps.retentionDaysMin} days`,
      {
        members: { path: '/days' },
      },
    )
  }
  await refuseTooMany(deps, author, { rules: 1 })
  const seq = await administerLedger(deps, author, {
    kind: 'retention-set',
    predicate: { days, basis, ...narrowed(request) },
    detail: { type, agentId, days },
  })
  const rules = await listRules(deps.readPool, author.ledgerId)
  return rules.find((rule) => rule.seq === seq)!
}

/**
 * Sets a legal hold on the records that match all criteria. None of their documents can be erased until the hold is
 * lifted.
 */
export async function setHold(deps: RetentionDeps, author: Author, request: HoldRequest): Promise<HoldRow> {
  const { caseId, type, agentId, recordIds } = request
  await refuseTooMany(deps, author, { holds: 1, records: recordIds?.length ?? 0 })
  const seq = await administerLedger(deps, author, {
    kind: 'hold-set',
    predicate: {
      case: caseId,
      ...narrowed(request),
      ...(recordIds && { records: recordIds.map((id) => formatId('rec', id)) }),
    },
    detail: { caseId, type, agentId, recordIds },
  })
  return (await findHold(deps.readPool, author.ledgerId, seq))!
}

/**
 * Throws `too_many` if the entry would exceed a limit. The database checks the limits too. But if it refuses one entry,
 * the appender must repeat the whole commit batch in halves. So the limits are checked here first.
 */
async function refuseTooMany(
  { readPool }: RetentionDeps,
  { ledgerId }: Author,
  more: { readonly rules?: number; readonly holds?: number; readonly records?: number },
): Promise<void> {
  const { rules, holds, records } = await countRetention(readPool, ledgerId)
  if (rules + (more.rules ?? 0) > RETENTION_RULES_MAX || holds + (more.holds ?? 0) > RETENTION_RULES_MAX)
    throw refusalBy('keeping_max')
  if (records + (more.records ?? 0) > HOLDS_RECORDS_MAX) throw refusalBy('holds_records_max')
}

/** Lifts a hold. Throws `not_found`. Throws `already_ended` if the hold was already lifted. */
export async function liftHold(deps: RetentionDeps, author: Author, seq: number): Promise<HoldRow> {
  const hold = await findHold(deps.readPool, author.ledgerId, seq)
  if (!hold) throw new ApiError('not_found', `entry ${seq} did not set a hold`)
  if (hold.liftedSeq !== null) throw lifted(hold)
  try {
    await administerLedger(deps, author, {
      kind: 'hold-lifted',
      predicate: { case: hold.caseId, seq },
      detail: { hold: seq },
    })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'already_ended')) throw error
    throw lifted((await findHold(deps.readPool, author.ledgerId, seq))!)
  }
  return (await findHold(deps.readPool, author.ledgerId, seq))!
}

function lifted({ liftedSeq }: HoldRow): ApiError {
  return new ApiError('already_ended', `entry ${liftedSeq} has lifted the hold`, {
    members: { seq: liftedSeq },
  })
}

function narrowed({ type, agentId }: Selector) {
  return { ...(type !== null && { type }), ...(agentId !== null && { agent: formatId('agt', agentId) }) }
}
