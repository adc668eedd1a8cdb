import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries } from '../../src/db/chain/append-entries.ts'
import { CHUNK_CONTENT_BYTES_MAX } from '../../src/db/limits.ts'
import { firstRecordId, recordIdAt } from '../../src/proof/statement/batch-ids.ts'
import { checkAllLedgers, checkLedger } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import {
  adminEntry,
  createTestLedger,
  leafOf,
  linkOf,
  makeBatch,
  makeEntry,
  makeIdempotency,
  outcomesOf,
  randomId,
  type TestLedger,
} from '../helpers/test-ledger.ts'
import { makeCreation, makeDocument, makeStep, makeWay } from '../helpers/test-steps.ts'

/*
 * Tries to break each invariant with SQL, with each login. Each attempt must be refused by a named constraint or
 * trigger of the schema, or with 42501 for a missing privilege.
 */

type Login = 'api' | 'worker' | 'owner'
type Refusal = { readonly constraint: string } | { readonly code: string }

const FORBIDDEN = { code: '42501' }
const refusedBy = (constraint: string): Refusal => ({ constraint })

// All tests use one database, because no attempt succeeds.
let shared: Promise<TestDatabase> | null = null
let database: TestDatabase
let clients: Record<Login, pg.Client>
let ledger: TestLedger
let other: TestLedger
let values: Record<string, unknown>

async function open(t: TestContext): Promise<void> {
  const first = shared === null
  shared ??= createTestDatabase(t)
  database = await shared
  clients = {
    api: await connect(t, database.apiUrl),
    worker: await connect(t, database.workerUrl),
    owner: await connect(t, database.ownerUrl),
  }
  if (first) await fill()
}

/**
 * Fills the ledger with these entries:
 *
 * - 0 to 2: the entries of a new ledger
 * - 3: a record
 * - 4: a batch
 * - 5: a gated record
 * - 6: another record
 * - 7 to 11: another gated record, which was VERIFIED and sent back for revision
 * - 12: an erasure that names the gated record of entry 7, but a document that does not exist
 */
async function fill(): Promise<void> {
  ledger = await createTestLedger(clients.api)
  other = await createTestLedger(clients.api)
  const record = makeEntry(ledger, { idempotency: makeIdempotency('k', 'request') })
  const batch = makeBatch(ledger, 2)
  const created = makeCreation(ledger)
  const last = makeEntry(ledger)
  const way = makeWay(ledger, 'VERIFIED', { performerId: null })
  const gated = way[0]!.subjectId
  const reason = makeDocument('reason', gated)
  const revision = makeStep(ledger, way[3]!, 'revision-requested', { document: reason })
  const erased = adminEntry(ledger, 'payload-erased', gated, {
    document: 'reason',
    documentSeq: 10,
  })
  for (const entry of [record, batch, created, last, ...way, revision, erased]) {
    const client = entry.actorId ? clients.api : clients.worker
    assert.deepEqual(outcomesOf(await appendEntries(client, [entry])), ['appended'])
  }
  const { rows } = await clients.owner.query(
    'select * from tallystick.entries where ledger_id = $1 order by seq',
    [ledger.id],
  )
  const envelope = randomBytes(100)
  const newBatch = firstRecordId(randomId())
  values = {
    ledger: ledger.id,
    other: other.id,
    stranger: randomId(),
    record: record.subjectId,
    lastRecord: last.subjectId,
    batch: batch.subjectId,
    firstOfBatch: batch.chunks[0]!.firstRecordId,
    newBatch,
    newBatchSecond: recordIdAt(newBatch, 64),
    otherBatchSecond: recordIdAt(firstRecordId(randomId()), 64),
    created: created.subjectId,
    gated,
    completion: way[2]!.document!.subjectId,
    agent: ledger.agentId,
    random: randomBytes(32),
    salt: randomBytes(16),
    kid: ledger.kid,
    envelope,
    leaf: leafOf(envelope),
    next: linkOf(rows[12].chain, leafOf(envelope)),
    skipped: linkOf(rows[11].chain, leafOf(envelope)),
    chainAt3: rows[2].chain,
    chainAt5: rows[4].chain,
    chainAt13: rows[12].chain,
  }
  await run('owner', PEER)
  for (const insert of FROM_PEER) await run('owner', insert)
  await run('worker', CHECKPOINT('5', '$chainAt5'))
  await run('worker', COSIGNATURE('5'))
  await run('worker', 'insert into tallystick.tree_tiles values ($ledger, 0, 0, $random || $random)')
  await run('worker', 'insert into tallystick.tree_frontiers values ($ledger, 5, $random || $random)')
}

const ENTRY = (seq: string, chain: string, changes: Record<string, string> = {}) => {
  const columns = {
    ledger_id: '$ledger',
    seq,
    kind: "'agent-registered'",
    subject_id: '$stranger',
    recorded_at: 'now()',
    leaf: '$leaf',
    chain,
    envelope: '$envelope',
    ...changes,
  }
  return `insert into tallystick.entries (${Object.keys(columns)}) values (${Object.values(columns)})`
}

const RECORD = (changes: Record<string, string> = {}) => {
  const columns = {
    ledger_id: '$ledger',
    record_id: '$stranger',
    type: "'generic/1'",
    first_seq: '3',
    actor_id: '$agent',
    digest: '$random',
    salt: '$salt',
    payload: "'{}'",
    ...changes,
  }
  return `insert into tallystick.records (${Object.keys(columns)}) values (${Object.values(columns)})`
}

const NOTARIZED = (changes: Record<string, string>, entry: Record<string, string> = {}) =>
  `with entry as (${ENTRY('13', '$next', { kind: "'record-notarized'", version: '1', ...entry })})
   ${RECORD({ first_seq: '13', ...changes })}`

const BATCH = (count: string, ...chunks: Record<string, string>[]) =>
  `with entry as (${ENTRY('13', '$next', { kind: "'batch-notarized'", version: '1', item_count: count })})
   ${CHUNKS(...chunks)}`

const TOO_LARGE = `repeat('x', ${CHUNK_CONTENT_BYTES_MAX + 1})::bytea`

const CHUNKS = (...chunks: Record<string, string>[]) => {
  const rows = chunks.map((changes) => ({
    ledger_id: '$ledger',
    seq: '13',
    chunk: '0',
    first_record_id: '$newBatch',
    count: '1',
    content: '$random',
    erased_seq: 'null',
    ...changes,
  }))
  return `insert into tallystick.batch_chunks (${Object.keys(rows[0]!)})
    values ${rows.map((row) => `(${Object.values(row)})`)}`
}

/**
 * Takes a step of the gated record that was sent back and is ACTIVE again. The statement also inserts the step's entry.
 */
const STEP = (entry: Record<string, string>, change: string) =>
  `with entry as (${ENTRY('13', '$next', { kind: "'record-cancelled'", subject_id: '$gated', version: '6', prev_seq: '11', ...entry })})
   ${UPDATE('gated_records', change)} and record_id = $gated`
const CANCELLED = "state = 'CANCELLED', version = 6, last_seq = 13"

const CREATION = (entry: Record<string, string>, gated: Record<string, string>) => {
  const columns = {
    ledger_id: '$ledger',
    record_id: '$stranger',
    first_seq: '13',
    principal_id: '$agent',
    gate: "'principal'",
    max_revisions: '1',
    state: "'CREATED'",
    version: '1',
    last_seq: '13',
    ...gated,
  }
  return `with entry as (${ENTRY('13', '$next', { kind: "'record-created'", version: '1', ...entry })}),
     record as (${RECORD({ first_seq: '13' })})
   insert into tallystick.gated_records (${Object.keys(columns)}) values (${Object.values(columns)})`
}

const ERASURE = (documentSeq: string, document: string, seq: string) =>
  `insert into tallystick.erasures (ledger_id, subject_id, document, document_seq, seq)
   values ($ledger, $gated, ${document}, ${documentSeq}, ${seq})`

const DOCUMENT = (changes: Record<string, string>) => {
  const columns = {
    ledger_id: '$ledger',
    seq: '10',
    document: "'reason'",
    subject_id: '$gated',
    digest: '$random',
    salt: '$salt',
    content: "'{}'",
    ...changes,
  }
  return `insert into tallystick.documents (${Object.keys(columns)}) values (${Object.values(columns)})`
}

