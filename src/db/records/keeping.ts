import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { HOLDS_NAMED_MAX, KEEPING_LISTED_MAX } from '../limits.ts'

/* Rules of retention, and holds. append_entries decides by them (migrations/functions/retention.sql). */

/** `days`: null: without end. */
export type RuleRow = {
  readonly seq: number
  readonly type: string | null
  readonly agentId: Uuid | null
  readonly days: number | null
  readonly replacedSeq: number | null
  readonly setAt: Date
}

/** The newest first. */
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
    values: [ledgerId, KEEPING_LISTED_MAX],
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

/** The newest first, before the entry at `before`. `standing`: those that were not lifted. */
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
      where h.ledger_id = $1 and h.seq < $2 and (not $3 or h.lifted_seq is null)
      order by h.seq desc limit $4`,
    values: [ledgerId, before, standing, limit],
  })
  return rows
}

/** null: the ledger has set no such hold. */
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

/** Type and agents of a record of a batch; of one with a row they are not looked at. */
type GivenFacts = {
  readonly seq: number
  readonly type: string | null
  readonly agents: readonly Uuid[]
}

/** Holds that are on the record now, oldest first. `seq`: of the entry that digests the document. */
export async function listHoldsOn(
  db: Db,
  ledgerId: Uuid,
  recordId: Uuid,
  { seq, type, agents }: GivenFacts,
): Promise<Pick<HoldRow, 'seq' | 'caseId'>[]> {
  const { rows } = await db.query<Pick<HoldRow, 'seq' | 'caseId'>>({
    name: 'list_holds_on',
    text: `select h.seq, h.case_id from tallystick.keeping_facts($1, $2, $3, $4, $5::uuid[]) f
      cross join lateral (
        select * from tallystick.holds h
        where h.ledger_id = $1 and h.lifted_seq is null
          and (h.type is null or h.type = f.type) and (h.agent_id is null or h.agent_id = any (f.agents))
          and (h.record_ids is null or $2 = any (h.record_ids))
      ) h
      order by h.seq limit $6`,
    values: [ledgerId, recordId, seq, type, agents, HOLDS_NAMED_MAX],
  })
  return rows
}
