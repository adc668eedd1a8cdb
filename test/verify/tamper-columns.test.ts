import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { publishCheckpoints } from '../../src/followers/checkpoints/publish.ts'
import { makeErasureRound } from '../../src/followers/erasure/carry-out.ts'
import { ERASURES_REFUSED, RefusedItems } from '../../src/followers/refused.ts'
import type { NewLedger } from '../../src/ledgers/create-ledger.ts'
import { parseId, type Uuid } from '../../src/proof/ids.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { addSigningKey, signedRecord, signingOf } from '../helpers/agent-signer.ts'
import { expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { openTestPool } from '../helpers/connect.ts'
import { TEST_MASTER_KEY } from '../helpers/database.ts'
import { fullItem, fullRecord } from '../helpers/every-member.ts'
import { closeAndReopen } from '../helpers/full-ledger.ts'
import { buildGatedApp, type GatedApp } from '../helpers/gated-app.ts'
import { makePublisher } from '../helpers/publisher.ts'
import { addStatement } from '../helpers/signed-statements.ts'
import { listStoredChunks, orderErasure, type StoredChunk, takeAway } from '../helpers/stored-chunks.ts'
import {
  type Column,
  deleteRow,
  dropDefences,
  listColumns,
  nameOf,
  openTampering,
  type Tampering,
  tamper,
  verdictOf,
} from '../helpers/tamper.ts'
import { makeWebhook } from '../helpers/webhooks.ts'

/**
 * Columns that are no evidence, each with the reason. The test changes one value at a time, as a database owner who has
 * disabled triggers and constraints. Either the verification names the changed value, or its column is listed here.
 * Columns come from the database's catalogue, so a new column must be classified.
 *
 * `idempotency_keys.seq` is only partly evidence. It must name an entry of the key's agent, and no other key may name
 * the same entry. The test's change breaks this rule. A change that obeys the rule cannot be detected: a retry would be
 * answered with another record.
 *
 * `batch_chunks.content` is evidence, with two exceptions: its metadata, and bits of the compression whose change has
 * no effect. verify-batch.test.ts changes each byte.
 */
const NOT_EVIDENCE: Record<string, string> = {
  'schema_migrations.*': 'about the schema, not about any ledger',
  'guards.*': 'about the schema, not about any ledger',
  'schema_serves.*': 'about the schema, not about any ledger',
  'master_key_changes.*': 'about the deployment, not about any ledger',
  'entry_kinds.*': 'rules for what may come; what came is judged by the verifier’s own table',
  'record_states.*': 'rules for what may come; what came is judged by the verifier’s own table',
  'record_transitions.*': 'rules for what may come; what came is judged by the verifier’s own table',
  'envelope_key_secrets.*': 'sealed secrets: changed, they can’t be opened any more',
  'note_key_secrets.*': 'sealed secrets: changed, they can’t be opened any more',
  'api_keys.name': 'a label',
  'api_keys.otlp': 'what it takes from now on, nothing about what was done',
  'api_keys.rate_limit_per_second': 'how fast it may go on, nothing about what was done',
  'api_keys.rate_limit_burst': 'how fast it may go on, nothing about what was done',
  'ledgers.rate_limit_per_second': 'how fast it may go on, nothing about what was done',
  'ledgers.rate_limit_burst': 'how fast it may go on, nothing about what was done',
  'ledgers.tiles_public': 'who may read it from now on, nothing about what was done',
  'api_key_secrets.secret_hash': 'says who gets in from now on, nothing about what was done',
  'api_key_secrets.key_id': 'says who gets in from now on, nothing about what was done',
  'api_key_secrets.mac': 'says who gets in from now on, nothing about what was done',
  'api_key_secrets.expires_at': 'says who gets in from now on, nothing about what was done',
  'idempotency_keys.key_hash': 'decides what a retry is answered, nothing about what was done',
  'ledger_closures.closed_at': 'when the worker found it is a claim; what it found is in the entry',
  'ledger_closures.was_frozen': 'whether it takes entries from now on, nothing about what was done',
  'erasures.reason': 'free text, unsigned, and said to be',
  'erasures.erased_at': 'when a worker came: that the document is gone shows in the record',
  'idempotency_keys.salt': 'decides what a retry is answered, nothing about what was done',
  'idempotency_keys.fingerprint': 'decides what a retry is answered, nothing about what was done',
  'audits.*': 'what an earlier verification said; anybody who doubts it verifies anew',
  'audit_cursors.*': 'how far the worker has verified; an audit begins at the beginning',
  'archives.*': 'how far a ledger is archived: the archive verifies by itself, or does not',
  'archive_pieces.*': 'where the archive has what left Postgres: what lies elsewhere is not found there',
  'batch_chunks.released_bytes': 'how long the content was that left, for the size of pages',
  'batch_chunks.metadata': 'free and unsigned, and marked so wherever it is shown',
  'archive_keys.*': 'sealed secrets: changed, they can’t be opened any more',
  'mac_keys.*':
    'by which Postgres knows who holds the master key: another one refuses all who do, and explains no entry',
  'ledger_faults.*': 'what an earlier verification said; anybody who doubts it verifies anew',
  'webhooks.*': 'who is told from now on, nothing about what was done',
  'webhook_secrets.*': 'sealed secrets: changed, they can’t be opened any more',
  'webhook_cursors.*': 'how far others were told; anybody who doubts it reads the chain',
  'webhook_deliveries.*': 'what others were told; anybody who doubts it reads the chain',
  'waiting_completions.*': 'what the worker does next: what came of it is an entry',
  'retention_sweeps.*': 'what the worker does next: what came of it is an entry',
  'open_deadlines.*': 'what the worker does next: what came of it is an entry',
  'records.subject': 'a label, unsigned, and said to be: the hash of what somebody wrote',
  'ledgers.subject_salt': 'by which persons are found from now on, nothing about what was done',
  'records.metadata': 'free and unsigned, and marked so wherever it is shown',
  'server_keys.activated_at': 'a claim of the keys document; the stretch of a key is in the chain',
  'server_keys.retired_at': 'a claim of the keys document; the stretch of a key is in the chain',
  'cosignatures.*':
    'signatures of others: only somebody who has their keys counts them, and refuses one that was changed',
  'checkpoints.published_at': 'when it was published is a claim; the note holds no time',
}

/** Tables of peers, which are empty in this test. tamper-peers.test.ts fills and changes them. */
const OF_PEERS = [
  'peers',
  'peer_keys',
  'peer_budgets',
  'peer_inboxes',
  'peer_nonces',
  'peer_cursors',
  'peer_backlog',
  'peer_receipts',
  'peer_dead_letters',
  'peer_forks',
  'peer_witnesses',
  'shared_records',
  'received_entries',
  'received_documents',
  'received_types',
  'remote_records',
  'offers',
  'ledger_rotations',
]

/**
 * These tables are verified in a second ledger, which is large enough to have tiles. Verifying the second ledger takes
 * five times as long.
 */
const OF_TALL_LEDGER = ['tree_tiles', 'tree_frontiers']

type Ledgers = { readonly whole: NewLedger; readonly tall: NewLedger }

test('a change by the database’s owner is found', { timeout: 600_000 }, async (t) => {
  const app = await buildGatedApp(t)
  const tall = await fill(app)
  const ledgers = { whole: app.ledger, tall }
  const kept = (await app.send('GET', '/v1/checkpoints/latest')).body
  await dropDefences(app)
  const assertWhole = async () => {
    for (const ledger of Object.values(ledgers)) assert.equal(await verdict(app, ledger), 'OK')
  }
  const tampering = await openTampering(t, app.database.superuserUrl)
  await t.test('an unchanged ledger verifies', assertWhole)
  await t.test('every column is verified, or listed as no evidence', async (t) =>
    changeColumns(t, await listColumns(app), ledgers, tampering),
  )
  await t.test('every deleted row, and two exchanged entries, are found', (t) =>
    deleteRows(t, ledgers, tampering),
  )
  await t.test('after all changes are undone, the ledgers verify', assertWhole)
  await t.test('a cleanly cut tail is found only against a kept checkpoint', () => cutTailOff(app, kept))
})

function ledgerOf(table: string, { whole, tall }: Ledgers): { ledger: NewLedger; ledgerId: Uuid } {
  const ledger = OF_TALL_LEDGER.includes(table) ? tall : whole
  return { ledger, ledgerId: parseId('led', ledger.ledger.id) }
}

async function changeColumns(
  t: TestContext,
  columns: readonly Column[],
  ledgers: Ledgers,
  { verdictAfter }: Tampering,
): Promise<void> {
  const notEvidence: Column[] = []
  for (const column of columns) {
    if (OF_PEERS.includes(column.table)) continue
    if (reasonOf(column)) {
      notEvidence.push(column)
      continue
    }
    await t.test(`${nameOf(column)} is verified`, async () => {
      const { ledger, ledgerId } = ledgerOf(column.table, ledgers)
      const found = await verdictAfter((owner) => tamper(owner, column, ledgerId), ledger.ledger.id)
      assert.notEqual(found, 'OK', `${nameOf(column)} was changed, and verify did not see it`)
    })
  }
  await t.test('all columns that are listed as no evidence may change at once', async () => {
    for (const { ledger } of Object.values(ledgers)) {
      const found = await verdictAfter(async (owner) => {
        for (const column of notEvidence)
          await tamper(owner, column, ledgerOf(column.table, ledgers).ledgerId)
      }, ledger.id)
      assert.equal(found, 'OK')
    }
  })
}

async function deleteRows(t: TestContext, ledgers: Ledgers, { verdictAfter }: Tampering): Promise<void> {
  for (const table of EVIDENCE_TABLES) {
    for (const order of ['asc', 'desc'] as const) {
      await t.test(`${table}: the ${order === 'asc' ? 'first' : 'last'} row deleted`, async () => {
        const { ledger, ledgerId } = ledgerOf(table, ledgers)
        const found = await verdictAfter(
          (owner) => deleteRow(owner, table, order, ledgerId),
          ledger.ledger.id,
        )
        assert.notEqual(found, 'OK')
      })
    }
  }
  await t.test('entries: two exchanged', async () => {
    const { ledger, ledgerId } = ledgerOf('entries', ledgers)
    const mine = [ledgerId]
    const found = await verdictAfter(async ({ sql }) => {
      await sql('update tallystick.entries set seq = -1 - seq where ledger_id = $1 and seq in (7, 8)', mine)
      await sql('update tallystick.entries set seq = 16 + seq where ledger_id = $1 and seq in (-8, -9)', mine)
    }, ledger.ledger.id)
    assert.match(found, /seq=7/)
  })
}

async function cutTailOff(app: TestApp, kept: string): Promise<void> {
  // Deletes the last two entries and all rows that name them, as if these entries had never existed.
  await app.sql(`do $$ declare
    mine uuid := '${app.ledgerId}';
    head bigint := (select size from tallystick.chain_heads where ledger_id = mine);
  begin
    delete from tallystick.records where ledger_id = mine and first_seq >= head - 2;
    delete from tallystick.idempotency_keys where ledger_id = mine and seq >= head - 2;
    delete from tallystick.entries where ledger_id = mine and seq >= head - 2;
    delete from tallystick.checkpoints where ledger_id = mine;
    delete from tallystick.tree_frontiers where ledger_id = mine;
    delete from tallystick.tree_tiles where ledger_id = mine;
    update tallystick.chain_heads set size = head - 2,
      chain = (select chain from tallystick.entries where ledger_id = mine order by seq desc limit 1)
    where ledger_id = mine;
  end $$`)
  assert.equal(await verdict(app), 'OK', 'nothing inside the database can tell')
  assert.match(await verdict(app, app.ledger, [kept]), /checkpoint/)
}

/**
 * Tables whose rows are evidence. `checkpoints` is left out, because a missing checkpoint is noticed only by a reader
 * that has stored the checkpoint. `server_keys` is left out, because a ledger's keys are in the ledger's chain.
 */
const EVIDENCE_TABLES = [
  'entries',
  'records',
  'batch_chunks',
  'batch_keys',
  'gated_records',
  'documents',
  'chain_heads',
  'ledgers',
  'agents',
  'agent_signing_keys',
  'api_keys',
  'tree_frontiers',
  'tree_tiles',
  'types',
  'statements',
  'record_references',
  'erasures',
  'retention_rules',
  'holds',
  'hold_records',
  'ledger_closures',
]

/**
 * Fills a ledger so that every column has a value somewhere, except columns of tiles. Returns a second ledger, which
 * has tiles.
 */
async function fill(app: GatedApp): Promise<NewLedger> {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const agent = app.ledger.agent.id
  const { id: parent } = await app.notarize(
    { ...genericBody(), references: ['erp:order/2', 'erp:order/1'] },
    { headers: { traceparent, 'idempotency-key': 'one' } },
  )
  const known = { agents: [agent, agent], records: [parent, parent] } as const
  const full = fullRecord(known)
  await app.notarize(full.body, { headers: { ...full.headers, 'idempotency-key': 'full' } })
  const body = { records: [1, 2, 3].map((n) => ({ ...fullItem(known), payload: { n } })) }
  const headers = { traceparent, 'idempotency-key': 'two' }
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body, headers }))
  await closeAndReopen(app)
  await eraseTwo(app, await app.notarize(), await app.notarize())
  await eraseOfBatch(app)
  await app.notarize({ ...genericBody(), parent })
  await fillGated(app)
  const { id: ended } = (await app.send('POST', '/v1/agents', { body: { name: 'ended' } })).json()
  const { id: key } = (await app.send('POST', '/v1/keys', { body: { name: 'ended', scopes: [] } })).json()
  await app.send('POST', `/v1/keys/${key}/revoke`, { body: {} })
  await app.send('POST', `/v1/agents/${ended}/disable`, { body: {} })
  await app.send('POST', '/v1/types', {
    body: { name: 'order', version: 1, payloadSchema: { type: 'object' } },
  })
  await fillKeeping(app)
  await addStatement(app)
  const signer = await addSigningKey(app)
  expectStatus(201, await app.send('POST', '/v1/records', { body: signedRecord(signer, signingOf(app)) }))
  const keys = `/v1/agents/${app.ledger.agent.id}/signing-keys`
  expectStatus(200, await app.send('POST', `${keys}/${signer.kid}/revoke`, { body: {} }))
  await app.notarize()
  await app.notarize() // `cutTailOff` removes this entry.
  await fillAudits(app)
  await replaceMasterKey(app)
  const { id: webhook } = await makeWebhook(app)
  await app.send('POST', `/v1/webhooks/${webhook}/test`)
  const tall = await app.newLedger()
  for (let i = 0; i < 270; i += 90) {
    const ninety = Array.from({ length: 90 }, (_, n) => genericBody({ i, n }))
    await Promise.all(ninety.map((body) => app.notarize(body, { key: tall.key.key })))
  }
  await publishOnce(app)
  await app.sql(
    `insert into tallystick.cosignatures (ledger_id, size, witness_kid, line)
     select ledger_id, size, root, E'— w1.example AAAAAAAA\\n' from tallystick.checkpoints`,
  )
  return tall
}

