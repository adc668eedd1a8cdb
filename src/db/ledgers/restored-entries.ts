import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { ARGUMENTS, column, type EntryRow, encodeArguments } from '../chain/append-entries.ts'
import { bytea, encodeColumn, int8, uuid } from '../connect/binary-array.ts'

/*
 * Entries of a ledger that comes back from its archive, and the rows that come with them (restoring.ts): written by the function that
 * writes them for append_entries. A document that is erased stands there with its record or step, empty, until the entry that erases
 * it has come: in the same transaction.
 */

/** An entry as append_entries had it, but for what no entry says, and its place in the chain. */
export type RestoredEntry = Omit<EntryRow, 'ledgerId'> & {
  readonly seq: number
  readonly chain: Uint8Array
  /** State of the ledger that a `ledger-restored` acknowledges as lost; null of other kinds. */
  readonly known: { readonly size: number; readonly chain: Uint8Array } | null
}

/** Arguments of write_entries that append_entries decides. */
const DECIDED = {
  seqs: column(int8, (e: Placed) => e.seq),
  chains: column(bytea, (e: Placed) => e.chain),
  prev_seqs: column(int8, (e: Placed) => e.prevSeq),
  signer_kids: column(bytea, (e: Placed) => (e.isAgentSigned ? e.kid : null)),
}
type Placed = RestoredEntry & { readonly prevSeq: number | null }

/** Arguments by which append_entries decides, and which are not written. */
const isWritten = (name: string) => name !== 'kids' && name !== 'unseen_befores'

const GIVEN = [
  ...Object.entries(DECIDED).map(([name, { type }]) => ({ name, type: `${type}[]` })),
  ...ARGUMENTS.filter(({ name }) => isWritten(name)),
]
const WRITE_ENTRIES = {
  name: 'restore entries',
  text: `select tallystick.write_entries(restores => true, outcomes => array_fill(0::int2, array[cardinality($1::bigint[])]),
    ${GIVEN.map(({ name, type }, i) => `${name} => $${i + 1}::${type}`).join(', ')})`,
}

/**
 * The next entries of a ledger, and all rows that they explain. Kinds of STANDS_ALONE come one by one. Throws what a constraint says of
 * rows that no append could have made.
 */
export async function restoreEntries(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  for (const { known, recordedAtMs } of entries)
    if (known !== null) await insertClosure(client, ledgerId, known, new Date(recordedAtMs))
  const placed = await place(client, ledgerId, entries)
  const values = encodeArguments(entries.map((entry) => ({ ...entry, ledgerId })))
  await client.query({
    ...WRITE_ENTRIES,
    values: [
      ...Object.values(DECIDED).map((one) => one.encode(placed)),
      ...values.filter((_, i) => isWritten(ARGUMENTS[i]!.name)),
    ],
  })
  const erasures = entries.filter(({ kind }) => kind === 'payload-erased')
  await eraseDocuments(
    client,
    ledgerId,
    erasures.map(({ seq }) => seq),
  )
}

/** Kinds whose entry is the only one of its call, because others are decided by what it changes. */
export const STANDS_ALONE: ReadonlySet<string> = new Set([
  'ledger-created',
  'ledger-restored',
  'server-key-rotated',
  'agent-disabled',
  'agent-key-registered',
  'agent-key-revoked',
  'key-revoked',
])

/** The place of the step before each: in these entries, or where the record stands so far. A registration's is its statement's. */
async function place(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<Placed[]> {
  const steps = entries.filter(({ version }) => version !== null && version > 1)
  const last = new Map<Uuid | null, number>()
  if (steps.length > 0) {
    const { rows } = await client.query<{ id: Uuid; seq: number }>(
      'select record_id as id, last_seq as seq from tallystick.gated_records where ledger_id = $1 and record_id = any ($2::uuid[])',
      [ledgerId, encodeColumn(uuid, steps, ({ subjectId }) => subjectId)],
    )
    for (const { id, seq } of rows) last.set(id, seq)
  }
  return entries.map((entry) => {
    const { kind, version, subjectId, seq } = entry
    if (kind === 'statement-registered') return { ...entry, prevSeq: seq - 1 }
    const prevSeq = version !== null && version > 1 ? last.get(subjectId)! : null
    if (version !== null) last.set(subjectId, seq)
    return { ...entry, prevSeq }
  })
}

export async function insertClosure(
  client: pg.ClientBase,
  ledgerId: Uuid,
  { size, chain }: { readonly size: number; readonly chain: Uint8Array },
  closedAt: Date,
): Promise<void> {
  await client.query(
    `insert into tallystick.ledger_closures (ledger_id, closed_at, known_size, known_chain, was_frozen)
     values ($1, $2, $3, $4, false)`,
    [ledgerId, closedAt, size, chain],
  )
}

/**
 * Carries erasures out. A chunk holds the digests of erased payloads from the beginning, so here it says only by which entry; a row that
 * stood empty until now loses even that.
 */
async function eraseDocuments(client: pg.ClientBase, ledgerId: Uuid, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return
  const { rows } = await client.query<{ seq: number; isItem: boolean }>(
    `select seq, document = 'payload' and tallystick.is_of_batch(subject_id) as is_item
     from tallystick.erasures where ledger_id = $1 and seq = any ($2::bigint[])`,
    [ledgerId, seqs],
  )
  const ofItems = rows.filter(({ isItem }) => isItem).map(({ seq }) => seq)
  const others = rows.filter(({ isItem }) => !isItem).map(({ seq }) => seq)
  if (ofItems.length > 0)
    await client.query(
      `with done as (
         update tallystick.erasures set erased_at = now() where ledger_id = $1 and seq = any ($2::bigint[])
         returning document_seq, tallystick.place_in_batch(subject_id) / 64 as chunk, seq
       )
       update tallystick.batch_chunks c set erased_seq = n.seq
       from (select document_seq, chunk, max(seq) as seq from done group by 1, 2) n
       where c.ledger_id = $1 and c.seq = n.document_seq and c.chunk = n.chunk`,
      [ledgerId, ofItems],
    )
  if (others.length > 0)
    await client.query(
      `select tallystick.erase_documents($1, $2::bigint[], '{}', '{}', '{}', '{}', '{}', '{}')`,
      [ledgerId, others],
    )
}
