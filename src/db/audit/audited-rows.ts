import type pg from 'pg'
import type { LineSigner } from '../../proof/entry/entry-line.ts'
import type { Uuid } from '../../proof/ids.ts'
import { OPEN_STATES } from '../../proof/statement/kinds.ts'
import { COSIGNED_NOTE } from '../chain/checkpoints.ts'
import { signerOf } from '../chain/read-entries.ts'
import { RELEASED, type ReleasedColumn } from '../chunks/released-chunks.ts'
import { asBase64, asEscaped } from '../connect/packed-bytes.ts'

/*
 * Rows that an audit compares with the statements: every row of every table that is evidence, or an index of it. `seq` is the
 * entry that explains the row.
 */

export type AuditedEntry = {
  seq: number
  kind: string
  recordedAt: Date
  recordedAtUs: string
  leaf: Buffer
  chain: Buffer
  envelope: Buffer
  subjectId: Uuid | null
  version: number | null
  itemCount: number | null
  prevSeq: number | null
  prevLeaf: Buffer | null
  actorId: Uuid | null
  keyId: Uuid | null
  signerKid: Buffer | null
  signer: LineSigner | null
  earlierStepSeq: number | null
  gated: AuditedGatedRecord[] | null
  /** Peers that a record it creates or shares is shared with. */
  shares: AuditedShare[] | null
  /** Kind, subject, actor, key and time of the entry behind a registered statement. */
  registration: [string, Uuid | null, Uuid | null, Uuid | null, string] | null
}

type AuditedShare = { peerId: Uuid; documents: string }

/** Where a gated record stands, without names of columns: it comes with each of its entries. `tolerances` are hex. */
export type AuditedGatedRecord = [
  firstSeq: number,
  principalId: Uuid,
  performerId: Uuid | null,
  performerRemote: string | null,
  gate: string,
  deadlineUs: string | null,
  maxRevisions: number,
  tolerances: string | null,
  state: string | null,
  version: number,
  lastSeq: number,
  lastSubjectId: Uuid | null,
  revisions: number,
]

/**
 * As decimal text. It must not throw for any value that a thief could store: a failed query would look like an outage,
 * not like tampering.
 */
const microsecondsOf = (column: string) => `trunc(extract(epoch from ${column}) * 1000000)::text`
/** null for what no statement can say, such as `infinity`: the driver makes no Date of it. */
const timeOf = (column: string) =>
  `case when ${column} >= '0001-01-01Z' and ${column} < '10000-01-01Z' then ${column} end`

/** A creation, or a step. By columns, which are compared with the statement. */
const IS_OF_GATED = "(e.kind = 'record-created' or e.version > 1)"

const OPEN = OPEN_STATES.map((state) => `'${state}'`).join(', ')

/** With whom its last entry is about. A state that searches do not find it by is none. */
const GATED_ROW = `json_build_array(g.first_seq, g.principal_id, g.performer_id, g.performer_remote, g.gate,
  ${microsecondsOf('g.deadline')}, g.max_revisions, encode(g.tolerances, 'hex'),
  case when g.ended_as in (g.state, '') and (g.ended_as = '') = (g.state in (${OPEN}))
    then g.state end, g.version,
  g.last_seq, l.subject_id, g.revisions)`

/**
 * `prev_leaf` is what `prev_seq` points to: the statement names it by leaf. `earlier_step_seq` is the step of the same record
 * that stands before the entry: an old entry that is inserted again names an older one. `gated` are the rows of the entry's record.
 *
 * The step is looked for by version among those of its record, not as the greatest seq: for that Postgres would read the chain
 * backwards, past all other records; and a plan that was made on a small table, and kept, would do so by `seq < e.seq` alone. Both are asked for in a `case`: of ten million notarizations each join would cost a microsecond.
 */
