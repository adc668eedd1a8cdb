import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as zlib from 'node:zlib'
import { type LedgerSnapshot, openSnapshot } from '../../src/db/chain/ledger-snapshot.ts'
import {
  type ChunkDocument,
  type ChunkRecord,
  decodeChunk,
  encodeChunk,
} from '../../src/db/chunks/chunk-content.ts'
import { withClient } from '../../src/db/connect/client.ts'
import { type AuditedLedger, getAuditedLedger, listServerKeys } from '../../src/db/evidence/ledgers.ts'
import type { EntryColumns } from '../../src/db/evidence/tables.ts'
import { CHUNK_CONTENT_BYTES_MAX } from '../../src/db/limits.ts'
import type { Uuid } from '../../src/proof/ids.ts'
import { recordIdAt } from '../../src/proof/statement/batch-ids.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { database, keyHint } from '../../src/verify/database.ts'
import { LedgerReader } from '../../src/verify/ledger-reader.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { makeRangeVerifier, type RangeResult } from '../../src/verify/verify-range.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import {
  asOwner,
  listStoredChunks,
  orderErasure,
  type StoredChunk,
  takeAway,
  writeContent,
  writeRecords,
} from '../helpers/stored-chunks.ts'
import { dropDefences, openTampering, verdictOf } from '../helpers/tamper.ts'

/* In these tests a database owner without a signing key changes stored batches. */

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

type BatchApp = TestApp & { readonly first: Uuid; readonly chunks: readonly StoredChunk[] }

/**
 * The entry at `erasedAt` erases the last record of the first batch. `before` is that record's chunk before the
 * erasure.
 */
type ErasedApp = BatchApp & { readonly erasedAt: number; readonly before: StoredChunk }

/**
 * Makes a batch of three chunks, and another batch. The first two chunks are full. The two records of the last chunk
 * have all members. With `isSmall` the ledger has only these two records, because some tests verify it hundreds of
 * times.
 */
async function setUp(t: TestContext, isSmall = false): Promise<BatchApp> {
  const app = await buildTestApp(t)
  const { id: parent } = await app.notarize()
  const everything = (n: number) => ({
    ...genericBody({ n }),
    occurredAt: `2026-01-02T03:04:0${n}.678Z`,
    onBehalfOf: app.ledger.agent.id,
    parent,
    references: [`erp:order/${n}`, 'erp:invoice/7'],
    traceparent: TRACEPARENT,
    metadata: { free: `of ${n}` },
  })
  const others = isSmall ? [] : Array.from({ length: 128 }, (_, n) => genericBody({ n }))
  await notarizeBatch(app, [...others, everything(1), everything(2)], 'first')
  if (!isSmall) await notarizeBatch(app, others, 'second')
  const chunks = await listStoredChunks(app)
  assert.deepEqual(
    chunks.map(({ count }) => count),
    isSmall ? [2] : [64, 64, 2, 64, 64],
  )
  return { ...app, chunks, first: chunks[0]!.firstRecordId }
}

async function setUpErased(t: TestContext): Promise<ErasedApp> {
  const app = await setUp(t)
  const id = recordIdAt(app.first, 129)
  const erasedAt = await orderErasure(app, id)
  await takeAway(app, id, erasedAt)
  return { ...app, chunks: await listStoredChunks(app), erasedAt, before: app.chunks[2]! }
}

async function notarizeBatch(app: TestApp, records: object[], key: string): Promise<void> {
  const headers = { 'idempotency-key': key }
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records }, headers }))
}

const verdict = (app: TestApp) => verdictOf(app.database.superuserUrl, app.ledger.ledger.id)

test('verifies the chunks of batches on several threads, and counts their records', async (t) => {
  const app = await setUpErased(t)
  for (const threads of [1, 3]) {
    const report = await verifyLedger(database(app.database.apiUrl, null), { threads })
    assert.deepEqual([report.failure, report.entries, report.records], [null, 7, 259])
    assert.equal(report.erasures.length, 1)
  }
  await withClient(app.database.superuserUrl, (client) => checkLedger(client, app.ledgerId))
})

