import {
  STREAM_ENTRIES_PER_QUERY,
  STREAM_PAYLOAD_BYTES_PER_QUERY,
  STREAM_RECORDS_PER_QUERY,
} from '../limits.ts'
import type { Db } from './client.ts'
import { fromUuid, toUuid } from './uuid.ts'

export type EntryRowRead = {
  seq: string
  kind: string
  recorded_at: Date
  leaf: Buffer
  chain: Buffer
  envelope: Buffer
}

export type EntryRecordRow = {
  record_id: string
  first_seq: string
  item_index: number | null
  type: string
  on_behalf_of: string | null
  occurred_at: Date | null
  traceparent: string | null
  digest: Buffer
  salt: Buffer | null
  payload: Buffer | null
  reference_list: Buffer | null
  payload_erased_seq: string | null
}

/** What a record's item of its batch is made of. */
export type ItemRow = Pick<
  EntryRecordRow,
  'record_id' | 'type' | 'digest' | 'on_behalf_of' | 'occurred_at' | 'traceparent'
>

/** How many entries the ledger has; null where there is no such ledger. */
export async function findSize(db: Db, ledgerId: Uint8Array): Promise<number | null> {
  const { rows } = await db.query<{ size: string }>(
    'select size from tallystick.chain_heads where ledger_id = $1',
    [toUuid(ledgerId)],
  )
  return rows[0] ? Number(rows[0].size) : null
}

/** Whom or what the entry at `seq` is about; null where that has no id, or there is no such entry. */
export async function findSubject(db: Db, ledgerId: Uint8Array, seq: number): Promise<Uint8Array | null> {
  const { rows } = await db.query<{ subject_id: string | null }>(
    'select subject_id from tallystick.entries where ledger_id = $1 and seq = $2',
    [toUuid(ledgerId), seq],
  )
  const id = rows[0]?.subject_id ?? null
  return id === null ? null : fromUuid(id)
}

/**
 * The entries from seq `from` up to, not including, `end`, in order, each with the records that it made. Read in
 * short queries of bounded size, so that a slow reader holds no snapshot open; what an entry says never
 * changes in between.
 */
export async function* readEntries(
  db: Db,
  ledgerId: Uint8Array,
  from: number,
  end: number,
): AsyncGenerator<{ entry: EntryRowRead; records: EntryRecordRow[] }> {
  const records = new RecordReader(db, ledgerId, from, end)
  for (let next = from; next < end; ) {
    const { rows } = await db.query<EntryRowRead>({
      name: 'read_entries',
      text: `select seq, kind, recorded_at, leaf, chain, envelope from tallystick.entries
        where ledger_id = $1 and seq >= $2 and seq < $3 order by seq limit $4`,
      values: [toUuid(ledgerId), next, end, STREAM_ENTRIES_PER_QUERY],
    })
    if (rows.length === 0) throw new Error(`entry ${next} is missing`)
    for (const entry of rows) yield { entry, records: await records.take(Number(entry.seq)) }
    next = Number(rows.at(-1)!.seq) + 1
  }
}

/** Reads records in the order of their entries, some ahead. */
class RecordReader {
  readonly #db: Db
  readonly #ledgerId: string
  readonly #end: number
  #rows: EntryRecordRow[] = []
  #at = 0
  #last: { seq: number; index: number }
  #exhausted = false

  constructor(db: Db, ledgerId: Uint8Array, from: number, end: number) {
    this.#db = db
    this.#ledgerId = toUuid(ledgerId)
    this.#end = end
    this.#last = { seq: from - 1, index: Number.MAX_SAFE_INTEGER }
  }

  /** The records of the entry at `seq`, which must be larger than at the last call. */
  async take(seq: number): Promise<EntryRecordRow[]> {
    const taken: EntryRecordRow[] = []
    for (;;) {
      if (this.#at === this.#rows.length && !(await this.#readMore())) return taken
      const row = this.#rows[this.#at]!
      const rowSeq = Number(row.first_seq)
      if (rowSeq > seq) return taken
      this.#at++
      if (rowSeq === seq) taken.push(row)
    }
  }

  async #readMore(): Promise<boolean> {
    if (this.#exhausted) return false
    const { rows } = await this.#db.query<EntryRecordRow>({
      name: 'read_entry_records',
      // 2,000 payloads of 64 KiB would be 128 MiB at once: as many as fit, but one at least. Their lengths are
      // known without reading what is stored out of line.
      // What an entry says to be erased is not read, though it may be there for a moment.
      text: `select record_id, first_seq, item_index, type, on_behalf_of, occurred_at, traceparent, digest,
          case when x.seq is null then salt end as salt, case when x.seq is null then payload end as payload,
          case when x.seq is null then reference_list end as reference_list,
          x.seq as payload_erased_seq
        from (
          select *, sum(coalesce(length(payload), 0)) over w as bytes, row_number() over w as place
          from (
            select * from tallystick.records
            where ledger_id = $1 and first_seq >= $2 and first_seq < $4
              and (first_seq > $2 or coalesce(item_index, 0) > $3)
            order by first_seq, item_index limit $5
          ) r
          window w as (order by first_seq, item_index rows unbounded preceding)
        ) r
        left join lateral (
          select d.seq from tallystick.erasures d
          where d.ledger_id = r.ledger_id and d.subject_id = r.record_id and d.document = 'payload'
          offset 0
        ) x on true
        where bytes <= $6 or place = 1
        order by first_seq, item_index`,
      values: [
        this.#ledgerId,
        this.#last.seq,
        Math.min(this.#last.index, 0x7fffffff),
        this.#end,
        STREAM_RECORDS_PER_QUERY,
        STREAM_PAYLOAD_BYTES_PER_QUERY,
      ],
    })
    this.#rows = rows
    this.#at = 0
    this.#exhausted = rows.length === 0
    const last = rows.at(-1)
    if (last) this.#last = { seq: Number(last.first_seq), index: last.item_index ?? 0 }
    return rows.length > 0
  }
}