/**
 * Inserts a checkpoint. `note`: the root that the note claims in its third line. It is the tree's root if the note is
 * valid.
 */
const CHECKPOINT = (size: string, chain: string, note = '$random::bytea', noteSize = size) =>
  `insert into tallystick.checkpoints (ledger_id, size, root, chain, note)
   select $ledger, ${size}, $random, ${chain}, format(E'%s\\n%s\\n%s\\n', origin, ${noteSize}, encode(${note}, 'base64'))
   from tallystick.ledgers where ledger_id = $ledger`

const COSIGNATURE = (size: string, line = '— w1 AAAA\\n') =>
  `insert into tallystick.cosignatures (ledger_id, size, witness_kid, line) values ($ledger, ${size}, $random, E'${line}')`

const UPDATE = (table: string, change: string) =>
  `update tallystick.${table} set ${change} where ledger_id = $ledger`

/** Inserts a peer whose id is the other ledger's id. */
const PEER = `insert into tallystick.peers (ledger_id, peer_id, name, role, state, created_by, token_hash, expires_at, inviter,
    remote_ledger_id, handshake, added_seq)
  values ($ledger, $other, 'peer', 'invited', 'active', $agent, $random, now(), '{}', $other, $random, 1)`
const RECEIVED = (seq: string, remoteSeq: string, leaf = '$leaf') =>
  `insert into tallystick.received_entries (ledger_id, seq, peer_id, remote_seq, kind, leaf, envelope)
   values ($ledger, ${seq}, $other, ${remoteSeq}, 'record-shared', ${leaf}, $envelope)`
/** Rows received from a peer: an entry, its key, and a fork. */
const FROM_PEER = [
  RECEIVED('12', '7'),
  `insert into tallystick.peer_keys (ledger_id, peer_id, kid, alg, spki) values ($ledger, $other, $kid, 'EdDSA', $random)`,
  `insert into tallystick.peer_forks (ledger_id, peer_id, leaf, remote_seq, held_leaf, envelope)
   values ($ledger, $other, $random, 7, $leaf, $envelope)`,
  `insert into tallystick.peer_witnesses (ledger_id, peer_id, seen_size, seen_root, seen_note, fork_note, fork_held)
   values ($ledger, $other, 7, $leaf, 'seen', 'other', 'seen')`,
]

