import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { EntryRow } from '../chain/append-entries.ts'
import { bytea, encodeColumn, int4, int8, text, timestamptz, uuid } from '../connect/binary-array.ts'
import { type Column, column, insert, json, parameters } from './restored-rows.ts'

/*
 * Entries of a ledger that comes back from its archive, and the rows that come with them (restoring.ts). Administrative entries go by the
 * functions that append_entries calls. A document that is erased stands there with its record or step, empty, until the entry that erases
 * it has come: in the same transaction.
 */

/** An entry as append_entries had it, but for what no entry says, and its place in the chain. */
export type RestoredEntry = Omit<EntryRow, 'ledgerId'> & {
  readonly seq: number
  readonly chain: Uint8Array
  /** State of the ledger that a `ledger-restored` acknowledges as lost; null of other kinds. */
  readonly known: { readonly size: number; readonly chain: Uint8Array } | null
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
  await insertEntries(client, ledgerId, entries)
  await insertRecords(client, ledgerId, entries)
  await insertChunks(client, ledgerId, entries)
  await insertGated(client, ledgerId, entries)
  await moveGated(client, ledgerId, entries)
  await insertDocuments(client, ledgerId, entries)
  await storeDetails(client, ledgerId, entries)
  await eraseDocuments(
    client,
    ledgerId,
    entries.filter(({ kind }) => kind === 'payload-erased').map(({ seq }) => seq),
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

type Placed = RestoredEntry & { readonly prevSeq: number | null }

async function insertEntries(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  const placed = await place(client, ledgerId, entries)
  const columns: Record<string, Column<Placed>> = {
    seq: column(int8, (e) => e.seq),
    kind: column(text, (e) => e.kind),
    subject_id: column(uuid, (e) => e.subjectId),
    version: column(int4, (e) => e.version),
    item_count: column(int4, (e) => e.itemCount),
    prev_seq: column(int8, (e) => e.prevSeq),
    actor_id: column(uuid, (e) => e.actorId),
    key_id: column(uuid, (e) => e.keyId),
    recorded_at: column(timestamptz, (e) => e.recordedAtMs),
    leaf: column(bytea, (e) => e.leaf),
    chain: column(bytea, (e) => e.chain),
    envelope: column(bytea, (e) => e.envelope),
    signer_kid: column(bytea, (e) => (e.isAgentSigned ? e.kid : null)),
  }
  await insert(client, 'entries', ledgerId, columns, placed)
}

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

/** A row, and the entry that it comes with. */
type WithEntry<Row> = { readonly entry: RestoredEntry; readonly row: Row }

async function insertRecords(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  const rows = entries.flatMap((entry) => entry.records.map((row) => ({ entry, row })))
  const columns: Record<string, Column<WithEntry<EntryRow['records'][number]>>> = {
    record_id: column(uuid, ({ row }) => row.recordId),
    type: column(text, ({ row }) => row.type),
    first_seq: column(int8, ({ entry }) => entry.seq),
    actor_id: column(uuid, ({ entry }) => entry.actorId),
    on_behalf_of: column(uuid, ({ row }) => row.onBehalfOf),
    occurred_at: column(timestamptz, ({ row }) => row.occurredAtMs),
    traceparent: column(text, ({ row }) => row.traceparent),
    digest: column(bytea, ({ row }) => row.digest),
    salt: column(bytea, ({ row }) => row.salt),
    payload: column(json, ({ row }) => row.payload),
    parent_id: column(uuid, ({ row }) => row.parentId),
    reference_list: column(json, ({ row }) => row.references),
  }
  await insert(client, 'records', ledgerId, columns, rows)
  const references = rows.flatMap(({ entry, row }) =>
    [...new Set(JSON.parse(row.references ?? '[]') as string[])].map((reference) => ({
      reference,
      seq: entry.seq,
      recordId: row.recordId,
    })),
  )
  await insert(
    client,
    'record_references',
    ledgerId,
    {
      reference: column(text, (r: Reference) => r.reference),
      first_seq: column(int8, (r: Reference) => r.seq),
      record_id: column(uuid, (r: Reference) => r.recordId),
    },
    references,
  )
}

type Reference = { readonly reference: string; readonly seq: number; readonly recordId: Uuid }

async function insertChunks(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  const chunks = entries.flatMap((entry) => entry.chunks.map((row) => ({ entry, row })))
  const columns: Record<string, Column<WithEntry<EntryRow['chunks'][number]>>> = {
    seq: column(int8, ({ entry }) => entry.seq),
    chunk: column(int4, ({ row }) => row.chunk),
    first_record_id: column(uuid, ({ row }) => row.firstRecordId),
    count: column(int4, ({ row }) => row.count),
    content: column(bytea, ({ row }) => row.content),
  }
  await insert(client, 'batch_chunks', ledgerId, columns, chunks)
  const keys = chunks.flatMap(({ entry, row }) =>
    row.keys.map((key) => ({ key, seq: entry.seq, chunk: row.chunk })),
  )
  await insert(
    client,
    'batch_keys',
    ledgerId,
    {
      key: column(bytea, (k: ChunkKey) => k.key),
      seq: column(int8, (k: ChunkKey) => k.seq),
      chunk: column(int4, (k: ChunkKey) => k.chunk),
    },
    keys,
  )
}

type ChunkKey = { readonly key: Uint8Array; readonly seq: number; readonly chunk: number }

async function insertGated(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  const rows = entries.flatMap((entry) => (entry.gated ? [{ entry, row: entry.gated }] : []))
  const columns: Record<string, Column<WithEntry<NonNullable<EntryRow['gated']>>>> = {
    record_id: column(uuid, ({ entry }) => entry.subjectId),
    first_seq: column(int8, ({ entry }) => entry.seq),
    last_seq: column(int8, ({ entry }) => entry.seq),
    version: column(int4, () => 1),
    state: column(text, ({ entry }) => entry.toState),
    principal_id: column(uuid, ({ entry }) => entry.partyId),
    performer_id: column(uuid, ({ row }) => row.performerId),
    gate: column(text, ({ row }) => row.gate),
    deadline: column(timestamptz, ({ row }) => row.deadlineMs),
    max_revisions: column(int4, ({ row }) => row.maxRevisions),
    tolerances: column(json, ({ row }) => row.tolerances),
  }
  await insert(client, 'gated_records', ledgerId, columns, rows)
}

/** Step after step of each record, as the trigger wants it: the first of all records in one statement, then the second … */
async function moveGated(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  let left = entries.filter(({ version }) => version !== null && version > 1)
  const columns: Column<RestoredEntry>[] = [
    column(text, (e) => e.kind),
    column(uuid, (e) => e.subjectId),
    column(uuid, (e) => e.partyId),
    column(text, (e) => e.toState),
    column(int4, (e) => e.version),
    column(int8, (e) => e.seq),
  ]
  while (left.length > 0) {
    const seen = new Set<Uuid | null>()
    const later: RestoredEntry[] = []
    const now = left.filter((entry) => {
      const isFirst = !seen.has(entry.subjectId)
      if (isFirst) seen.add(entry.subjectId)
      else later.push(entry)
      return isFirst
    })
    await client.query({
      name: 'restore steps',
      text: `update tallystick.gated_records r set state = i.to_state, version = i.version, last_seq = i.seq,
          performer_id = case when i.kind = 'record-activated' then i.party_id else r.performer_id end,
          revisions = r.revisions + (i.kind = 'revision-requested')::int4
        from unnest(${parameters(columns, 2)}) i (kind, subject_id, party_id, to_state, version, seq)
        where r.ledger_id = $1 and r.record_id = i.subject_id`,
      values: [ledgerId, ...columns.map((one) => one.encode(now))],
    })
    left = later
  }
}

async function insertDocuments(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  const rows = entries.flatMap((entry) => (entry.document ? [{ entry, row: entry.document }] : []))
  const columns: Record<string, Column<WithEntry<NonNullable<EntryRow['document']>>>> = {
    seq: column(int8, ({ entry }) => entry.seq),
    document: column(text, ({ row }) => row.name),
    subject_id: column(uuid, ({ row }) => row.subjectId),
    digest: column(bytea, ({ row }) => row.digest),
    salt: column(bytea, ({ row }) => row.salt),
    content: column(json, ({ row }) => row.content),
  }
  await insert(client, 'documents', ledgerId, columns, rows)
}

/** Rows of administrative entries, by the functions that append_entries calls; but for keys, which come without a secret. */
async function storeDetails(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  const told = entries.filter(({ detail }) => detail !== null)
  if (told.length === 0) return
  const others = told.filter(({ kind }) => kind !== 'key-created')
  const kinds = new Set(others.map(({ kind }) => kind))
  const arrays = {
    ledgers: column(uuid, () => ledgerId),
    kinds: column(text, (e: RestoredEntry) => e.kind),
    subjects: column(uuid, (e: RestoredEntry) => e.subjectId),
    leaves: column(bytea, (e: RestoredEntry) => e.leaf),
    previous: column(bytea, (e: RestoredEntry) => e.previousLeaf),
    details: column(text, (e: RestoredEntry) => JSON.stringify(e.detail)),
    outcomes: column(int4, () => 0),
    seqs: column(int8, (e: RestoredEntry) => e.seq),
  }
  const call = (name: string, ...columns: readonly (keyof typeof arrays)[]) =>
    client.query({
      name: `restore ${name}`,
      text: `select tallystick.${name}(${columns
        .map((one, i) => `$${i + 1}::${arrays[one].type}[]${one === 'outcomes' ? '::int2[]' : ''}`)
        .join(', ')})`,
      values: columns.map((one) => arrays[one].encode(others)),
    })
  for (const { known, recordedAtMs } of others)
    if (known !== null) await insertClosure(client, ledgerId, known, new Date(recordedAtMs))
  await call('append_details', 'ledgers', 'kinds', 'subjects', 'details', 'outcomes', 'seqs')
  await insertKeys(
    client,
    ledgerId,
    told.filter(({ kind }) => kind === 'key-created'),
  )
  if (kinds.has('retention-set') || kinds.has('hold-set') || kinds.has('hold-lifted')) {
    await call('append_keeping', 'ledgers', 'kinds', 'details', 'outcomes', 'seqs')
    await client.query(
      `delete from tallystick.hold_records r using tallystick.holds h
       where h.ledger_id = $1 and h.lifted_seq = any ($2::bigint[])
         and r.ledger_id = $1 and r.record_id = any (h.record_ids) and r.seq = h.seq`,
      [ledgerId, others.filter(({ kind }) => kind === 'hold-lifted').map(({ seq }) => seq)],
    )
  }
  if (kinds.has('server-key-rotated'))
    await call('append_federation', 'ledgers', 'kinds', 'subjects', 'leaves', 'details', 'outcomes', 'seqs')
  if (kinds.has('statement-registered'))
    await call('append_statements', 'ledgers', 'kinds', 'subjects', 'previous', 'details', 'outcomes', 'seqs')
}

type KeyDetail = { agentId: Uuid; name: string; scopes: string[]; expiresAt: string | null }

async function insertKeys(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  for (const { subjectId, seq, detail } of entries) {
    const { agentId, name, scopes, expiresAt } = detail as KeyDetail
    await client.query(
      `insert into tallystick.api_keys (ledger_id, key_id, agent_id, name, scopes, expires_at, created_seq)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [ledgerId, subjectId, agentId, name, scopes, expiresAt, seq],
    )
  }
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
