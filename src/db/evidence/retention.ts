import { parseId, type Uuid } from '../../proof/ids.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import { signedEnds, signedTable } from './table.ts'

type Selected = { readonly type: string | null; readonly agentId: Uuid | null }

export const RETENTION_RULES = signedTable<Selected & { readonly days: number | null }>(
  'retention_rules',
  'select seq, type, agent_id, days from tallystick.retention_rules where ledger_id = $1 order by seq',
  ({ kind, predicate }) =>
    kind === 'retention-set' ? [{ ...selectorOf(predicate), days: predicate['days'] as number | null }] : [],
  (rule) => rule,
)

/**
 * Evidence of the table `holds`. For a hold that was not lifted, `record_ids` are the records by which searches find
 * the hold.
 */
export const HOLDS = signedTable<
  Selected & { readonly caseId: string; readonly recordIds: readonly Uuid[] | null }
>(
  'holds',
  `select h.seq, h.case_id, h.type, h.agent_id,
     case when h.lifted_seq is not null or h.record_ids is null then h.record_ids else (
       select array_agg(n.record_id order by n.place) from unnest(h.record_ids) with ordinality n (record_id, place)
       where exists (select from tallystick.hold_records r
         where r.ledger_id = h.ledger_id and r.record_id = n.record_id and r.seq = h.seq)
     ) end as record_ids
   from tallystick.holds h where h.ledger_id = $1 order by h.seq`,
  ({ kind, predicate }) => {
    if (kind !== 'hold-set') return []
    const records = predicate['records'] as string[] | undefined
    const recordIds = records?.map((id) => parseId('rec', id)) ?? null
    return [{ caseId: predicate['case'] as string, ...selectorOf(predicate), recordIds }]
  },
  (hold) => hold,
)

/** Evidence of lifted holds. `id` is the seq of the entry that set the hold. */
export const LIFTED_HOLDS = signedEnds(
  'holds.lifted_seq',
  `select lifted_seq as seq, seq as id from tallystick.holds
   where ledger_id = $1 and lifted_seq is not null order by lifted_seq, seq`,
  ({ kind, predicate }) => (kind === 'hold-lifted' ? [predicate['seq'] as number] : []),
  (hold) => ({ hold }),
)

function selectorOf(predicate: JsonObject): Selected {
  const { type = null, agent } = predicate as { type?: string; agent?: string }
  return { type, agentId: agent === undefined ? null : parseId('agt', agent) }
}