/** Attempts of the owner's login. They fail as long as the triggers are enabled. */
const OWNER_ATTEMPTS: Record<string, [Refusal, string][]> = {
  'change, delete or truncate entries': [
    [refusedBy('entries_append_only'), UPDATE('entries', 'envelope = $envelope, leaf = $leaf')],
    [refusedBy('entries_append_only'), UPDATE('entries', 'recorded_at = now()')],
    [refusedBy('entries_append_only'), UPDATE('entries', 'envelope = null')],
    [
      refusedBy('entries_append_only'),
      'delete from tallystick.entries where ledger_id = $ledger and seq = 6',
    ],
    [refusedBy('entries_append_only'), 'truncate tallystick.entries'],
    [
      refusedBy('entries_append_only'),
      `insert into tallystick.entries select * from tallystick.entries where ledger_id = $ledger and seq = 3
       on conflict (ledger_id, seq) do update set envelope = excluded.envelope`,
    ],
    [
      refusedBy('entries_append_only'),
      `merge into tallystick.entries e using (select 3 as seq) s on e.ledger_id = $ledger and e.seq = s.seq
       when matched then delete`,
    ],
  ],
  'insert an entry that does not continue the chain': [
    [refusedBy('entries_extend_chain'), ENTRY('14', '$next')],
    [refusedBy('entries_extend_chain'), ENTRY('13', '$random')],
    [refusedBy('entries_extend_chain'), ENTRY('13', '$skipped')],
    [refusedBy('entries_extend_chain'), ENTRY('1', '$next', { ledger_id: '$stranger' })],
    [refusedBy('entries_pkey'), ENTRY('12', '$skipped')],
    [refusedBy('entries_leaf'), ENTRY('13', '$next', { leaf: '$random' })],
    [refusedBy('entries_leaf'), ENTRY('13', '$next', { leaf: 'sha256($envelope)' })],
    [refusedBy('entries_begin'), ENTRY('13', '$next', { kind: "'ledger-created'", subject_id: '$ledger' })],
    [refusedBy('entries_begin'), ENTRY('0', '$next', { ledger_id: '$stranger' })],
    [refusedBy('entries_check'), ENTRY('13', '$next', { prev_seq: '13', version: '2' })],
    [refusedBy('entries_envelope_check'), ENTRY('13', '$next', { envelope: "repeat('x', 32769)::bytea" })],
  ],
  'change or remove what came from a peer': [
    [refusedBy('received_entries_append_only'), UPDATE('received_entries', 'envelope = $random')],
    [refusedBy('received_entries_append_only'), UPDATE('received_entries', 'remote_seq = 8')],
    [
      refusedBy('received_entries_append_only'),
      'delete from tallystick.received_entries where ledger_id = $ledger',
    ],
    [refusedBy('received_entries_append_only'), 'truncate tallystick.received_entries cascade'],
    [refusedBy('received_entries_leaf'), RECEIVED('13', '8', '$random')],
    [refusedBy('received_entries_once'), RECEIVED('13', '7')],
    [refusedBy('received_entries_pkey'), RECEIVED('12', '8')],
    [refusedBy('peer_keys_append_only'), 'delete from tallystick.peer_keys where ledger_id = $ledger'],
    [
      refusedBy('peer_keys_current'),
      `insert into tallystick.peer_keys (ledger_id, peer_id, kid, alg, spki)
       values ($ledger, $other, $random, 'EdDSA', $random)`,
    ],
    [refusedBy('peer_forks_append_only'), UPDATE('peer_forks', 'held_leaf = $random')],
    [refusedBy('peer_forks_append_only'), 'delete from tallystick.peer_forks where ledger_id = $ledger'],
    [refusedBy('peer_witnesses_grow'), UPDATE('peer_witnesses', 'seen_size = 6')],
    [refusedBy('peer_witnesses_grow'), UPDATE('peer_witnesses', 'seen_root = $random')],
    [
      refusedBy('peer_witnesses_grow'),
      UPDATE('peer_witnesses', 'seen_size = null, seen_root = null, seen_note = null'),
    ],
    [refusedBy('peer_witnesses_grow'), UPDATE('peer_witnesses', "fork_note = 'none'")],
    [
      refusedBy('peer_witnesses_append_only'),
      'delete from tallystick.peer_witnesses where ledger_id = $ledger',
    ],
  ],
  'have two peers for one other ledger': [
    [refusedBy('peers_remote'), PEER.replace('values ($ledger, $other', 'values ($ledger, $stranger')],
    [refusedBy('peers_known'), UPDATE('peers', 'remote_ledger_id = null')],
    [refusedBy('peers_added'), UPDATE('peers', 'handshake = null')],
  ],
  'move, reset, replace or remove a chain head': [
    [refusedBy('chain_heads_forward_only'), UPDATE('chain_heads', 'size = 5, chain = $chainAt5')],
    [refusedBy('chain_heads_forward_only'), UPDATE('chain_heads', 'size = 14')],
    [refusedBy('chain_heads_forward_only'), UPDATE('chain_heads', 'size = 14, chain = $next')],
    [refusedBy('chain_heads_forward_only'), UPDATE('chain_heads', 'chain = $random')],
    [refusedBy('chain_heads_forward_only'), UPDATE('chain_heads', 'envelope_kid = $random')],
    [refusedBy('chain_heads_forward_only'), UPDATE('chain_heads', 'ledger_id = $stranger')],
    [refusedBy('chain_heads_forward_only'), UPDATE('chain_heads', 'size = 0')],
    [refusedBy('chain_heads_forward_only'), 'delete from tallystick.chain_heads where ledger_id = $ledger'],
    [refusedBy('chain_heads_append_only'), 'truncate tallystick.chain_heads'],
    [
      refusedBy('chain_heads_forward_only'),
      'insert into tallystick.chain_heads values ($stranger, 5, $chainAt5, $kid)',
    ],
    [
      refusedBy('chain_heads_check'),
      'insert into tallystick.chain_heads values ($stranger, 0, $random, $kid)',
    ],
  ],
  'change what a record is, or its documents': [
    ...[
      'digest = $random',
      "type = 'other/1'",
      'actor_id = $stranger',
      'record_id = $stranger',
      'first_seq = 2',
    ]
      .concat(['on_behalf_of = $agent', 'occurred_at = now()', "traceparent = '00'"])
      .concat(["payload = '[]'", 'salt = $salt', "metadata = '{}'"])
      .concat(['payload = null, salt = null, payload_erased_seq = 6', 'payload_erased_seq = 6'])
      .map((change): [Refusal, string] => [
        refusedBy('records_change'),
        `${UPDATE('records', change)} and record_id = $record`,
      ]),
    [refusedBy('records_check1'), UPDATE('records', 'payload_erased_seq = 3')],
    [refusedBy('records_payload_or_erased'), UPDATE('records', 'payload = null')],
    [refusedBy('records_payload_or_erased'), UPDATE('records', 'payload = null, salt = null')],
    [refusedBy('records_append_only'), 'delete from tallystick.records where ledger_id = $ledger'],
    [refusedBy('records_append_only'), 'truncate tallystick.records'],
  ],
  'move a gated record where no transition and no entry leads': [
    ...[
      "state = 'ACTIVE'", // No step belongs to this change.
      "state = 'ACTIVE', version = 2", // No entry belongs to this change.
      "state = 'ACTIVE', version = 2, last_seq = 8", // Entry 8 is a step of another record.
      "state = 'ACTIVE', performer_id = $agent", // No step belongs to this change, and `$agent` is not the performer.
      'version = 2',
      'last_seq = 6',
    ].map((change): [Refusal, string] => [
      refusedBy(change.includes('$agent') ? 'gated_records_parties' : 'gated_records_change'),
      `${UPDATE('gated_records', change)} and record_id = $created`,
    ]),
    ...[
      "state = 'VERIFIED', version = 4, last_seq = 10", // The version goes backwards.
      "state = 'VERIFIED'",
      'version = 6',
      CANCELLED, // No entry belongs to this change.
    ].map((change): [Refusal, string] => [
      refusedBy('gated_records_change'),
      `${UPDATE('gated_records', change)} and record_id = $gated`,
    ]),
    ...(
      [
        [{ subject_id: '$created' }, CANCELLED], // The entry names another record.
        [{ version: '7' }, CANCELLED], // The version is not the next one.
        [{ version: '7' }, "state = 'CANCELLED', version = 7, last_seq = 13"],
        [{ prev_seq: '9' }, CANCELLED], // The entry does not follow the record's last entry.
        [{}, "state = 'EXPIRED', version = 6, last_seq = 13"], // The entry leads to another state.
        [{ kind: "'verdict-rendered'" }, "state = 'ACCEPTED', version = 6, last_seq = 13"], // ACTIVE has no such step.
        [{}, `${CANCELLED}, performer_id = $other`],
        [{}, `${CANCELLED}, performer_id = null`],
        [{}, `${CANCELLED}, revisions = 0`],
      ] as const
    ).map(([entry, change]): [Refusal, string] => [refusedBy('gated_records_change'), STEP(entry, change)]),
    // The step copies an old step. Each version has only one step.
    [refusedBy('entries_by_record'), STEP({ version: '4', prev_seq: '9' }, CANCELLED)],
  ],
  'change the terms of a gated record, exchange its performer or count its revisions anew': [
    ...[
      'first_seq = 4',
      'principal_id = $other',
      'performer_id = $other',
      'performer_id = null',
      "gate = 'auto'",
      'deadline = now()',
      'max_revisions = 9',
      "tolerances = '{}'",
      'revisions = 0',
      'record_id = $stranger',
      'ledger_id = $other',
    ].map((change): [Refusal, string] => [
      refusedBy(change === 'performer_id = null' ? 'gated_records_performer' : 'gated_records_change'),
      `${UPDATE('gated_records', change)} and record_id = $gated`,
    ]),
    [refusedBy('gated_records_revisions'), UPDATE('gated_records', 'revisions = 2')],
    [refusedBy('gated_records_parties'), UPDATE('gated_records', 'performer_id = principal_id')],
    [
      refusedBy('gated_records_append_only'),
      'delete from tallystick.gated_records where ledger_id = $ledger',
    ],
    [refusedBy('gated_records_append_only'), 'truncate tallystick.gated_records'],
  ],
  'insert a gated record that no entry creates': [
    [refusedBy('gated_records_begin'), CREATION({}, { record_id: '$record' })], // The entry names another record.
    [refusedBy('gated_records_begin'), CREATION({ kind: "'record-notarized'" }, {})],
    [refusedBy('gated_records_begin'), CREATION({}, { first_seq: '3' })],
    [refusedBy('gated_records_begin'), CREATION({}, { principal_id: '$other' })],
    [refusedBy('gated_records_begin'), CREATION({}, { state: "'CANCELLED'" })],
    [refusedBy('gated_records_begin'), CREATION({}, { version: '2' })],
    [refusedBy('gated_records_begin'), CREATION({}, { last_seq: '14' })],
    [refusedBy('gated_records_begin'), CREATION({}, { revisions: '1' })],
    [refusedBy('gated_records_performer'), CREATION({}, { state: "'ACTIVE'" })],
    [refusedBy('gated_records_deadline_check'), CREATION({}, { deadline: "'infinity'" })],
    [refusedBy('gated_records_deadline_check'), CREATION({}, { deadline: "'-infinity'" })],
    [refusedBy('gated_records_parties'), CREATION({}, { performer_id: '$agent' })],
    [refusedBy('gated_records_pkey'), CREATION({}, { record_id: '$gated', first_seq: '7', last_seq: '7' })],
  ],
  'change, remove or add the document of a step': [
    ...['digest = $random', 'subject_id = $stranger', 'seq = 10', "content = '[]'", 'salt = $salt']
      .concat(['ledger_id = $other', "document = 'evidence'"])
      .concat(['content = null, salt = null, erased_seq = 13']) // Entry 13 does not exist.
      .map((change): [Refusal, string] => [
        refusedBy('documents_keep'),
        `${UPDATE('documents', change)} and seq = 11`,
      ]),
    ...['content = null', 'content = null, salt = null'].map((change): [Refusal, string] => [
      refusedBy('documents_keep'),
      `${UPDATE('documents', change)} and seq = 11`,
    ]),
    [refusedBy('documents_content_or_erased'), DOCUMENT({ seq: '11', salt: 'null' })],
    // The erasure names another subject, or the document of another entry.
    ...['9', '11'].map((seq): [Refusal, string] => [
      refusedBy('documents_keep'),
      `${UPDATE('documents', 'content = null, salt = null, erased_seq = 12')} and seq = ${seq}`,
    ]),
    [refusedBy('documents_append_only'), 'delete from tallystick.documents where ledger_id = $ledger'],
    [refusedBy('documents_append_only'), 'truncate tallystick.documents'],
    [refusedBy('documents_keep'), DOCUMENT({ seq: '13' })], // Entry 13 does not exist.
    [refusedBy('documents_keep'), DOCUMENT({ seq: '3' })], // Entry 3 is not a step.
    [refusedBy('documents_keep'), DOCUMENT({ seq: '8' })], // Entry 8 is a step that has no document.
    [refusedBy('documents_keep'), DOCUMENT({ seq: '11', subject_id: '$created' })],
    [refusedBy('documents_keep'), DOCUMENT({ seq: '11', document: "'evidence'" })],
    [refusedBy('documents_keep'), DOCUMENT({ seq: '9', document: "'values'", subject_id: '$completion' })],
    [refusedBy('documents_pkey'), DOCUMENT({ seq: '11' })], // Entry 11 already has its document.
    [refusedBy('documents_document_check'), DOCUMENT({ seq: '11', document: "'payload'" })],
  ],
  'say of an erasure what can’t be': [
    [refusedBy('erasures_document_check'), UPDATE('erasures', "document = 'digest'")],
    [refusedBy('erasures_check'), UPDATE('erasures', 'document_seq = seq')],
    [refusedBy('erasures_by_seq'), ERASURE('11', "'evidence'", '12')],
    [refusedBy('erasures_pkey'), ERASURE('10', "'reason'", '14')],
  ],
  'insert a record that no entry explains': [
    [refusedBy('records_begin'), RECORD({ first_seq: '13' })], // Entry 13 does not exist.
    [refusedBy('records_begin'), RECORD({ first_seq: '8' })], // Entry 8 is a step.
    [refusedBy('records_begin'), RECORD({ first_seq: '1' })], // Entry 1 does not belong to a record.
    [refusedBy('records_begin'), RECORD({ first_seq: '4' })], // Entry 4 is a batch.
    [refusedBy('records_begin'), RECORD({ first_seq: '4', record_id: '$batch' })],
    [refusedBy('records_begin'), NOTARIZED({ payload: 'null', salt: 'null', payload_erased_seq: '14' })],
    [refusedBy('records_by_seq'), RECORD()],
    [refusedBy('records_pkey'), NOTARIZED({ record_id: '$record' })],
    [refusedBy('records_ids'), NOTARIZED({ record_id: '$newBatch' }, { subject_id: '$newBatch' })],
  ],
  'insert a chunk that no batch explains, or not all of them': [
    [refusedBy('batch_chunks_begin'), CHUNKS({})], // The entry does not exist.
    [refusedBy('batch_chunks_begin'), CHUNKS({ seq: '3' })], // Entry 3 is not a batch.
    [refusedBy('batch_chunks_begin'), CHUNKS({ seq: '4', chunk: '1', first_record_id: '$newBatchSecond' })], // The batch is complete.
    [refusedBy('batch_chunks_begin'), BATCH('2', {})],
    [refusedBy('batch_chunks_begin'), BATCH('1', { count: '2' })],
    [refusedBy('batch_chunks_begin'), BATCH('1', { erased_seq: '14' })],
    [refusedBy('batch_chunks_begin'), BATCH('1', { chunk: '1', first_record_id: '$newBatchSecond' })],
    [refusedBy('batch_chunks_begin'), BATCH('2', {}, { chunk: '1', first_record_id: '$newBatchSecond' })], // The first chunk is not full.
    [
      refusedBy('batch_chunks_begin'),
      BATCH('65', { count: '64' }, { chunk: '1', first_record_id: '$otherBatchSecond' }),
    ],
    [refusedBy('batch_chunks_ids'), BATCH('1', { first_record_id: '$newBatchSecond' })],
    [refusedBy('batch_chunks_by_record'), BATCH('1', { first_record_id: '$firstOfBatch' })],
    [refusedBy('batch_chunks_pkey'), CHUNKS({ seq: '4' })],
    [refusedBy('batch_chunks_count_check'), BATCH('65', { count: '65' })],
    [refusedBy('batch_chunks_check'), BATCH('1', { erased_seq: '13' })],
    [refusedBy('batch_chunks_content_check'), BATCH('1', { content: "''" })],
    [refusedBy('batch_chunks_content_check'), BATCH('1', { content: TOO_LARGE })],
    [refusedBy('entries_batch'), ENTRY('13', '$next', { kind: "'batch-notarized'" })],
    [refusedBy('entries_batch'), ENTRY('13', '$next', { item_count: '1' })],
    [
      refusedBy('entries_item_count_check'),
      ENTRY('13', '$next', { kind: "'batch-notarized'", item_count: '2049' }),
    ],
    [refusedBy('batch_keys_pkey'), 'insert into tallystick.batch_keys select * from tallystick.batch_keys'],
  ],
  'change or remove a chunk': [
    ...[
      'seq = 3',
      'chunk = 1',
      'count = 1',
      'first_record_id = $newBatch',
      'content = $random',
      'content = $random, erased_seq = 5', // Entry 5 is not an erasure.
      'content = $random, erased_seq = 12', // Entry 12 erases another record.
      'erased_seq = 12',
    ].map((change): [Refusal, string] => [refusedBy('batch_chunks_change'), UPDATE('batch_chunks', change)]),
    [refusedBy('batch_chunks_append_only'), 'delete from tallystick.batch_chunks where ledger_id = $ledger'],
    [refusedBy('batch_chunks_append_only'), 'truncate tallystick.batch_chunks'],
  ],
  'change or forget an idempotency key': [
    [refusedBy('idempotency_keys_append_only'), UPDATE('idempotency_keys', 'seq = 4')],
    [refusedBy('idempotency_keys_append_only'), UPDATE('idempotency_keys', 'fingerprint = $random')],
    [refusedBy('idempotency_keys_append_only'), 'delete from tallystick.idempotency_keys'],
    [refusedBy('idempotency_keys_append_only'), 'truncate tallystick.idempotency_keys'],
    [
      refusedBy('idempotency_keys_pkey'),
      'insert into tallystick.idempotency_keys select * from tallystick.idempotency_keys',
    ],
  ],
  'change or remove a checkpoint': [
    [refusedBy('checkpoints_append_only'), UPDATE('checkpoints', "note = 'another'")],
    [refusedBy('checkpoints_append_only'), 'delete from tallystick.checkpoints where ledger_id = $ledger'],
    [refusedBy('checkpoints_append_only'), 'truncate tallystick.checkpoints cascade'],
  ],
  'change, remove or add a cosignature that belongs to nothing': [
    [refusedBy('cosignatures_append_only'), UPDATE('cosignatures', "line = E'— another\\n'")],
    [refusedBy('cosignatures_append_only'), 'delete from tallystick.cosignatures where ledger_id = $ledger'],
    [refusedBy('cosignatures_append_only'), 'truncate tallystick.cosignatures'],
    [refusedBy('cosignatures_ledger_id_size_fkey'), COSIGNATURE('6')],
    [
      refusedBy('cosignatures_once_a_peer'),
      `insert into tallystick.cosignatures (ledger_id, size, witness_kid, peer_id, line)
       select $ledger, 5, sha256(n::text::bytea), $ledger, E'— w1 AAAA\\n' from generate_series(1, 2) n`,
    ],
    [refusedBy('cosignatures_line_check'), COSIGNATURE('5', '— a\\n— b\\n')],
    [refusedBy('cosignatures_line_check'), COSIGNATURE('5', '— a')],
    [refusedBy('cosignatures_line_check'), COSIGNATURE('5', `— ${'a'.repeat(600)}\\n`)],
  ],
}