/**
 * Makes two records. The first record has all terms, a revision and all kinds of documents, one of them erased. The
 * verification of the second record is in progress.
 */
async function fillGated(app: GatedApp): Promise<void> {
  const { id } = await app.reach('VERIFIED', {
    deadline: new Date(Date.now() + 3_600_000).toISOString(),
    tolerances: { quantity: { percent: '7' } },
  })
  const { gated } = await app.take(id, 'revision')
  const url = `/v1/records/${id}/completions/${gated.completion.id}/evidence`
  expectStatus(202, await app.send('DELETE', url, { body: { code: 'expired' } }))
  await eraseWhatIsDue(app)
  await app.reach('SUBMITTED')
  await app.sql('update tallystick.waiting_completions set verification_job = gen_random_uuid()')
}

/** Adds retention rules with all optional members and with none, a lifted hold, and two active holds. */
async function fillKeeping(app: TestApp): Promise<void> {
  const agent = app.ledger.agent.id
  const narrowed = { type: 'other/1', agent }
  for (const rule of [{ days: null }, { ...narrowed, days: 400 }])
    expectStatus(201, await app.send('POST', '/v1/retention/rules', { body: { basis: 'law', ...rule } }))
  const [record, other] = [await app.notarize(), await app.notarize()]
  const holds = [{ records: [record.id, other.id] }, narrowed, { type: 'other/1', records: [other.id] }]
  for (const [i, hold] of holds.entries()) {
    const { seq } = expectStatus(
      201,
      await app.send('POST', '/v1/holds', { body: { case: 'c/1', ...hold } }),
    ).json()
    if (i === 0) expectStatus(200, await app.send('POST', `/v1/holds/${seq}/lift`, { body: {} }))
  }
}

