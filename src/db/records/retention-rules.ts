import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { HOLDS_NAMED_MAX, RETENTION_RULES_MAX } from '../limits.ts'

/* Reads retention rules and holds. append_entries enforces them (migrations/functions/retention.sql). */

/** A retention rule. If `days` is null, documents are stored forever. */
export type RuleRow = {
  readonly seq: number
  readonly type: string | null
  readonly agentId: Uuid | null
  readonly days: number | null
  readonly replacedSeq: number | null
  readonly setAt: Date
}

export async function listRules(db: Db, ledgerId: Uuid): Promise<RuleRow[]> {
  const { rows } = await db.query<RuleRow>({
    name: 'list_rules',
    text: `select r.seq, r.type, r.agent_id, r.days, r.replaced_seq, e.recorded_at as set_at
      from (
        select *, lead(seq) over (partition by type, agent_id order by seq) as replaced_seq
        from tallystick.retention_rules where ledger_id = $1
      ) r
      join tallystick.entries e on e.ledger_id = $1 and e.seq = r.seq
      order by r.seq desc limit $2`,
    values: [ledgerId, RETENTION_RULES_MAX],
  })
  return rows
}

export type HoldRow = {
  readonly seq: number
  readonly caseId: string
  readonly type: string | null
  readonly agentId: Uuid | null
  readonly recordIds: readonly Uuid[] | null
  readonly liftedSeq: number | null
  readonly setAt: Date
}

/**
 * Seqs that are constants in SQL. NEVER is the value of `lifted_seq` in the index for a hold that was not lifted.
 * AT_THE_END is larger than the seq of every entry.
 */
const NEVER = '9223372036854775807'
const AT_THE_END = '9223372036854775806'

/**
 * Lists holds that were set before the entry at `before`, newest first. With `standing`, lists only holds that were not
 * lifted.
 */
export async function listHolds(
  db: Db,
  ledgerId: Uuid,
  {
    before,
    standing,
    limit,
  }: { readonly before: number; readonly standing: boolean; readonly limit: number },
): Promise<HoldRow[]> {
  const { rows } = await db.query<HoldRow>({
    name: 'list_holds',
    text: `select h.seq, h.case_id, h.type, h.agent_id, h.record_ids, h.lifted_seq, e.recorded_at as set_at
      from tallystick.holds h join tallystick.entries e on e.ledger_id = h.ledger_id and e.seq = h.seq
      where h.ledger_id = $1 and h.seq < $2 and (not $3 or coalesce(h.lifted_seq, ${NEVER}) = ${NEVER})
      order by h.seq desc limit $4`,
    values: [ledgerId, before, standing, limit],
  })
  return rows
}

/** Counts the ledger's rules, its holds that were not lifted, and the records that these holds name. */
export async function countRetention(
  db: Db,
  ledgerId: Uuid,
): Promise<{ readonly rules: number; readonly holds: number; readonly records: number }> {
  const { rows } = await db.query<{ rules: number; holds: number; records: number }>({
    name: 'count_retention',
    text: `select (select count(*) from tallystick.retention_rules where ledger_id = $1) as rules,
        count(*) as holds, coalesce(sum(cardinality(record_ids)), 0)::int8 as records
      from tallystick.holds where ledger_id = $1 and coalesce(lifted_seq, ${NEVER}) = ${NEVER}`,
    values: [ledgerId],
  })
  return rows[0]!
}

/** Returns the hold that the entry at `seq` set, or null if the entry set no hold. */
export async function findHold(db: Db, ledgerId: Uuid, seq: number): Promise<HoldRow | null> {
  const { rows } = await db.query<HoldRow>({
    name: 'find_hold',
    text: `select h.seq, h.case_id, h.type, h.agent_id, h.record_ids, h.lifted_seq, e.recorded_at as set_at
      from tallystick.holds h join tallystick.entries e on e.ledger_id = h.ledger_id and e.seq = h.seq
      where h.ledger_id = $1 and h.seq = $2`,
    values: [ledgerId, seq],
  })
  return rows[0] ?? null
}

/** Facts about a record in a batch. `type` and `agents` are ignored for other records. */
type BatchRecordFacts = {
  readonly seq: number
  readonly type: string | null
  readonly agents: readonly Uuid[]
}

/** Lists the present holds on the record, oldest first. `seq` is the entry that contains the document's digest. */
export async function listHoldsOn(
  db: Db,
  ledgerId: Uuid,
  recordId: Uuid,
  { seq, type, agents }: BatchRecordFacts,
): Promise<Pick<HoldRow, 'seq' | 'caseId'>[]> {
  const { rows } = await db.query<Pick<HoldRow, 'seq' | 'caseId'>>({
    name: 'list_holds_on',
    text: `select h.seq, h.case_id from tallystick.keeping_facts($1, $2, $3, $4, $5::uuid[]) f
      cross join lateral tallystick.holds_on($1, $2, f.type, f.agents, ${AT_THE_END}) h
      order by h.seq limit $6`,
    values: [ledgerId, recordId, seq, type, agents, HOLDS_NAMED_MAX],
  })
  return rows
}

/**
 * Returns the case of the oldest hold on each record, in the order of `records`. The result has null for a record
 * without a hold.
 */
export async function listCasesOn(
  db: Db,
  ledgerId: Uuid,
  records: readonly (BatchRecordFacts & { readonly recordId: Uuid })[],
): Promise<(string | null)[]> {
  const { rows } = await db.query<{ caseId: string | null }>({
    name: 'list_cases_on',
    text: `select h.case_id from json_array_elements($2) with ordinality r (one, ix)
      cross join lateral json_to_record(r.one) i ("recordId" uuid, seq int8, type text, agents uuid[])
      cross join lateral tallystick.keeping_facts($1, i."recordId", i.seq, i.type, i.agents) f
      left join lateral (
        select x.case_id from tallystick.holds_on($1, i."recordId", f.type, f.agents, ${AT_THE_END}) x order by x.seq limit 1
      ) h on true
      order by r.ix`,
    values: [
      ledgerId,
      JSON.stringify(records.map(({ recordId, seq, type, agents }) => ({ recordId, seq, type, agents }))),
    ],
  })
  return rows.map(({ caseId }) => caseId)
}