/**
 * Attempts with the worker's login, which publishes checkpoints and extends the tree. These attempts fail for the owner
 * too.
 */
const TREE_ATTEMPTS: Record<string, [Refusal, string][]> = {
  'publish a checkpoint that contradicts the chain or an earlier one': [
    [refusedBy('checkpoints_agree'), CHECKPOINT('13', '$random')],
    [refusedBy('checkpoints_agree'), CHECKPOINT('13', '$chainAt5')],
    [refusedBy('checkpoints_agree'), CHECKPOINT('14', '$next')],
    [refusedBy('checkpoints_agree'), CHECKPOINT('3', '$chainAt3')],
    [refusedBy('checkpoints_agree'), CHECKPOINT('5', '$chainAt5')],
    [refusedBy('checkpoints_agree'), CHECKPOINT('13', '$chainAt13', '$leaf::bytea')],
    [refusedBy('checkpoints_agree'), CHECKPOINT('13', '$chainAt13', '$random::bytea', '12')],
  ],
  'shrink or change the stored tree': [
    [refusedBy('tree_tiles_grow'), UPDATE('tree_tiles', 'hashes = $random')],
    [refusedBy('tree_tiles_grow'), UPDATE('tree_tiles', 'hashes = sha256($random) || $random || $random')],
    [refusedBy('tree_tiles_grow'), UPDATE('tree_tiles', 'tile_index = 1')],
    [refusedBy('tree_tiles_grow'), UPDATE('tree_tiles', 'ledger_id = $other')],
    [refusedBy('tree_tiles_hashes_check'), UPDATE('tree_tiles', "hashes = hashes || '\\x00'::bytea")],
    [refusedBy('tree_frontiers_grow'), UPDATE('tree_frontiers', 'size = 4')],
    [refusedBy('tree_frontiers_grow'), UPDATE('tree_frontiers', 'hashes = $random')],
    [refusedBy('tree_frontiers_grow'), UPDATE('tree_frontiers', 'size = 9, ledger_id = $other')],
  ],
}

