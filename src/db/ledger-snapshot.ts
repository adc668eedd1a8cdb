import pg from 'pg'
import { toUuid } from './uuid.ts'

/*
 * A whole ledger as it was at one moment, table by table, each in the order of the entries that explain its rows: what
 * an audit compares with the statements. Cursors, because a table may be larger than memory.
 */

const ROWS_PER_FETCH = 1_000
const CONNECT_TIMEOUT_MS = 10_000

export type LedgerSnapshot = {
  readonly client: pg.ClientBase
  close(): Promise<void>
}

/**
 * One connection in one read-only snapshot, which ends with the connection. It asks for time zone and formats that
 * the statements below rely on.
 */
export async function openSnapshot(url: string): Promise<LedgerSnapshot> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'tallystick verify',
  })
  // A connection that breaks fails the query that waits; without a listener it would end the process too.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('begin isolation level repeatable read read only')
    // Sequential scans of one ledger among many, each over all of a table, are what a wrong estimate costs.
    await client.query("select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)")
  } catch (error) {
    await client.end()
    throw error
  }
  return { client, close: () => client.end() }
}

/** Of rows with a `seq`: those from `from` up to `end`, exclusive. */
export type SeqRange = { readonly from: number; readonly end: number }

/** Rows of `text`, which may use $1: the ledger's uuid. In the order that the query gives. */
export async function* streamRows<T extends pg.QueryResultRow>(
  client: pg.ClientBase,
  name: string,
  text: string,
  ledgerId: Uint8Array,
  range: SeqRange | null = null,
): AsyncGenerator<T> {
  const values = range ? [toUuid(ledgerId), range.from, range.end] : [toUuid(ledgerId)]
  await client.query(`declare ${name} no scroll cursor for ${range ? ranged(text) : text}`, values)
  for (;;) {
    const { rows } = await client.query<T>(`fetch forward ${ROWS_PER_FETCH} from ${name}`)
    yield* rows
    if (rows.length < ROWS_PER_FETCH) break
  }
  await client.query(`close ${name}`)
}

/**
 * streamRows for a short range of a table that has a few rows for each entry at most: one round trip instead of three, and
 * planned once a session. Of many ledgers that grow slowly, reading is the larger part of verifying.
 */
export async function* readRows<T extends pg.QueryResultRow>(
  client: pg.ClientBase,
  name: string,
  text: string,
  ledgerId: Uint8Array,
  range: SeqRange,
): AsyncGenerator<T> {
  const { rows } = await client.query<T>({
    name: `range of ${name}`,
    text: ranged(text),
    values: [toUuid(ledgerId), range.from, range.end],
  })
  yield* rows
}

/** The conditions are pushed down to the index scan, and nothing above it changes the order. */
function ranged(text: string): string {
  return `select * from (${text}) ranged where seq >= $2 and seq < $3`
}

/** Ids of all ledgers that the tables of ledgers and of chain heads know. */
export async function listLedgerIds(client: pg.ClientBase): Promise<Buffer[]> {
  const { rows } = await client.query<{ id: Buffer }>(
    `select uuid_send(ledger_id) as id from tallystick.chain_heads
     union select uuid_send(ledger_id) from tallystick.ledgers order by id`,
  )
  return rows.map((row) => row.id)
}

const LEDGER_TABLES = [
  'entries',
  'records',
  'idempotency_keys',
  'agents',
  'api_keys',
  'api_key_secrets',
  'types',
  'record_references',
  'erasures',
  'ledger_closures',
  'checkpoints',
  'tree_tiles',
  'tree_frontiers',
  'ledgers',
]

/**
 * Tables that hold rows of a ledger without a chain, whose rows no audit of any ledger would ever see. Jumps from
 * ledger to ledger along the primary keys. `skip`: tables that this login may not read.
 */
export async function listStrayTables(client: pg.ClientBase, skip: readonly string[]): Promise<string[]> {
  const stray: string[] = []
  for (const table of LEDGER_TABLES) {
    if (skip.includes(table)) continue
    const { rowCount } = await client.query(
      `with recursive ids as (
         (select ledger_id from tallystick.${table} order by ledger_id limit 1)
         union all
         select (select t.ledger_id from tallystick.${table} t where t.ledger_id > ids.ledger_id order by t.ledger_id limit 1)
         from ids where ids.ledger_id is not null
       )
       select from ids where ledger_id is not null
         and not exists (select from tallystick.chain_heads h where h.ledger_id = ids.ledger_id) limit 1`,
    )
    if (rowCount) stray.push(table)
  }
  return stray
}