test('a change of any byte of a chunk is found, except in metadata', { timeout: 120_000 }, async (t) => {
  const app = await setUp(t, true)
  await takeAway(app, app.first, await orderErasure(app, app.first))
  const chunk = (await listStoredChunks(app))[0]!
  const verifyWith = await makeVerifierWith(app, chunk)
  const [erased, whole] = decodeChunk(chunk.content, chunk.count)
  assert.equal(typeof erased!.document.erasedSeq, 'number')
  const { metadata } = whole!.document as { metadata: Uint8Array }
  const plain = zlib.zstdDecompressSync(chunk.content)
  assert.ok(plain.length > 300 && metadata.length > 10)
  assert.equal(verifyWith(chunk.content).failure, null)
  for (let at = 0; at < plain.length; at++) {
    for (const bit of [0x01, 0x80]) {
      const { failure } = verifyWith(zlib.zstdCompressSync(plain.with(at, plain[at]! ^ bit)))
      const isEvidence = at < plain.length - metadata.length
      assert.equal(failure !== null, isEvidence, `byte ${at} of ${plain.length} changed by ${bit}`)
    }
  }
  for (let length = 0; length < plain.length; length++)
    assert.equal(verifyWith(zlib.zstdCompressSync(plain.subarray(0, length))).failure?.code, 'chunk_syntax')
})

test('a changed byte of a compressed chunk never gives other content', async (t) => {
  const app = await setUp(t, true)
  const chunk = app.chunks[0]!
  const verifyWith = await makeVerifierWith(app, chunk)
  const { content } = chunk
  for (let at = 0; at < content.length; at++) {
    const changed = content.with(at, content[at]! ^ 0x10)
    if (verifyWith(changed).failure === null)
      assert.deepEqual(withoutMetadata(changed), withoutMetadata(content), `byte ${at}`)
  }
  for (let length = 0; length < content.length; length++)
    assert.equal(verifyWith(content.subarray(0, length)).failure?.code, 'chunk_syntax')
})

const withoutMetadata = (content: Uint8Array): ChunkRecord[] =>
  decodeChunk(content, 2).map((record) => ({
    ...record,
    document: { ...(record.document as ChunkDocument), metadata: null },
  }))

/** Returns a function that verifies the ledger's entries with other content in one chunk of the batch. */
async function makeVerifierWith(
  app: TestApp,
  changed: StoredChunk,
): Promise<(content: Uint8Array) => RangeResult> {
  const { client, close } = await openSnapshot(app.database.superuserUrl)
  try {
    const head = await getAuditedLedger(client, app.ledgerId)
    const keys = (await listServerKeys(client)).filter(({ use }) => use === 'envelope').map(keyHint)
    const verify = await makeRangeVerifier({ keys, documents: 'all' })
    const { lines, rows } = await readRange(client, app.ledgerId, head)
    const columns = parseColumns(rows.columns)
    const of = columns.findIndex(({ chunks }) => chunks.length > 0)
    const before = columns[of]!.chunks.slice(0, changed.chunk)
    const start = before.reduce((sum, { contentBytes }) => sum + contentBytes, 0)
    return (content) => {
      const said = columns[of]!
      const chunks = said.chunks.with(changed.chunk, {
        ...said.chunks[changed.chunk]!,
        contentBytes: content.length,
      })
      const contents = Buffer.concat([
        rows.contents.subarray(0, start),
        content,
        rows.contents.subarray(start + changed.content.length),
      ])
      return verify({
        lines,
        rows: { columns: formatColumns(columns.with(of, { ...said, chunks })), contents },
      })
    }
  } finally {
    await close()
  }
}