async function fillAudits(app: TestApp): Promise<void> {
  await app.sql(
    `insert into tallystick.audits (ledger_id, audit_id) select ledger_id, ledger_id from tallystick.ledgers`,
  )
  await app.sql(
    `insert into tallystick.audit_cursors select ledger_id, size, chain, envelope_kid, chain, chain from tallystick.chain_heads on conflict do nothing`,
  )
  await app.sql(`insert into tallystick.archives (ledger_id, size, seal_digest, sealed_at, claimed_by, claimed_until)
    select ledger_id, size, chain, now(), ledger_id, now() from tallystick.chain_heads`)
  await app.sql(
    `insert into tallystick.archive_pieces select ledger_id, size, size + 1, chain, 1 from tallystick.chain_heads`,
  )
  await app.sql(`insert into tallystick.archive_keys select ledger_id, 0, chain from tallystick.chain_heads`)
  await app.sql(`insert into tallystick.ledger_faults (ledger_id, found_by, code, reason, cleared_at, cleared_note)
    select ledger_id, 'audit', 'test', 'a test', now(), 'a test' from tallystick.ledgers`)
}

/** Inserts the row that a replacement of the master key leaves. The other traces of a replacement exist already. */
async function replaceMasterKey(app: TestApp): Promise<void> {
  await app.sql('insert into tallystick.schema_serves values (2, 1)')
  await app.sql(`insert into tallystick.master_key_changes
    (previous_id, current_id, server_keys, webhook_secrets, api_key_secrets, refused)
    values ('\\x0000000000000001', '\\x0000000000000002', 2, 0, 1, 0)`)
}