/** Attempts with the stolen login of an api or worker pod. The login lacks the needed privilege. */
const POD_ATTEMPTS: Record<string, string[]> = {
  'write into the chain past append_entries': [
    ENTRY('13', '$next'),
    UPDATE('entries', 'recorded_at = now()'),
    'delete from tallystick.entries',
    'truncate tallystick.entries',
    UPDATE('chain_heads', 'size = size + 1'),
    'insert into tallystick.chain_heads values ($stranger, 0, $random, $kid)',
    'delete from tallystick.chain_heads',
    'select from tallystick.chain_heads for update',
  ],
  'write records, keys, agents or ledgers': [
    RECORD(),
    UPDATE('records', "metadata = '{}'"),
    'delete from tallystick.records',
    BATCH('1', {}),
    CHUNKS({ seq: '4' }),
    UPDATE('batch_chunks', 'content = $random, erased_seq = 12'),
    'delete from tallystick.batch_chunks',
    'truncate tallystick.batch_chunks',
    'select from tallystick.batch_chunks for update',
    'insert into tallystick.batch_keys select * from tallystick.batch_keys',
    UPDATE('batch_keys', 'chunk = 1'),
    'delete from tallystick.batch_keys',
    'truncate tallystick.batch_keys',
    CREATION({}, {}),
    'insert into tallystick.gated_records (ledger_id) values ($ledger)',
    UPDATE('gated_records', "state = 'ACCEPTED'"),
    UPDATE('gated_records', 'performer_id = $other'),
    'delete from tallystick.gated_records',
    'truncate tallystick.gated_records',
    'insert into tallystick.waiting_completions values ($ledger, 9, $other)',
    'delete from tallystick.waiting_completions',
    UPDATE('waiting_completions', 'record_id = $other'),
    'insert into tallystick.open_deadlines values ($ledger, $other, now())',
    'delete from tallystick.open_deadlines',
    UPDATE('open_deadlines', 'deadline = now()'),
    DOCUMENT({}),
    UPDATE('documents', 'content = null, salt = null, erased_seq = 12'),
    'delete from tallystick.documents',
    'truncate tallystick.documents',
    ERASURE('11', "'evidence'", '14'),
    UPDATE('erasures', 'erased_at = now()'),
    'delete from tallystick.erasures',
    'insert into tallystick.retention_rules values ($ledger, 5, null, null, 1)',
    'delete from tallystick.retention_rules',
    "insert into tallystick.holds values ($ledger, 5, 'c', null, null, null)",
    UPDATE('holds', 'lifted_seq = 9'),
    'delete from tallystick.holds',
    'insert into tallystick.hold_records values ($ledger, $other, 5)',
    UPDATE('hold_records', 'seq = 9'),
    'delete from tallystick.hold_records',
    'insert into tallystick.retention_sweeps values ($ledger, 5)',
    'delete from tallystick.retention_sweeps',
    UPDATE('api_keys', "scopes = '{keys:manage}'"),
    'insert into tallystick.api_keys select * from tallystick.api_keys',
    'delete from tallystick.agents',
    'insert into tallystick.agent_signing_keys select * from tallystick.agent_signing_keys',
    UPDATE('agent_signing_keys', 'required = false'),
    'delete from tallystick.agent_signing_keys',
    UPDATE('ledgers', "name = 'mine'"),
    UPDATE('ledgers', 'note_kid = $random'),
    'insert into tallystick.idempotency_keys select * from tallystick.idempotency_keys',
    "insert into tallystick.record_transitions values ('CREATED', 'verdict-rendered', 'ACCEPTED')",
    "insert into tallystick.entry_kinds values ('mine', true, false)",
    'update tallystick.entry_kinds set worker_only = false',
    "insert into tallystick.server_keys (kid, use, alg, spki) values ($random, 'note', 'EdDSA', '')",
    'delete from tallystick.envelope_key_secrets',
    'delete from tallystick.schema_migrations',
  ],
  'say that a peer is there, what came from it, or with whom something is shared': [
    PEER,
    UPDATE('peers', "state = 'active'"),
    'delete from tallystick.peers',
    ...FROM_PEER,
    UPDATE('peer_keys', 'until_seq = 5'),
    UPDATE('received_entries', 'remote_seq = 8'),
    'truncate tallystick.received_entries',
    'insert into tallystick.received_documents select * from tallystick.received_documents',
    UPDATE('received_documents', 'content = null, salt = null, erased_seq = 13'),
    'insert into tallystick.received_types select * from tallystick.received_types',
    'insert into tallystick.remote_records select * from tallystick.remote_records',
    UPDATE('remote_records', "state = 'ACCEPTED'"),
    'insert into tallystick.shared_records select * from tallystick.shared_records',
    'delete from tallystick.shared_records',
    'insert into tallystick.offers select * from tallystick.offers',
    UPDATE('offers', "state = 'taken'"),
    'insert into tallystick.ledger_rotations select * from tallystick.ledger_rotations',
    'delete from tallystick.peer_receipts',
    'delete from tallystick.peer_nonces',
    'select * from tallystick.peer_inboxes for update',
  ],
  'unmake the guards': [
    'alter table tallystick.entries disable trigger all',
    'alter table tallystick.entries disable trigger entries_append_only',
    'drop trigger entries_append_only on tallystick.entries',
    'alter table tallystick.entries drop constraint entries_leaf',
    'drop table tallystick.entries cascade',
    'create trigger mine before insert on tallystick.entries for each row execute function tallystick.refuse_change()',
    'create rule mine as on insert to tallystick.entries do instead nothing',
    'alter function tallystick.append_entries security invoker',
    'drop function tallystick.append_entries',
    'create or replace function tallystick.chain_link(previous bytea, leaf bytea) returns bytea language sql as $$ select leaf $$',
    'drop schema tallystick cascade',
    'set session_replication_role = replica',
    'lock table tallystick.entries in access exclusive mode',
  ],
  'become somebody else': [
    'set role tallystick_owner',
    'set session authorization tallystick_owner',
    'set role postgres',
    'create role mine superuser',
    'alter role current_user superuser',
    'alter role current_user createrole',
    'grant tallystick_owner to current_user',
    'set role pg_write_all_data',
  ],
  'call what only append_entries calls': [
    "select tallystick.append_details('{}', '{}', '{}', '{}', '{}', '{}')",
    `select tallystick.write_entries(false, ${Array(56).fill("'{}'").join(', ')})`,
    "select tallystick.append_federation('{}', '{}', '{}', '{}', '{}', '{}', '{}')",
    "select tallystick.append_statements('{}', '{}', '{}', '{}', '{}', '{}', '{}')",
    "select tallystick.append_received('{}', '{}', '{}', '{}', '{}', '{}')",
    "select tallystick.append_keeping('{}', '{}', '{}', '{}', '{}')",
    "select tallystick.refuse_kept('{}', '{}', '{}', '{}', '{}')",
    'select tallystick.gated_records_begin()',
    'select tallystick.chain_link($random, $random)',
    'select tallystick.chain_step($random, $random, $random)',
    'select tallystick.chain_extend(leaf, chain) from tallystick.entries',
  ],
  'make objects that the schema or others would find': [
    'create table tallystick.mine ()',
    'create function tallystick.mine() returns int language sql as $$ select 1 $$',
    'create view tallystick.mine as select 1',
    'create schema mine',
    'create table public.mine ()',
    'create extension dblink',
    'create cast (text as uuid) with inout',
  ],
  'reach out of the database': [
    "copy tallystick.entries to program 'cat'",
    "copy tallystick.entries to '/tmp/entries'",
    "select pg_read_file('/etc/passwd')",
    "select lo_import('/etc/passwd')",
    'select * from pg_authid',
  ],
}