async function readRange(client: LedgerSnapshot['client'], ledgerId: Uuid, head: AuditedLedger) {
  const range = { from: 0, end: head.size! }
  const options = { sha256: nativeProviders.sha256, mayReadKeys: true, range }
  for await (const { lines, rows } of new LedgerReader({ client }, ledgerId, head, options).ranges())
    return { lines, rows: rows! }
  throw new Error('the ledger is empty')
}

const parseColumns = (bytes: Uint8Array): EntryColumns[] =>
  Buffer.from(bytes)
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

const formatColumns = (columns: readonly EntryColumns[]): Uint8Array =>
  Buffer.from(columns.map((line) => `${JSON.stringify(line)}\n`).join(''))

type Change = (app: ErasedApp) => Promise<void>

const content =
  (bytes: (chunk: StoredChunk, app: BatchApp) => Uint8Array): Change =>
  (app) =>
    writeContent(app, app.chunks[1]!, bytes(app.chunks[1]!, app))

/** Changes a record with all members. It is the first record in the last chunk of the first batch. */
const record =
  (changes: (record: ChunkRecord) => Partial<ChunkRecord>): Change =>
  async (app) => {
    const [first, second] = decodeChunk(app.chunks[2]!.content, 2)
    await writeRecords(app, app.chunks[2]!, [{ ...first!, ...changes(first!) }, second!], app.erasedAt)
  }

/** Changes a document. Does not write the rows of batch_keys, because the changed record may have no keys. */
const document =
  (changes: Partial<ChunkDocument>): Change =>
  async (app) => {
    const [first, second] = decodeChunk(app.chunks[2]!.content, 2)
    const changed = { ...first!, document: { ...(first!.document as ChunkDocument), ...changes } }
    await writeContent(app, app.chunks[2]!, encodeChunk([changed, second!]), app.erasedAt)
  }

const sql =
  (text: string): Change =>
  (app) =>
    asOwner(app, text.replaceAll(':mine', `ledger_id = '${app.ledgerId}' and seq = ${app.chunks[0]!.seq}`))

/** A skippable frame (RFC 8878 §3.1.2) of two bytes. */
const SKIPPED = Buffer.from('502a4d18020000000102', 'hex')
const SYNTAX = /chunk_syntax: /
const COLUMNS = /columns_contradict_entries: /
const ROOT = /batch_contradicts_statement: the root/