/** Erases two payloads. The worker also removes one of them. */
async function eraseTwo(app: TestApp, gone: { id: string }, stored: { id: string }): Promise<void> {
  const body = { code: 'expired', reason: 'kept long enough' }
  await app.send('DELETE', `/v1/records/${gone.id}/payload`, { body })
  await eraseWhatIsDue(app)
  await app.send('DELETE', `/v1/records/${stored.id}/payload`, { body })
}

async function eraseOfBatch(app: TestApp): Promise<void> {
  const [{ firstRecordId }] = (await listStoredChunks(app)) as [StoredChunk]
  await takeAway(app, firstRecordId, await orderErasure(app, firstRecordId))
}

async function eraseWhatIsDue(app: TestApp): Promise<void> {
  const pool = openTestPool(app.database.workerUrl, { max: 1 })
  const log = { info() {}, error() {} }
  try {
    const [refusedErasures, waitingErasures] = [
      new RefusedItems(Date.now, ERASURES_REFUSED),
      new RefusedItems(Date.now, ERASURES_REFUSED),
    ]
    const masterKey = makeMasterKey(TEST_MASTER_KEY)
    await makeErasureRound({ pool, log, refusedErasures, waitingErasures, masterKey })()
  } finally {
    await pool.end()
  }
}

async function publishOnce(app: TestApp): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'tallystick-kept-'))
  const pool = openTestPool(app.database.workerUrl, { max: 1 })
  try {
    await publishCheckpoints(await makePublisher(pool, dir))
  } finally {
    await pool.end()
    await rm(dir, { recursive: true })
  }
}

const verdict = (app: TestApp, { ledger }: NewLedger = app.ledger, checkpoints: readonly string[] = []) =>
  verdictOf(app.database.superuserUrl, ledger.id, checkpoints)

const reasonOf = (column: Column) => NOT_EVIDENCE[nameOf(column)] ?? NOT_EVIDENCE[`${column.table}.*`]