const API_ATTEMPTS: Record<string, string[]> = {
  'say that a completion is being verified': [
    UPDATE('waiting_completions', 'verification_job = $other'),
    'select from tallystick.gated_records for update',
  ],
  'take a document away': [
    'select tallystick.erase_documents($ledger, array[12::int8], null, null, null, null, null, null)',
  ],
  'see or make jobs': [
    'select * from tallystick_jobs.job',
    "insert into tallystick_jobs.job (name) values ('audit')",
    'delete from tallystick_jobs.queue',
    "select tallystick_jobs.create_queue('mine', '{}')",
  ],
  'say what audits found, or make a fault go away': [
    'insert into tallystick.audits (ledger_id, audit_id) values ($ledger, $other)',
    'update tallystick.audits set ok = true',
    'delete from tallystick.audits',
    'insert into tallystick.audit_cursors values ($ledger, 9, $random, $random, $random, $random)',
    'select from tallystick.audit_cursors for update',
    'update tallystick.audit_cursors set next_seq = 9',
    'delete from tallystick.audit_cursors',
    "update tallystick.ledger_faults set cleared_at = now(), cleared_note = 'x'",
    'delete from tallystick.ledger_faults',
    "insert into tallystick.ledger_faults (ledger_id, found_by, code, reason) values ($ledger, 'audit', 'x', 'x')",
  ],
  'read what webhooks are signed with, or write of them but by the functions': [
    'select * from tallystick.webhook_secrets',
    'select sealed from tallystick.webhook_secrets',
    'select count(sealed) from tallystick.webhook_secrets',
    'copy tallystick.webhook_secrets (sealed) to stdout',
    'delete from tallystick.webhook_secrets',
    'update tallystick.webhook_secrets set expires_at = null',
    'insert into tallystick.webhook_secrets values ($ledger, $other, $other, $random, $random)',
    "update tallystick.webhooks set url = 'https://example.com/'",
    'update tallystick.webhook_cursors set next_seq = 0',
    "update tallystick.webhook_deliveries set state = 'delivered'",
    'delete from tallystick.webhook_deliveries',
    "select tallystick.redeliver_events($ledger, $other, '{}')",
  ],
  'read what a handshake is done with, or what peers were sent': [
    'select * from tallystick.peers',
    'select sealed_token from tallystick.peers',
    'select count(sealed_token) from tallystick.peers',
    'copy tallystick.peers (sealed_token) to stdout',
    'update tallystick.peer_cursors set next_seq = 99',
    'insert into tallystick.peer_receipts select * from tallystick.peer_receipts',
    'delete from tallystick.peer_dead_letters',
    'delete from tallystick.peer_backlog',
  ],
  'read the secret of the note key, or what idempotency keys stand for': [
    'select * from tallystick.note_key_secrets',
    'select sealed from tallystick.note_key_secrets',
    'select count(*) from tallystick.note_key_secrets',
    'select * from tallystick.idempotency_keys',
  ],
  'publish checkpoints or touch the tree': [
    CHECKPOINT('13', '$chainAt13'),
    COSIGNATURE('5'),
    UPDATE('tree_tiles', 'hashes = hashes || $random'),
    'insert into tallystick.tree_frontiers values ($other, 1, $random)',
    'delete from tallystick.tree_tiles',
  ],
}

const WORKER_ATTEMPTS: Record<string, string[]> = {
  'ask for the outcome of a request': ['select tallystick.find_replay($ledger, $agent, $salt, $random)'],
  'say where a webhook goes, what it is sent or what it is signed with': [
    "update tallystick.webhooks set url = 'https://example.com/'",
    "update tallystick.webhooks set include = '{documents}'",
    "insert into tallystick.webhooks (ledger_id, webhook_id, url, events, created_by) values ($ledger, $other, 'x', '{*}', $other)",
    'insert into tallystick.webhook_secrets values ($ledger, $other, $other, $random, $random)',
    'update tallystick.webhook_secrets set sealed = $random',
    "select tallystick.create_webhook($ledger, $other, '{}', $other, $other, $random, $random, 9)",
    'select tallystick.delete_webhook($ledger, $other)',
  ],
  'invite or accept peers, take their requests, or say what they have sent': [
    "select tallystick.invite_peer($ledger, $stranger, 'x', $agent, $random, now(), '{}', 9, 9)",
    "select tallystick.accept_peer($ledger, $stranger, 'x', $agent, $random, now(), $random, '{}', $other, 'x', $kid, 9)",
    'select tallystick.withdraw_peer($ledger, $other)',
    'select tallystick.begin_peer_request($ledger, $other, $salt)',
    'select tallystick.keep_fork($ledger, $other, $leaf, 7, null, null, $leaf, $envelope, 9)',
    'select tallystick.replay_peer($ledger, $other, null)',
    'select tallystick.want_peer_summary($ledger, $other)',
    'update tallystick.peer_receipts set envelope = $envelope',
    'delete from tallystick.peer_cursors',
  ],
  'make a fault go away': [
    "update tallystick.ledger_faults set cleared_at = now(), cleared_note = 'x'",
    'delete from tallystick.ledger_faults',
    'truncate tallystick.ledger_faults',
  ],
  'change what the job queues are made of': [
    'create table tallystick_jobs.mine (id int)',
    'drop table tallystick_jobs.job',
    'alter table tallystick_jobs.queue add column mine int',
    'create or replace function tallystick_jobs.delete_queue(queue_name text) returns void language sql as $$ select $$',
  ],
  'change a checkpoint, or remove parts of the tree': [
    UPDATE('checkpoints', "note = 'another'"),
    'delete from tallystick.checkpoints',
    'delete from tallystick.cosignatures',
    'delete from tallystick.tree_tiles',
    'delete from tallystick.tree_frontiers',
    'truncate tallystick.tree_tiles',
  ],
}