export type AuditedEntry = {
  seq: string
  kind: string
  recorded_at: Date
  recorded_at_us: string
  leaf: Buffer
  chain: Buffer
  envelope: Buffer
  subject_id: string | null
  version: number | null
  prev_seq: string | null
  prev_leaf: Buffer | null
  actor_id: string | null
  key_id: string | null
}

/** As decimal text. Nothing that a thief could put into the column fails: what can't be read is no fault of the ledger's. */
const microsecondsOf = (column: string) => `trunc(extract(epoch from ${column}) * 1000000)::text`
/** null for what no statement can say, such as `infinity`: the driver makes no Date of it. */
const timeOf = (column: string) =>
  `case when ${column} >= '0001-01-01Z' and ${column} < '10000-01-01Z' then ${column} end`

/** `prev_leaf` is what `prev_seq` points to: the statement names it by leaf. */
export const ENTRIES_BY_SEQ = `
  select e.seq, e.kind, e.recorded_at, ${microsecondsOf('e.recorded_at')} as recorded_at_us,
    e.leaf, e.chain, e.envelope, e.subject_id, e.version, e.prev_seq, p.leaf as prev_leaf, e.actor_id, e.key_id
  from tallystick.entries e
  left join lateral (
    select x.leaf from tallystick.entries x where x.ledger_id = e.ledger_id and x.seq = e.prev_seq offset 0
  ) p on true
  where e.ledger_id = $1 order by e.seq`

export type AuditedRecord = {
  seq: string
  record_id: string
  type: string
  state: string
  version: number
  last_seq: string
  last_subject_id: string | null
  item_index: number | null
  actor_id: string
  on_behalf_of: string | null
  occurred_at: Date | null
  occurred_at_us: string | null
  traceparent: string | null
  digest: Buffer
  salt: Buffer | null
  payload: Buffer | null
  payload_erased_seq: string | null
  is_half_erased: boolean
  parent_id: string | null
  reference_list: Buffer | null
  searched_references: string[] | null
}

/**
 * `last_subject_id` is whom the entry at `last_seq` is about; `searched_references` what the record is found by. They are
 * looked for where there should be some: of others each would cost ten million records a probe (countReferences).
 */
export const RECORDS_BY_SEQ = `
  select r.first_seq as seq, r.record_id, r.type, r.state, r.version, r.last_seq, r.item_index, r.actor_id,
    r.on_behalf_of, ${timeOf('r.occurred_at')} as occurred_at, ${microsecondsOf('r.occurred_at')} as occurred_at_us,
    r.traceparent, r.digest, r.salt, r.payload, r.payload_erased_seq, r.parent_id, r.reference_list,
    r.payload_erased_seq is not null and (r.metadata is not null or r.reference_list is not null) as is_half_erased,
    x.searched_references, l.subject_id as last_subject_id
  from tallystick.records r
  left join lateral (
    select x.subject_id from tallystick.entries x
    where r.last_seq <> r.first_seq and x.ledger_id = r.ledger_id and x.seq = r.last_seq offset 0
  ) l on true
  left join lateral (
    select array_agg(x.reference order by x.reference collate "C") as searched_references
    from tallystick.record_references x
    where r.reference_list is not null and x.ledger_id = r.ledger_id and x.record_id = r.record_id
      and x.first_seq = r.first_seq
    offset 0
  ) x on true
  where r.ledger_id = $1 order by r.first_seq, r.item_index nulls first`

/** All references by which records of the ledger are found. */
export async function countReferences(client: pg.ClientBase, ledgerId: Uint8Array): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    'select count(*) as count from tallystick.record_references where ledger_id = $1',
    [toUuid(ledgerId)],
  )
  return Number(rows[0]!.count)
}

export type AuditedAgent = { seq: string; agent_id: string; name: string }

export const AGENTS_BY_SEQ = `
  select registered_seq as seq, agent_id, name from tallystick.agents where ledger_id = $1 order by registered_seq`

export type AuditedKey = {
  seq: string
  key_id: string
  agent_id: string
  scopes: string[]
  expires_at_us: string | null
}

export const KEYS_BY_SEQ = `
  select created_seq as seq, key_id, agent_id, scopes, ${microsecondsOf('expires_at')} as expires_at_us
  from tallystick.api_keys where ledger_id = $1 order by created_seq`

/** What an entry at `seq` is said to have ended: an agent or a key. */
export type AuditedEnd = { seq: string; id: string }

export const DISABLED_AGENTS_BY_SEQ = `
  select disabled_seq as seq, agent_id as id from tallystick.agents
  where ledger_id = $1 and disabled_seq is not null order by disabled_seq, agent_id`