export const ENTRIES_BY_SEQ = `
  select e.seq, e.kind, e.recorded_at, ${microsecondsOf('e.recorded_at')} as recorded_at_us,
    ${asBase64('e.leaf')} as leaf, ${asBase64('e.chain')} as chain, ${asEscaped('e.envelope')} as envelope,
    e.subject_id, e.version, e.item_count, e.prev_seq, ${asBase64('p.leaf')} as prev_leaf, e.actor_id, e.key_id,
    e.signer_kid, ${signerOf('e')} as signer,
    case when ${IS_OF_GATED} then (
      select x.seq from (
        select n.seq, n.version from tallystick.entries n
        where n.ledger_id = e.ledger_id and n.subject_id = e.subject_id and n.version > 1 order by n.version desc offset 0
      ) x where x.seq < e.seq limit 1
    ) end as earlier_step_seq,
    case when ${IS_OF_GATED} then (
      select json_agg(${GATED_ROW})
      from tallystick.gated_records g
      left join lateral (
        select x.subject_id from tallystick.entries x where x.ledger_id = g.ledger_id and x.seq = g.last_seq offset 0
      ) l on true
      where g.ledger_id = e.ledger_id and g.record_id = e.subject_id
    ) end as gated,
    case when e.kind in ('record-created', 'record-shared') then (
      select json_agg(json_build_object('peerId', s.peer_id, 'documents', s.documents) order by s.peer_id)
      from tallystick.shared_records s
      where s.ledger_id = e.ledger_id and s.record_id = e.subject_id and s.shared_seq = e.seq
    ) end as shares,
    case when e.kind = 'statement' then (
      select json_build_array(n.kind, n.subject_id, n.actor_id, n.key_id, ${microsecondsOf('n.recorded_at')})
      from tallystick.entries n where n.ledger_id = e.ledger_id and n.seq = e.seq + 1
    ) end as registration
  from tallystick.entries e
  left join lateral (
    select x.leaf from tallystick.entries x where x.ledger_id = e.ledger_id and x.seq = e.prev_seq offset 0
  ) p on true
  where e.ledger_id = $1 order by e.seq`

/** A record with an entry of its own. */
export type AuditedRecord = {
  seq: number
  recordId: Uuid
  type: string
  actorId: Uuid
  onBehalfOf: Uuid | null
  occurredAt: Date | null
  occurredAtUs: string | null
  traceparent: string | null
  digest: Buffer
  salt: Buffer | null
  payload: Buffer | null
  payloadErasedSeq: number | null
  isHalfErased: boolean
  parentId: Uuid | null
  referenceList: Buffer | null
  searchedReferences: string[] | null
}

/**
 * `searched_references` is what the record is found by, read only if there should be some: otherwise it would cost ten
 * million records a probe each (countRows).
 */
export const RECORDS_BY_SEQ = `
  select r.first_seq as seq, r.record_id, r.type, r.actor_id,
    r.on_behalf_of, ${timeOf('r.occurred_at')} as occurred_at, ${microsecondsOf('r.occurred_at')} as occurred_at_us,
    r.traceparent, ${asBase64('r.digest')} as digest, ${asBase64('r.salt')} as salt, ${asBase64('r.payload')} as payload,
    r.payload_erased_seq, r.parent_id, ${asBase64('r.reference_list')} as reference_list,
    r.payload_erased_seq is not null and (r.metadata is not null or r.reference_list is not null
      or r.subject is not null and not exists (
        select from tallystick.gated_records g where g.ledger_id = r.ledger_id and g.record_id = r.record_id)) as is_half_erased,
    x.searched_references
  from tallystick.records r
  left join lateral (
    select array_agg(x.reference order by x.reference collate "C") as searched_references
    from tallystick.record_references x
    where r.reference_list is not null and x.ledger_id = r.ledger_id and x.record_id = r.record_id
      and x.first_seq = r.first_seq
    offset 0
  ) x on true
  where r.ledger_id = $1 order by r.first_seq`

export type AuditedChunk = {
  seq: number
  chunk: number
  firstRecordId: Uuid
  count: number
  /** null of one that has left, until fillReleased. */
  content: Buffer
  erasedSeq: number | null
  released: ReleasedColumn | null
}