/** Privileges of each login on each table and function. A new table or function needs a line here. */
const GRANTS: Record<string, string> = {
  'schema tallystick': 'api: USAGE; worker: USAGE',
  schema_migrations: 'api: SELECT; worker: SELECT',
  schema_serves: 'api: SELECT; worker: SELECT',
  guards: 'api: SELECT; worker: SELECT',
  master_key_changes: '',
  mac_keys: '',
  entry_kinds: 'api: SELECT; worker: SELECT',
  record_states: 'api: SELECT; worker: SELECT',
  record_transitions: 'api: SELECT; worker: SELECT',
  server_keys: 'api: SELECT; worker: SELECT',
  envelope_key_secrets: 'api: SELECT; worker: SELECT',
  note_key_secrets: 'worker: SELECT',
  ledgers: 'api: SELECT; worker: SELECT',
  chain_heads: 'api: SELECT; worker: SELECT',
  entries: 'api: SELECT; worker: SELECT',
  records: 'api: SELECT; worker: SELECT',
  batch_chunks: 'api: SELECT; worker: SELECT',
  batch_keys: 'api: SELECT; worker: SELECT',
  gated_records: 'api: SELECT; worker: SELECT',
  waiting_completions: 'api: SELECT; worker: SELECT',
  'waiting_completions.verification_job': 'worker: UPDATE',
  open_deadlines: 'api: SELECT; worker: SELECT',
  documents: 'api: SELECT; worker: SELECT',
  idempotency_keys: 'worker: SELECT',
  agents: 'api: SELECT; worker: SELECT',
  agent_signing_keys: 'api: SELECT; worker: SELECT',
  api_keys: 'api: SELECT; worker: SELECT',
  api_key_secrets: 'api: SELECT; worker: SELECT',
  types: 'api: SELECT; worker: SELECT',
  statements: 'api: SELECT; worker: SELECT',
  record_references: 'api: SELECT; worker: SELECT',
  erasures: 'api: SELECT; worker: SELECT',
  retention_rules: 'api: SELECT; worker: SELECT',
  holds: 'api: SELECT; worker: SELECT',
  hold_records: 'api: SELECT; worker: SELECT',
  retention_sweeps: 'worker: SELECT, UPDATE',
  ledger_closures: 'api: SELECT; worker: SELECT',
  audits: 'api: SELECT; worker: SELECT, UPDATE',
  archives: 'worker: INSERT, SELECT, UPDATE',
  archive_keys: 'api: SELECT; worker: INSERT, SELECT, UPDATE',
  archive_pieces: 'api: SELECT; worker: INSERT, SELECT',
  audit_cursors: 'api: SELECT; worker: DELETE, INSERT, SELECT, UPDATE',
  ledger_faults: 'api: SELECT; worker: INSERT, SELECT',
  webhooks: 'api: SELECT; worker: DELETE, SELECT',
  'webhooks.state': 'worker: UPDATE',
  'webhooks.reason': 'worker: UPDATE',
  'webhooks.state_at': 'worker: UPDATE',
  webhook_secrets: 'worker: DELETE, SELECT',
  'webhook_secrets.ledger_id': 'api: SELECT',
  'webhook_secrets.webhook_id': 'api: SELECT',
  'webhook_secrets.secret_id': 'api: SELECT',
  'webhook_secrets.public_key': 'api: SELECT',
  'webhook_secrets.expires_at': 'api: SELECT',
  webhook_cursors: 'api: SELECT; worker: DELETE, SELECT, UPDATE',
  webhook_deliveries: 'api: SELECT; worker: DELETE, INSERT, SELECT, UPDATE',
  checkpoints: 'api: SELECT; worker: INSERT, SELECT',
  cosignatures: 'api: SELECT; worker: INSERT, SELECT',
  tree_tiles: 'api: SELECT; worker: INSERT, SELECT, UPDATE',
  tree_frontiers: 'api: SELECT; worker: INSERT, SELECT, UPDATE',
  peers: 'worker: SELECT',
  ...Object.fromEntries(
    // Lists the columns that the login may read: all except the sealed token.
    [
      'ledger_id',
      'peer_id',
      'name',
      'role',
      'state',
      'created_by',
      'created_at',
      'token_hash',
      'expires_at',
      'inviter',
      'invited',
      'remote_ledger_id',
      'remote_url',
      'handshake',
      'added_seq',
      'added_leaf',
      'counterpart',
      'revoked_seq',
    ].map((column) => [`peers.${column}`, 'api: SELECT']),
  ),
  peer_keys: 'api: SELECT; worker: SELECT',
  peer_budgets: 'api: SELECT; worker: SELECT',
  peer_inboxes: '',
  peer_nonces: '',
  peer_cursors: 'api: SELECT; worker: SELECT, UPDATE',
  peer_backlog: 'api: SELECT; worker: DELETE, INSERT, SELECT, UPDATE',
  peer_receipts: 'api: SELECT; worker: INSERT, SELECT',
  peer_dead_letters: 'api: SELECT; worker: DELETE, INSERT, SELECT, UPDATE',
  peer_forks: 'api: SELECT; worker: SELECT',
  peer_witnesses: 'api: SELECT; worker: SELECT',
  ledger_rotations: 'api: SELECT; worker: SELECT',
  shared_records: 'api: SELECT; worker: SELECT',
  offers: 'api: SELECT; worker: SELECT',
  received_entries: 'api: SELECT; worker: SELECT',
  received_documents: 'api: SELECT; worker: SELECT',
  received_types: 'api: SELECT; worker: SELECT',
  remote_records: 'api: SELECT; worker: SELECT',
  'append_entries()': 'api: EXECUTE; worker: EXECUTE',
  'missing_guards()': 'api: EXECUTE; worker: EXECUTE',
  'owner_silences_triggers()': '',
  'refuse_unmoved()': '',
  'refuse_without_triggers()': '',
  'session_name()': 'api: EXECUTE; worker: EXECUTE',
  'mac_holds()': '',
  'require_proof()': '',
  'require_proven_session()': '',
  'append_details()': '',
  'write_entries()': '',
  'register_signing_keys()': '',
  'own_signatures_hold()': '',
  'peer_witnesses_grow()': '',
  'append_federation()': '',
  'append_statements()': '',
  'append_received()': '',
  'append_keeping()': '',
  'refuse_kept()': '',
  'retention_of()': '',
  'holds_on()': 'api: EXECUTE; worker: EXECUTE',
  'keeping_facts()': 'api: EXECUTE; worker: EXECUTE',
  'keeping_change()': '',
  'begin_peer_request()': 'api: EXECUTE',
  'invite_peer()': 'api: EXECUTE',
  'items_overtaken()': '',
  'accept_peer()': 'api: EXECUTE',
  'withdraw_peer()': 'api: EXECUTE',
  'charge_peer()': '',
  'charge_peers()': '',
  'set_peer_budget()': 'api: EXECUTE',
  'keep_fork()': 'api: EXECUTE',
  'keep_peer_witness()': 'api: EXECUTE',
  'replay_peer()': 'api: EXECUTE',
  'want_peer_summary()': 'api: EXECUTE',
  'find_replay()': 'api: EXECUTE',
  'replace_key_secrets()': 'api: EXECUTE',
  'set_key_otlp()': 'api: EXECUTE',
  'set_key_rate_limit()': 'api: EXECUTE',
  'set_ledger_rate_limit()': 'api: EXECUTE',
  'set_ledger_tiles_public()': 'api: EXECUTE',
  'set_ledger_frozen()': 'api: EXECUTE',
  'close_restored_ledgers()': 'worker: EXECUTE',
  'retire_envelope_keys()': 'worker: EXECUTE',
  'erase_documents()': 'worker: EXECUTE',
  'forget_labels()': 'worker: EXECUTE',
  'release_content()': 'worker: EXECUTE',
  'leaves_for_archive()': 'worker: EXECUTE',
  'archive_pieces_change()': '',
  'is_of_batch()': '',
  'request_audit()': 'api: EXECUTE; worker: EXECUTE',
  'create_webhook()': 'api: EXECUTE',
  'change_webhook()': 'api: EXECUTE',
  'pause_webhook()': 'api: EXECUTE',
  'resume_webhook()': 'api: EXECUTE',
  'delete_webhook()': 'api: EXECUTE',
  'rotate_webhook_secret()': 'api: EXECUTE',
  'request_webhook_test()': 'api: EXECUTE',
  'redeliver_webhook_event()': 'api: EXECUTE',
  'redeliver_dead_webhook_events()': 'api: EXECUTE',
  'recover_webhook()': 'api: EXECUTE',
  'lock_webhook()': '',
  'webhook_settings()': '',
  'ledger_ends()': '',
  'redeliver_events()': '',
  'idempotency_keys_change()': '',
  'chain_link()': '',
  'chain_step()': '',
  'chain_extend()': '',
  'refuse_change()': '',
  'refuse_while_moving()': '',
  'refuse_inserts_while_moving()': '',
  'entries_extend_chain()': '',
  'entries_change()': '',
  'chain_heads_forward_only()': '',
  'records_begin()': '',
  'batch_chunks_begin()': '',
  'batch_chunks_change()': '',
  'place_in_batch()': '',
  'records_change()': '',
  'gated_records_begin()': '',
  'gated_records_change()': '',
  'waits_for_worker()': '',
  'documents_keep()': '',
  'checkpoints_agree()': '',
  'tree_grows()': '',
}

for (const [what, attempts] of Object.entries({ ...OWNER_ATTEMPTS, ...TREE_ATTEMPTS })) {
  test(`the owner can't ${what}`, async (t) => {
    await open(t)
    for (const [refusal, sql] of attempts) await refuses('owner', sql, refusal)
    await checkAllLedgers(clients.owner)
  })
}

for (const [what, attempts] of Object.entries(TREE_ATTEMPTS)) {
  test(`the worker can't ${what}`, async (t) => {
    await open(t)
    for (const [refusal, sql] of attempts) await refuses('worker', sql, refusal)
  })
}

for (const [login, table] of [
  ['api', { ...POD_ATTEMPTS, ...API_ATTEMPTS }],
  ['worker', { ...POD_ATTEMPTS, ...WORKER_ATTEMPTS }],
] as const) {
  for (const [what, attempts] of Object.entries(table)) {
    test(`the ${login}'s login can't ${what}`, async (t) => {
      await open(t)
      for (const sql of attempts) await refuses(login, sql, FORBIDDEN)
      await checkAllLedgers(clients.owner)
    })
  }
}

test('an entry that continues the chain moves the chain head', async (t) => {
  await open(t)
  const client = clients.owner
  await client.query('begin')
  await run('owner', ENTRY('13', '$next'))
  const { rows } = await run(
    'owner',
    'select size, chain from tallystick.chain_heads where ledger_id = $ledger',
  )
  assert.deepEqual(rows, [{ size: 14, chain: values['next'] }])
  await client.query('rollback')
})