const FAULTS: [what: string, change: Change, finding: RegExp][] = [
  ['random bytes', content(() => Buffer.from('no zstd at all')), SYNTAX],
  ['no bytes', content(() => Buffer.alloc(0)), SYNTAX],
  ['a content that was cut off', content((chunk) => chunk.content.subarray(0, -9)), SYNTAX],
  ['bytes after the frame', content((chunk) => Buffer.concat([chunk.content, Buffer.of(0)])), SYNTAX],
  ['two frames', content((chunk) => Buffer.concat([chunk.content, chunk.content])), SYNTAX],
  ['a frame to be skipped', content((chunk) => Buffer.concat([SKIPPED, chunk.content])), SYNTAX],
  [
    'bytes after the last record',
    content(({ content }) =>
      zlib.zstdCompressSync(Buffer.concat([zlib.zstdDecompressSync(content), Buffer.of(0)])),
    ),
    SYNTAX,
  ],
  [
    'a record too many',
    content(({ content, count }) =>
      encodeChunk([...decodeChunk(content, count), decodeChunk(content, count)[0]!]),
    ),
    SYNTAX,
  ],
  ['a bomb', content(() => zlib.zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))), SYNTAX],
  [
    'one byte more than a chunk may hold',
    content(() => zlib.zstdCompressSync(Buffer.alloc(CHUNK_CONTENT_BYTES_MAX + 1))),
    SYNTAX,
  ],
  [
    'records exchanged',
    content(({ content, count }) => encodeChunk(decodeChunk(content, count).toReversed())),
    ROOT,
  ],
  ['the content of the chunk before', content((_, app) => app.chunks[0]!.content), ROOT],
  ['the content of another batch', content((_, app) => app.chunks[4]!.content), ROOT],
  ['a record of another type', record(() => ({ type: 'generic/2' })), ROOT],
  ['a record with another time', record(({ occurredAtMs }) => ({ occurredAtMs: occurredAtMs! + 1 })), ROOT],
  ['a record without a parent', record(() => ({ parentId: null })), ROOT],
  ['a record without a trace', record(() => ({ traceparent: null })), ROOT],
  ['a record of nobody’s', record(() => ({ onBehalfOf: null })), ROOT],
  ['a type that none can be', record(() => ({ type: 'Not a type' })), /batch_item: type/],
  [
    'a time that none can be',
    record(() => ({ occurredAtMs: Number.MAX_SAFE_INTEGER })),
    /batch_item: occurredAt/,
  ],
  [
    'a time before the first year',
    record(() => ({ occurredAtMs: -62_167_219_200_001 })),
    /batch_item: occurredAt/,
  ],
  [
    'a trace that none can be',
    record(() => ({ traceparent: `00-${'0'.repeat(32)}-${'1'.repeat(16)}-00` })),
    /batch_item: traceparent/,
  ],
  ['references that are no list', document({ references: Buffer.from('[1]') }), /batch_item: references/],
  ['references that are no JSON', document({ references: Buffer.from('["a"') }), /batch_item: references/],
  [
    'no references',
    record(({ document }) => ({ document: { ...document, references: null } as never })),
    ROOT,
  ],
  [
    'chunks exchanged',
    sql('update tallystick.batch_chunks set chunk = 1 - chunk where :mine and chunk < 2'),
    COLUMNS,
  ],
  ['a missing chunk', sql('delete from tallystick.batch_chunks where :mine and chunk = 1'), COLUMNS],
  [
    'a missing last chunk',
    sql(
      'delete from tallystick.batch_chunks where :mine and chunk = 2; delete from tallystick.batch_keys where :mine and chunk = 2',
    ),
    COLUMNS,
  ],
  [
    'no chunk at all',
    sql('delete from tallystick.batch_chunks where :mine'),
    /batch_chunks: 0 rows of seq 4, but 3 were signed/,
  ],
  [
    'a doubled chunk',
    sql(
      'insert into tallystick.batch_chunks select * from tallystick.batch_chunks where :mine and chunk = 1',
    ),
    COLUMNS,
  ],
  [
    'a chunk of an entry that is no batch',
    sql('update tallystick.batch_chunks set seq = seq - 1 where :mine'),
    COLUMNS,
  ],
  ['another count', sql('update tallystick.batch_chunks set count = 63 where :mine and chunk = 1'), COLUMNS],
  [
    'another number of records',
    sql('update tallystick.entries set item_count = 131 where :mine'),
    /entries.item_count/,
  ],
  [
    'other ids',
    sql(
      `update tallystick.batch_chunks set first_record_id = overlay(first_record_id::text placing case substr(first_record_id::text, 33, 1) when '0' then '1' else '0' end from 33)::uuid where :mine`,
    ),
    ROOT,
  ],
  [
    'ids that begin elsewhere',
    sql(
      `update tallystick.batch_chunks set first_record_id = (left(first_record_id::text, 35) || '1')::uuid where :mine`,
    ),
    /first_record_id/,
  ],
  [
    'a key that is missing',
    sql(`delete from tallystick.batch_keys where :mine and chunk = 2 and get_byte(key, 0) = ascii('R')`),
    /batch_keys: the keys do not match/,
  ],
  [
    'a key that is another',
    sql(`update tallystick.batch_keys set key = 'Tother/1' where :mine and get_byte(key, 0) = ascii('T')`),
    /batch_keys: the keys do not match/,
  ],
  [
    'a key too many',
    sql(
      `insert into tallystick.batch_keys select ledger_id, 'Tother/1', seq, chunk from tallystick.batch_chunks where :mine and chunk = 1`,
    ),
    /batch_keys: the keys do not match/,
  ],
  [
    'keys of a chunk that is not there',
    sql(
      `insert into tallystick.batch_keys select ledger_id, 'Tother/1', seq, 3 from tallystick.batch_chunks where :mine and chunk = 1`,
    ),
    /batch_keys: keys of 4 chunks/,
  ],
  [
    'keys of an entry that is no batch',
    sql(
      `insert into tallystick.batch_keys select ledger_id, 'Tother/1', 0, 0 from tallystick.batch_chunks where :mine and chunk = 1`,
    ),
    /batch_keys: rows/,
  ],
  [
    'keys of no entry',
    sql(
      `insert into tallystick.batch_keys select ledger_id, 'Tother/1', 99, 0 from tallystick.batch_chunks where :mine and chunk = 1`,
    ),
    /batch_keys: a row belongs/,
  ],
  [
    'a payload that is gone, though no entry says so',
    (app) => takeAway(app, recordIdAt(app.first, 70), 99),
    /erasure_unexplained/,
  ],
  [
    'a payload that is gone in the name of an entry that erases none',
    (app) => takeAway(app, recordIdAt(app.first, 70), app.chunks[3]!.seq),
    /erasure_unexplained/,
  ],
  [
    'a payload that is gone in the name of another’s erasure',
    (app) => takeAway(app, recordIdAt(app.first, 70), app.erasedAt),
    /erasure_unexplained/,
  ],
  [
    'an erasure that its chunk’s row does not name',
    sql('update tallystick.batch_chunks set erased_seq = erased_seq + 1 where :mine and chunk = 2'),
    /batch_chunks.erased_seq is/,
  ],
  [
    'a chunk’s row that names an erasure of none of its records',
    sql('update tallystick.batch_chunks set erased_seq = 99 where :mine and chunk = 0'),
    /batch_chunks.erased_seq is 99/,
  ],
  [
    'an erasure that was undone',
    (app) => writeRecords(app, app.before, decodeChunk(app.before.content, 2)),
    /idempotency_keys: a fingerprint is missing/,
  ],
]