/** The rows MUST go through fillReleased. */
export const CHUNKS_BY_SEQ = `
  select c.seq, c.chunk, c.first_record_id, c.count, ${asBase64('c.content')} as content, c.erased_seq, ${RELEASED}
  from tallystick.batch_chunks c where c.ledger_id = $1 order by c.seq, c.chunk`

/** Keys by which searches find a chunk: in hex, ascending, a space between two. */
export type AuditedChunkKeys = { seq: number; chunk: number; keys: string }

export const CHUNK_KEYS_BY_SEQ = `
  select seq, chunk, string_agg(encode(key, 'hex'), ' ' order by key) as keys
  from tallystick.batch_keys where ledger_id = $1 group by seq, chunk order by seq nulls first, chunk`

/** Records of batches, as the entries' rows say. */
export async function countItems(client: pg.ClientBase, ledgerId: Uuid): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select coalesce(sum(item_count), 0) as count from tallystick.entries where ledger_id = $1',
    [ledgerId],
  )
  return rows[0]!.count
}

/** All rows of the ledger in a table whose rows are read one by one, from elsewhere: there must be no others. */
export async function countRows(
  client: pg.ClientBase,
  table: 'record_references' | 'gated_records' | 'shared_records' | 'remote_records',
  ledgerId: Uuid,
): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*) as count from tallystick.${table} where ledger_id = $1`,
    [ledgerId],
  )
  return rows[0]!.count
}

export type AuditedDocument = {
  seq: number
  document: string
  subjectId: Uuid
  digest: Buffer
  salt: Buffer | null
  content: Buffer | null
  erasedSeq: number | null
}

export const DOCUMENTS_BY_SEQ = `
  select seq, document, subject_id, ${asBase64('digest')} as digest, ${asBase64('salt')} as salt,
    ${asBase64('content')} as content, erased_seq
  from tallystick.documents where ledger_id = $1 order by seq`

export type AuditedAgent = { seq: number; agentId: Uuid; name: string }

export const AGENTS_BY_SEQ = `
  select registered_seq as seq, agent_id, name from tallystick.agents where ledger_id = $1 order by registered_seq`

export type AuditedKey = {
  seq: number
  keyId: Uuid
  agentId: Uuid
  scopes: string[]
  expiresAtUs: string | null
}

export const KEYS_BY_SEQ = `
  select created_seq as seq, key_id, agent_id, scopes, ${microsecondsOf('expires_at')} as expires_at_us
  from tallystick.api_keys where ledger_id = $1 order by created_seq`

/** `kid` is hex, `spki` base64. */
export type AuditedSigningKey = {
  seq: number
  agentId: Uuid
  kid: string
  alg: string
  spki: string
  required: boolean
}

export const SIGNING_KEYS_BY_SEQ = `
  select registered_seq as seq, agent_id, encode(kid, 'hex') as kid, alg,
    translate(encode(spki, 'base64'), E'\\n', '') as spki, required
  from tallystick.agent_signing_keys where ledger_id = $1 order by registered_seq`

export const REVOKED_SIGNING_KEYS_BY_SEQ = `
  select revoked_seq as seq, encode(kid, 'hex') as id from tallystick.agent_signing_keys
  where ledger_id = $1 and revoked_seq is not null order by revoked_seq`

/** An agent or a key that an entry at `seq` is said to have ended. */
export type AuditedEnd = { seq: number; id: string }

export const DISABLED_AGENTS_BY_SEQ = `
  select disabled_seq as seq, agent_id as id from tallystick.agents
  where ledger_id = $1 and disabled_seq is not null order by disabled_seq, agent_id`

export const REVOKED_KEYS_BY_SEQ = `
  select revoked_seq as seq, key_id as id from tallystick.api_keys
  where ledger_id = $1 and revoked_seq is not null order by revoked_seq, key_id`

export type AuditedType = { seq: number; name: string; gated: boolean; definition: Buffer; digest: Buffer }

export const TYPES_BY_SEQ = `
  select registered_seq as seq, name, gated, definition, digest
  from tallystick.types where ledger_id = $1 order by registered_seq, name`

export type AuditedStatement = {
  seq: number
  statementId: Uuid
  leaf: Buffer
  issuer: string
  subject: string
  contentType: string
  kid: Buffer
}

export const STATEMENTS_BY_SEQ = `
  select seq, statement_id, ${asBase64('leaf')} as leaf, issuer, subject, content_type, ${asBase64('kid')} as kid
  from tallystick.statements where ledger_id = $1 order by seq`

export type AuditedErasure = { seq: number; subjectId: Uuid; document: string; documentSeq: number }

export const ERASURES_BY_SEQ = `
  select seq, subject_id, document, document_seq from tallystick.erasures where ledger_id = $1 order by seq`

/** A closure, as the entry that reopened the ledger describes it. */
export type AuditedClosure = { seq: number; knownSize: number; knownChain: Buffer }

export const CLOSURES_BY_SEQ = `
  select restored_seq as seq, known_size, known_chain
  from tallystick.ledger_closures where ledger_id = $1 and restored_seq is not null order by restored_seq`

export type AuditedRule = { seq: number; type: string | null; agentId: Uuid | null; days: number | null }

export const RULES_BY_SEQ = `
  select seq, type, agent_id, days from tallystick.retention_rules where ledger_id = $1 order by seq`

export type AuditedHold = {
  seq: number
  caseId: string
  type: string | null
  agentId: Uuid | null
  recordIds: Uuid[] | null
}

/** Records of a hold that stands: those by which it is found. */
export const HOLDS_BY_SEQ = `
  select h.seq, h.case_id, h.type, h.agent_id,
    case when h.lifted_seq is not null or h.record_ids is null then h.record_ids else (
      select array_agg(n.record_id order by n.place) from unnest(h.record_ids) with ordinality n (record_id, place)
      where exists (select from tallystick.hold_records r
        where r.ledger_id = h.ledger_id and r.record_id = n.record_id and r.seq = h.seq)
    ) end as record_ids
  from tallystick.holds h where h.ledger_id = $1 order by h.seq`

/** `hold`: seq of the entry that set it. */
export type AuditedLift = { seq: number; hold: number }

export const LIFTED_HOLDS_BY_SEQ = `
  select lifted_seq as seq, seq as hold from tallystick.holds
  where ledger_id = $1 and lifted_seq is not null order by lifted_seq, seq`

/** `is_forgotten`: without the fingerprint of its request. */
export type AuditedIdempotencyKey = { seq: number; actorId: Uuid; isForgotten: boolean }

export const IDEMPOTENCY_KEYS_BY_SEQ = `
  select seq, actor_id, fingerprint is null as is_forgotten from tallystick.idempotency_keys where ledger_id = $1 order by seq`

export type AuditedCheckpoint = { size: number; root: Buffer; chain: Buffer; note: string }

export const CHECKPOINTS_BY_SIZE = `
  select size, root, chain, ${COSIGNED_NOTE} as note from tallystick.checkpoints c where ledger_id = $1 order by size`

export type AuditedTile = { level: number; tileIndex: number; hashes: Buffer }

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
  noteKid: Buffer | null
  size: number | null
  chain: Buffer | null
  envelopeKid: Buffer | null
  closed: string | null
  /** Whether a closure waits for its acknowledgement. */
  awaitsAcknowledgement: boolean
  treeSize: number | null
  treeHashes: Buffer | null
  /** Size of the newest checkpoint. */
  checkpointSize: number | null
}

/** The rows of which a ledger has one each; null where it has none. */
export async function getAuditedLedger(client: pg.ClientBase, ledgerId: Uuid): Promise<AuditedLedger> {
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
    [ledgerId],
  )
  return rows[0]!
}

export type AuditedServerKey = {
  kid: Buffer
  use: string
  alg: string
  spki: Buffer
  compromisedAt: Date | null
}

export async function listServerKeys(client: pg.ClientBase): Promise<AuditedServerKey[]> {
  const { rows } = await client.query<AuditedServerKey>(
    'select kid, use, alg, spki, compromised_at from tallystick.server_keys order by kid',
  )
  return rows
}