export const REVOKED_KEYS_BY_SEQ = `
  select revoked_seq as seq, key_id as id from tallystick.api_keys
  where ledger_id = $1 and revoked_seq is not null order by revoked_seq, key_id`

export type AuditedType = { seq: string; name: string; gated: boolean; definition: Buffer; digest: Buffer }

export const TYPES_BY_SEQ = `
  select registered_seq as seq, name, gated, definition, digest
  from tallystick.types where ledger_id = $1 order by registered_seq, name`

export type AuditedErasure = { seq: string; subject_id: string; document: string }

export const ERASURES_BY_SEQ = `
  select seq, subject_id, document from tallystick.erasures where ledger_id = $1 order by seq`

/** Of closures: what the entry that reopened the ledger says was known. */
export type AuditedClosure = { seq: string; known_size: string; known_chain: Buffer }

export const CLOSURES_BY_SEQ = `
  select restored_seq as seq, known_size, known_chain
  from tallystick.ledger_closures where ledger_id = $1 and restored_seq is not null order by restored_seq`

/** Erasures of the ledger that were signed so long ago, and whose document is there all the same. */
export async function countOverdueErasures(
  client: pg.ClientBase,
  ledgerId: Uint8Array,
  ageMs: number,
): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    `select count(*) as count from tallystick.erasures x
     join tallystick.entries e on e.ledger_id = x.ledger_id and e.seq = x.seq
     join tallystick.records r on r.ledger_id = x.ledger_id and r.record_id = x.subject_id
     where x.ledger_id = $1 and x.document = 'payload' and r.payload is not null
       and e.recorded_at < now() - $2 * interval '1 millisecond'`,
    [toUuid(ledgerId), ageMs],
  )
  return Number(rows[0]!.count)
}

/** `is_forgotten`: without the fingerprint of its request. */
export type AuditedIdempotencyKey = { seq: string; actor_id: string; is_forgotten: boolean }

export const IDEMPOTENCY_KEYS_BY_SEQ = `
  select seq, actor_id, fingerprint is null as is_forgotten from tallystick.idempotency_keys where ledger_id = $1 order by seq`

export type AuditedCheckpoint = { size: string; root: Buffer; chain: Buffer; note: string }

export const CHECKPOINTS_BY_SIZE = `
  select size, root, chain, note from tallystick.checkpoints where ledger_id = $1 order by size`

export type AuditedTile = { level: number; tile_index: string; hashes: Buffer }

export const TILES_IN_ORDER = `
  select level, tile_index, hashes from tallystick.tree_tiles where ledger_id = $1 order by level, tile_index`

/** Whether this login may read the table of idempotency keys: the servers' own may not. */
export async function canReadIdempotencyKeys(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    "select has_table_privilege('tallystick.idempotency_keys', 'select') as may",
  )
  return rows[0]!.may
}

export type AuditedLedger = {
  name: string | null
  issuer: string | null
  origin: string | null
  note_kid: Buffer | null
  size: string | null
  chain: Buffer | null
  envelope_kid: Buffer | null
  closed: string | null
  /** Whether a closure waits for its acknowledgement. */
  awaits_acknowledgement: boolean
  tree_size: string | null
  tree_hashes: Buffer | null
  /** Of the newest checkpoint. */
  checkpoint_size: string | null
}

/** The rows of which a ledger has one each; null where it has none. */
export async function getAuditedLedger(client: pg.ClientBase, ledgerId: Uint8Array): Promise<AuditedLedger> {
  const { rows } = await client.query<AuditedLedger>(
    `select l.name, l.issuer, l.origin, l.note_kid, h.size, h.chain, h.envelope_kid, h.closed,
       exists (select from tallystick.ledger_closures c where c.ledger_id = i.ledger_id and c.restored_seq is null)
         as awaits_acknowledgement,
       t.size as tree_size, t.hashes as tree_hashes,
       (select max(c.size) from tallystick.checkpoints c where c.ledger_id = i.ledger_id) as checkpoint_size
     from (select $1::uuid as ledger_id) i
     left join tallystick.ledgers l using (ledger_id)
     left join tallystick.chain_heads h using (ledger_id)
     left join tallystick.tree_frontiers t using (ledger_id)`,
    [toUuid(ledgerId)],
  )
  return rows[0]!
}

export type AuditedServerKey = {
  kid: Buffer
  use: string
  alg: string
  spki: Buffer
  compromised_at: Date | null
}

export async function listServerKeys(client: pg.ClientBase): Promise<AuditedServerKey[]> {
  const { rows } = await client.query<AuditedServerKey>(
    'select kid, use, alg, spki, compromised_at from tallystick.server_keys order by kid',
  )
  return rows
}