test('temporary objects of the caller do not shadow the tables of append_entries', async (t) => {
  await open(t)
  for (const url of [database.apiUrl, database.workerUrl]) {
    const client = await connect(t, url)
    for (const table of ['entries', 'chain_heads', 'records', 'entry_kinds', 'record_transitions', 'added']) {
      await client.query(`create temp table ${table} (ledger_id uuid, size bigint, chain bytea)`)
    }
    await client.query(
      `create function pg_temp.sha256(bytea) returns bytea language sql as $$ select '\\x00'::bytea $$`,
    )
    await client.query('set search_path = pg_temp, tallystick, pg_catalog')
    const good = makeEntry(ledger)
    const bad = makeEntry(ledger, { leaf: randomBytes(32) })
    assert.deepEqual(outcomesOf(await appendEntries(client, [good])), ['appended'])
    await assert.rejects(appendEntries(client, [bad]), { constraint: 'entries_leaf' })
    const { rows } = await client.query('select count(*)::int from pg_temp.entries')
    assert.equal(rows[0].count, 0)
  }
  await checkLedger(clients.owner, ledger.id)
})

test('operators and functions in a schema of the caller do not shadow those of append_entries', async (t) => {
  await open(t)
  const superuser = await connect(t, database.superuserUrl)
  for (const [login, url] of [
    ['tallystick_api', database.apiUrl],
    ['tallystick_worker', database.workerUrl],
  ] as const) {
    const schema = `evil_${login}`
    await superuser.query(`create schema ${schema} authorization ${login}`)
    const client = await connect(t, url)
    await client.query(`set search_path = ${schema}`)
    for (const type of ['bigint', 'bytea', 'uuid', 'text', 'int4', 'boolean']) {
      await client.query(`
        create function yes(${type}, ${type}) returns boolean language sql as 'select true';
        create operator = (leftarg = ${type}, rightarg = ${type}, function = yes);
        create operator > (leftarg = ${type}, rightarg = ${type}, function = yes);
        create operator <> (leftarg = ${type}, rightarg = ${type}, function = yes)`)
    }
    await client.query(`create function sha256(bytea) returns bytea language sql as 'select $1';
      create function substr(bytea, int, int) returns bytea language sql as 'select $1';
      create function lower(text) returns text language sql as 'select $1'`)
    await client.query(`set search_path = ${schema}, tallystick, pg_catalog`)
    await assert.rejects(appendEntries(client, [makeEntry(ledger, { leaf: randomBytes(32) })]), {
      constraint: 'entries_leaf',
    })
    const answers = await appendEntries(client, [
      makeEntry(ledger, { kid: randomBytes(32) }),
      makeEntry(ledger),
    ])
    assert.deepEqual(outcomesOf(answers), ['stale', 'appended'])
    if (login === 'tallystick_worker') {
      for (const [refusal, sql] of Object.values(TREE_ATTEMPTS).flat()) {
        const [text, parameters] = bind(sql)
        if (!sql.includes('ledger_id = $other') && !sql.includes('sha256')) {
          await assert.rejects(client.query(text, parameters), refusal, sql)
        }
      }
    }
  }
  await checkLedger(clients.owner, ledger.id)
})

test('every writable table refuses changes of a ledger that is being moved, except the listed ones', async (t) => {
  await open(t)
  const { rows } = await clients.owner.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'ledger_id'
     where c.relnamespace = 'tallystick'::regnamespace and c.relkind in ('r', 'p')
       and 2 > (
         select count(*) from pg_trigger t where t.tgrelid = c.oid and t.tgenabled = 'O'
           and (t.tgfoid = 'tallystick.refuse_while_moving'::regproc and t.tgtype = $1
             or t.tgfoid = 'tallystick.refuse_inserts_while_moving'::regproc and t.tgtype = $2))
     order by 1`,
    [BEFORE_EACH_CHANGED_ROW, AFTER_INSERT],
  )
  // Tables without the triggers that protect them while their ledger is moved. Other code protects them: append_entries
  // (which reads the head), erase_documents, and the worker (which skips the ledger).
  const guarded = [
    'batch_chunks',
    'batch_keys',
    'chain_heads',
    'documents',
    'entries',
    'gated_records',
    'idempotency_keys',
    'open_deadlines',
    'record_references',
    'records',
    'waiting_completions',
  ]
  assert.deepEqual(
    rows.map(({ name }) => name),
    guarded,
  )
})

/** Bits of pg_trigger.tgtype: row (1), before (2), insert (4), delete (8), update (16). */
const BEFORE_EACH_CHANGED_ROW = 27
const AFTER_INSERT = 4

test('the logins have exactly the listed privileges on the schema, and PUBLIC has none', async (t) => {
  await open(t)
  const { rows } = await clients.owner.query<{ object: string; login: string; privileges: string }>(`
    with object (name, owner, acl) as (
      select 'schema ' || nspname, nspowner, coalesce(nspacl, acldefault('n', nspowner))
      from pg_namespace where nspname = 'tallystick'
      union all
      select relname, relowner, coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))
      from pg_class where relnamespace = 'tallystick'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      union all
      select c.relname || '.' || attname, relowner, attacl
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where relnamespace = 'tallystick'::regnamespace and attacl is not null
      union all
      select proname || '()', proowner, coalesce(proacl, acldefault('f', proowner))
      from pg_proc where pronamespace = 'tallystick'::regnamespace
    )
    select o.name as object, coalesce(nullif(replace(a.grantee::regrole::text, 'tallystick_', ''), '-'), 'public') as login,
      string_agg(a.privilege_type || case when a.is_grantable then ' WITH GRANT OPTION' else '' end, ', '
        order by a.privilege_type) as privileges
    from object o left join lateral aclexplode(o.acl) a on a.grantee <> o.owner
    group by 1, 2 order by 1, 2`)
  const found: Record<string, string[]> = {}
  for (const { object, login, privileges } of rows) {
    found[object] ??= []
    if (privileges !== null) found[object].push(`${login}: ${privileges}`)
  }
  assert.deepEqual(
    Object.fromEntries(Object.entries(found).map(([object, grants]) => [object, grants.join('; ')])),
    GRANTS,
  )
})

test('everything in the schema belongs to the owner, its functions have a fixed search path, its triggers are on', async (t) => {
  await open(t)
  const { owner } = clients
  const strangers = await owner.query(`
    select relname from pg_class where relnamespace = 'tallystick'::regnamespace
      and relowner <> 'tallystick_owner'::regrole
    union all select proname from pg_proc where pronamespace = 'tallystick'::regnamespace
      and proowner <> 'tallystick_owner'::regrole`)
  assert.deepEqual(strangers.rows, [])
  const loose = await owner.query(`
    select proname from pg_proc where pronamespace = 'tallystick'::regnamespace
      and (prosecdef or prorettype = 'trigger'::regtype)
      and not coalesce(proconfig @> array['search_path=tallystick, pg_temp'], false)`)
  assert.deepEqual(loose.rows, [])
  const off = await owner.query(`
    select tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'tallystick'::regnamespace and not tgisinternal and tgenabled not in ('O', 'A')`)
  assert.deepEqual(off.rows, [])
})

async function refuses(login: Login, sql: string, refusal: Refusal): Promise<void> {
  const client = clients[login]
  await client.query('begin')
  try {
    await assert.rejects(run(login, sql), refusal, `${login}: ${sql}`)
  } finally {
    await client.query('rollback')
  }
}

function run(login: Login, sql: string) {
  const [text, parameters] = bind(sql)
  return clients[login].query(text, parameters)
}

/** Replaces each $name by $1 …, in order of appearance. $$ is not replaced. */
function bind(sql: string): [string, unknown[]] {
  const names: string[] = []
  const text = sql.replace(/\$([a-zA-Z]\w*)/g, (_, name: string) => {
    if (!(name in values)) throw new Error(`no value for $${name}`)
    if (!names.includes(name)) names.push(name)
    const cast = typeof values[name] === 'string' ? '::uuid' : '::bytea'
    return `$${names.indexOf(name) + 1}${cast}`
  })
  return [text, names.map((name) => values[name])]
}
