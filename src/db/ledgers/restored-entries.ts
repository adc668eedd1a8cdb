import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { ARGUMENTS, column, type EntryRow, encodeArguments } from '../chain/append-entries.ts'
import { bytea, encodeColumn, int8, uuid } from '../connect/binary-array.ts'

/*
 * Writes entries and their rows when a ledger is restored from its archive (restoring.ts). Uses the same SQL function
 * as append_entries for writing.
 *
 * If the document of a record or step was erased, the document first gets an empty row. The row is marked as erased in
 * the same transaction.
 */

/**
 * An entry as it was passed to append_entries, with its position in the chain. Values that no entry contains are
 * missing.
 */
export type RestoredEntry = Omit<EntryRow, 'ledgerId'> & {
  readonly seq: number
  readonly chain: Uint8Array
  /** The lost state that a `ledger-restored` entry acknowledges. null for other kinds. */
  readonly known: { readonly size: number; readonly chain: Uint8Array } | null
}

/** Arguments of write_entries that append_entries computes itself. */
const DECIDED = {
  seqs: column(int8, (e: PositionedEntry) => e.seq),
  chains: column(bytea, (e: PositionedEntry) => e.chain),
  prev_seqs: column(int8, (e: PositionedEntry) => e.prevSeq),
  signer_kids: column(bytea, (e: PositionedEntry) => (e.isAgentSigned ? e.kid : null)),
}
type PositionedEntry = RestoredEntry & { readonly prevSeq: number | null }

/** Returns false for arguments that append_entries needs only for its decisions and does not store. */
const isWritten = (name: string) => name !== 'kids' && name !== 'unseen_befores'

const ARGUMENTS_SENT = [
  ...Object.entries(DECIDED).map(([name, { type }]) => ({ name, type: `${type}[]` })),
  ...ARGUMENTS.filter(({ name }) => isWritten(name)),
]
const WRITE_ENTRIES = {
  name: 'restore entries',
  text: `select tallystick.write_entries(restores => true, outcomes => array_fill(0::int2, array[cardinality($1::bigint[])]),
    ${ARGUMENTS_SENT.map(({ name, type }, i) => `${name} => $${i + 1}::${type}`).join(', ')})`,
}

/**
 * Writes the ledger's next entries and all rows that follow from them. Each entry of a kind in STANDS_ALONE must be
 * alone in a call.
 *
 * If no append could have made a row, throws the error of the constraint that the row violates.
 */
export async function restoreEntries(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  for (const { known, recordedAtMs } of entries)
    if (known !== null) await insertClosure(client, ledgerId, known, new Date(recordedAtMs))
  const positioned = await addPositions(client, ledgerId, entries)
  const values = encodeArguments(entries.map((entry) => ({ ...entry, ledgerId })))
  await client.query({
    ...WRITE_ENTRIES,
    values: [
      ...Object.values(DECIDED).map((one) => one.encode(positioned)),
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

/** Kinds of entries that must be alone in a call. They change data on which decisions about later entries depend. */
export const STANDS_ALONE: ReadonlySet<string> = new Set([
  'ledger-created',
  'ledger-restored',
  'server-key-rotated',
  'agent-disabled',
  'agent-key-registered',
  'agent-key-revoked',
  'key-revoked',
])

/**
 * Adds `prevSeq` to each entry: the seq of the record's previous step, or null if there is none. The previous step is
 * among these entries, or the present state of the record names it. For a registration, `prevSeq` is the seq of the
 * registered statement.
 */
async function addPositions(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<PositionedEntry[]> {
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
 * Carries out erasures. Restored chunks already contain digests instead of erased payloads. So for a record in a chunk,
 * only stores which entry erased it. For documents with empty rows, removes the rest of their content.
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
