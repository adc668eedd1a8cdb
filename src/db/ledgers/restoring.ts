import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { EntryRow } from '../chain/append-entries.ts'
import type { ArchivePosition, PieceObjects } from '../chain/archives.ts'
import {
  bytea,
  type Codec,
  encodeColumn,
  int4,
  int8,
  text,
  timestamptz,
  uuid,
} from '../connect/binary-array.ts'
import type { Db } from '../connect/client.ts'

/*
 * A ledger that comes back from its archive: the SQL of `restore-archive`, as owner. The triggers fire as for any append, so the
 * database holds the rows to each other once more; and what administrative entries say goes by the functions that append_entries calls.
 * A document that is erased stands there with its record or step, empty, until the entry that erases it has come: in the same
 * transaction.
 */

/** An entry as append_entries had it, but for what no entry says, and its place in the chain. */
export type RestoredEntry = Omit<EntryRow, 'ledgerId'> & {
  readonly seq: number
  readonly chain: Uint8Array
  /** State of the ledger that a `ledger-restored` acknowledges as lost; null of other kinds. */
  readonly known: { readonly size: number; readonly chain: Uint8Array } | null
}

type RestoredServerKey = {
  readonly kid: Uint8Array
  readonly use: 'envelope' | 'note'
  readonly alg: string
  readonly spki: Uint8Array
  /** ISO 8601. */
  readonly activatedAt: string | null
  readonly retiredAt: string | null
  readonly compromisedAt: string | null
}

/** Inserts a public half that the database lacks. It is retired, because nobody has its private half: no ledger may be moved to it. */
export async function restoreServerKey(
  client: pg.ClientBase,
  { kid, use, alg, spki, ...times }: RestoredServerKey,
): Promise<void> {
  await client.query(
    `insert into tallystick.server_keys (kid, use, alg, spki, activated_at, retired_at, compromised_at)
     values ($1, $2, $3, $4, coalesce($5::timestamptz, now()), coalesce($6::timestamptz, now()), $7) on conflict do nothing`,
    [kid, use, alg, spki, times.activatedAt, times.retiredAt, times.compromisedAt],
  )
}

/** Whether the deployment has the private halves: of the key of the ledger's next entry, and of its checkpoints. */
export async function findOwnKeys(
  db: Db,
  ledgerId: Uuid,
): Promise<{ readonly envelope: boolean; readonly note: boolean }> {
  const { rows } = await db.query<{ envelope: boolean; note: boolean }>(
    `select exists (select from tallystick.envelope_key_secrets s where s.kid = h.envelope_kid) as envelope,
       exists (select from tallystick.server_keys k where k.kid = l.note_kid and k.retired_at is null) as note
     from tallystick.chain_heads h join tallystick.ledgers l on l.ledger_id = h.ledger_id where h.ledger_id = $1`,
    [ledgerId],
  )
  return rows[0]!
}

/** Until the transaction ends: a plan that is made for empty tables, and kept, would read them whole for each row. */
export async function planForGrowth(client: pg.ClientBase): Promise<void> {
  await client.query("select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)")
}

