import type pg from 'pg'
import { toUuid } from './uuid.ts'

/** A record with the entry that its current state comes from. */
export type RecordRowRead = {
  record_id: string
  type: string
  state: string
  version: number
  item_index: number | null
  actor_id: string
  on_behalf_of: string | null
  occurred_at: Date | null
  digest: Buffer
  salt: Buffer | null
  payload: Buffer | null
  metadata: Buffer | null
  key_id: string
  subject_id: string
  recorded_at: Date
  seq: string
  kind: string
  leaf: Buffer
  chain: Buffer
}

const COLUMNS = `r.record_id, r.type, r.state, r.version, r.item_index, r.actor_id, r.on_behalf_of, r.occurred_at, r.digest,
  r.salt, r.payload, r.metadata, f.key_id, e.subject_id, f.recorded_at, e.seq, e.kind, e.leaf, e.chain`

export async function findRecord(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  recordId: Uint8Array,
): Promise<RecordRowRead | null> {
  const { rows } = await pool.query<RecordRowRead>({
    name: 'find_record',
    text: `select ${COLUMNS} from tallystick.records r
      join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.last_seq
      join tallystick.entries f on f.ledger_id = r.ledger_id and f.seq = r.first_seq
      where r.ledger_id = $1 and r.record_id = $2`,
    values: [toUuid(ledgerId), toUuid(recordId)],
  })
  return rows[0] ?? null
}

/** The records that the entry at `seq` made, in their order in the batch. */
export async function listRecordsOfEntry(
  pool: pg.Pool,
  ledgerId: Uint8Array,
  seq: number,
): Promise<RecordRowRead[]> {
  const { rows } = await pool.query<RecordRowRead>({
    name: 'list_records_of_entry',
    text: `select ${COLUMNS} from tallystick.records r
      join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.first_seq
      join tallystick.entries f on f.ledger_id = r.ledger_id and f.seq = r.first_seq
      where r.ledger_id = $1 and r.first_seq = $2
      order by r.item_index`,
    values: [toUuid(ledgerId), seq],
  })
  return rows
}