test('changes by the database’s owner to a batch are found', { timeout: 120_000 }, async (t) => {
  const app = await setUpErased(t)
  await dropDefences(app)
  const { verdictAfter } = await openTampering(t, app.database.superuserUrl)
  assert.equal(await verdict(app), 'OK')
  for (const [what, change, finding] of FAULTS) {
    await t.test(what, async () => {
      const found = await verdictAfter(({ sql }) => change({ ...app, sql }), app.ledger.ledger.id)
      assert.match(found, finding)
    })
  }
  await t.test('after all changes are undone, the ledger verifies', async () =>
    assert.equal(await verdict(app), 'OK'),
  )
})

test('accepts changed metadata of a record, which is unsigned', async (t) => {
  const app = await setUpErased(t)
  for (const metadata of [Buffer.from('{"other":1}'), Buffer.from('no JSON'), null]) {
    await document({ metadata })(app)
    assert.equal(await verdict(app), 'OK')
  }
})

test('reports a payload of a batch that is still stored long after its erasure', async (t) => {
  const app = await setUp(t)
  const id = recordIdAt(app.first, 129)
  const at = await orderErasure(app, id)
  const report = () => verifyLedger(database(app.database.superuserUrl, null), { threads: 1 })
  assert.deepEqual([(await report()).failure, (await report()).notices], [null, []])
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 11 * 60_000 })
  assert.match(
    (await report()).notices[0]!,
    /^1 erased documents are still stored after more than 10 minutes/,
  )
  await takeAway(app, id, at)
  assert.deepEqual((await report()).notices, [])
})