/** The head of a ledger without entries; false where the database has the ledger. */
export async function beginLedger(client: pg.ClientBase, ledgerId: Uuid, kid: Uint8Array): Promise<boolean> {
  const { rowCount } = await client.query(
    `insert into tallystick.chain_heads (ledger_id, size, chain, envelope_kid)
     values ($1, 0, sha256('\\x74616c6c79737469636b2d636861696e2d7631'::bytea || uuid_send($1)), $2)
     on conflict do nothing`,
    [ledgerId, kid],
  )
  return rowCount === 1
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

/** Canonical JSON, stored as bytes. */
const json: Codec<string> = { ...text, type: bytea.type, oid: bytea.oid }

type Column<Row> = { readonly type: string; encode(rows: readonly Row[]): Buffer }

function column<Row, T>(codec: Codec<T>, get: (row: Row) => T | null | undefined): Column<Row> {
  return { type: codec.type, encode: (rows) => encodeColumn(codec, rows, get) }
}

/** `$from`, `$from + 1` … as arrays, for unnest. */
function parameters(columns: readonly { readonly type: string }[], from: number): string {
  return columns.map(({ type }, i) => `$${from + i}::${type}[]`).join(', ')
}

/** Inserts rows of the ledger: columns by their names. */
async function insert<Row>(
  client: pg.ClientBase,
  table: string,
  ledgerId: Uuid,
  columns: Readonly<Record<string, Column<Row>>>,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return
  const names = Object.keys(columns).join(', ')
  const values = Object.values(columns)
  await client.query({
    name: `restore ${table}`,
    text: `insert into tallystick.${table} (ledger_id, ${names})
      select $1, n.* from unnest(${parameters(values, 2)}) n`,
    values: [ledgerId, ...values.map((one) => one.encode(rows))],
  })
}

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
type Of<Row> = { readonly of: RestoredEntry; readonly row: Row }

async function insertRecords(
  client: pg.ClientBase,
  ledgerId: Uuid,
  entries: readonly RestoredEntry[],
): Promise<void> {
  const rows = entries.flatMap((of) => of.records.map((row) => ({ of, row })))
  const columns: Record<string, Column<Of<EntryRow['records'][number]>>> = {
    record_id: column(uuid, ({ row }) => row.recordId),
    type: column(text, ({ row }) => row.type),
    first_seq: column(int8, ({ of }) => of.seq),
    actor_id: column(uuid, ({ of }) => of.actorId),
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
  const references = rows.flatMap(({ of, row }) =>
    [...new Set(JSON.parse(row.references ?? '[]') as string[])].map((reference) => ({
      reference,
      seq: of.seq,
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
  const chunks = entries.flatMap((of) => of.chunks.map((row) => ({ of, row })))
  const columns: Record<string, Column<Of<EntryRow['chunks'][number]>>> = {
    seq: column(int8, ({ of }) => of.seq),
    chunk: column(int4, ({ row }) => row.chunk),
    first_record_id: column(uuid, ({ row }) => row.firstRecordId),
    count: column(int4, ({ row }) => row.count),
    content: column(bytea, ({ row }) => row.content),
  }
  await insert(client, 'batch_chunks', ledgerId, columns, chunks)
  const keys = chunks.flatMap(({ of, row }) =>
    row.keys.map((key) => ({ key, seq: of.seq, chunk: row.chunk })),
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
  const rows = entries.flatMap((of) => (of.gated ? [{ of, row: of.gated }] : []))
  const columns: Record<string, Column<Of<NonNullable<EntryRow['gated']>>>> = {
    record_id: column(uuid, ({ of }) => of.subjectId),
    first_seq: column(int8, ({ of }) => of.seq),
    last_seq: column(int8, ({ of }) => of.seq),
    version: column(int4, () => 1),
    state: column(text, ({ of }) => of.toState),
    principal_id: column(uuid, ({ of }) => of.partyId),
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
  const rows = entries.flatMap((of) => (of.document ? [{ of, row: of.document }] : []))
  const columns: Record<string, Column<Of<NonNullable<EntryRow['document']>>>> = {
    seq: column(int8, ({ of }) => of.seq),
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

async function insertClosure(
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

/** A checkpoint of the ledger, whose note has no lines of others; and those, in their order. */
export type RestoredCheckpoint = {
  readonly size: number
  readonly root: Uint8Array
  readonly chain: Uint8Array
  readonly note: string
  /** `kid`: any 32 bytes that are the witness's own. */
  readonly cosignatures: readonly { readonly kid: Uint8Array; readonly line: string }[]
}

/** Says of a checkpoint, and of its cosignatures, the time of the last entry that it covers: no note has its own. */
export async function restoreCheckpoint(
  client: pg.ClientBase,
  ledgerId: Uuid,
  { size, root, chain, note, cosignatures }: RestoredCheckpoint,
): Promise<void> {
  await client.query(
    `insert into tallystick.checkpoints (ledger_id, size, root, chain, note, published_at)
     select $1, $2, $3, $4, $5, e.recorded_at from tallystick.entries e where e.ledger_id = $1 and e.seq = $2::bigint - 1`,
    [ledgerId, size, root, chain, note],
  )
  for (const [i, { kid, line }] of cosignatures.entries())
    await client.query(
      `insert into tallystick.cosignatures (ledger_id, size, witness_kid, line, cosigned_at)
       select $1, $2, $3, $4, c.published_at + $5 * interval '1 microsecond'
       from tallystick.checkpoints c where c.ledger_id = $1 and c.size = $2`,
      [ledgerId, size, kid, line, i],
    )
}

/** Has the worker go on with the archive that the ledger came from: its newest seal, its pieces, and their sealed secrets. */
export async function restoreArchive(
  client: pg.ClientBase,
  ledgerId: Uuid,
  { size, sealDigest, pieces }: ArchivePosition,
  keys: Iterable<{ readonly fromSeq: number; readonly sealed: Uint8Array }>,
): Promise<void> {
  await client.query(
    'insert into tallystick.archives (ledger_id, size, seal_digest, sealed_at) values ($1, $2, $3, now())',
    [ledgerId, size, sealDigest],
  )
  const columns: Record<string, Column<PieceObjects>> = {
    from_seq: column(int8, (piece) => piece.from),
    end_seq: column(int8, ({ end }) => end),
    lines_digest: column(bytea, ({ lines }) => lines.digest),
    lines_bytes: column(int4, ({ lines }) => lines.bytes),
    documents_digest: column(bytea, ({ documents }) => documents?.digest ?? null),
    documents_bytes: column(int4, ({ documents }) => documents?.bytes ?? null),
  }
  await insert(client, 'archive_pieces', ledgerId, columns, pieces)
  for (const { fromSeq, sealed } of keys)
    await client.query(
      'insert into tallystick.archive_keys (ledger_id, from_seq, sealed) values ($1, $2, $3)',
      [ledgerId, fromSeq, sealed],
    )
}

/** Closes the ledger as one that lacks what is known of it, until an operator acknowledges that. */
export async function closeRestored(
  client: pg.ClientBase,
  ledgerId: Uuid,
  known: { readonly size: number; readonly chain: Uint8Array },
): Promise<void> {
  await insertClosure(client, ledgerId, known, new Date())
  await client.query("update tallystick.chain_heads set closed = 'restored' where ledger_id = $1", [ledgerId])
}

/** A key of the ledger that is valid, the one with the most scopes, and of these the newest; null: there is none. */
export async function findValidKey(
  client: pg.ClientBase,
  ledgerId: Uuid,
): Promise<{
  readonly keyId: Uuid
  readonly agentId: Uuid
  readonly scopes: readonly string[]
  readonly expiresAt: Date | null
} | null> {
  const { rows } = await client.query(
    `select k.key_id, k.agent_id, k.scopes, k.expires_at from tallystick.api_keys k
     join tallystick.agents a on a.ledger_id = k.ledger_id and a.agent_id = k.agent_id
     where k.ledger_id = $1 and k.revoked_seq is null and a.disabled_seq is null and (k.expires_at is null or k.expires_at > now())
     order by cardinality(k.scopes) desc, k.created_seq desc limit 1`,
    [ledgerId],
  )
  return rows[0] ?? null
}

export async function insertKeySecret(
  client: pg.ClientBase,
  ledgerId: Uuid,
  secret: {
    readonly keyId: Uuid
    readonly secretHash: Uint8Array
    readonly mac: Uint8Array
    readonly expiresAt: Date | null
  },
): Promise<void> {
  await client.query(
    `insert into tallystick.api_key_secrets (ledger_id, secret_hash, key_id, mac, expires_at) values ($1, $2, $3, $4, $5)`,
    [ledgerId, secret.secretHash, secret.keyId, secret.mac, secret.expiresAt],
  )
}
