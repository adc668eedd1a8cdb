import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type pg from 'pg'
import { appendEntries, type EntryRow, type RecordRow } from '../../../src/db/chain/append-entries.ts'
import { decodeChunk, encodeChunk } from '../../../src/db/chunks/chunk-content.ts'
import { chunkKey, referencesOf } from '../../../src/db/chunks/chunk-keys.ts'
import { chunkIdOf } from '../../../src/db/chunks/read-chunks.ts'
import { openSearchPool } from '../../../src/db/connect/pools.ts'
import { PAGE_BYTES_MAX } from '../../../src/db/limits.ts'
import type { RecordPosition, RecordSearch } from '../../../src/db/records/search.ts'
import { searchRecords } from '../../../src/db/records/search-records.ts'
import type { RecordFilters } from '../../../src/db/records/search-streams.ts'
import { Searches } from '../../../src/db/records/searches.ts'
import type { Uuid } from '../../../src/proof/ids.ts'
import {
  firstRecordId,
  indexOfRecordId,
  isOfBatch,
  recordIdAt,
} from '../../../src/proof/statement/batch-ids.ts'
import {
  LIFECYCLE,
  RECORD_STATES,
  type RecordState,
  STEP_PARTIES,
  type StepKind,
} from '../../../src/proof/statement/kinds.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { eraseInDatabase } from '../../helpers/erase-documents.ts'
import { runs } from '../../helpers/runs.ts'
import {
  adminEntry,
  createTestLedger,
  makeBatch,
  makeChunks,
  makeEntry,
  makeItem,
  makeRecord,
  randomId,
  sha256,
  type TestLedger,
} from '../../helpers/test-ledger.ts'
import { makeCreation, makeDocument, makeStep } from '../../helpers/test-steps.ts'

/*
 * Compares searches with a model: JavaScript that applies the same filters to everything that was appended. Limits are
 * so small here that nearly every page ends early. Records are appended between pages.
 */

const RUNS = runs(40)
const ENTRIES = 50
const STEPS = 60
const STEPS_EACH_MORE = 5
const BATCH_MAX = 7
/** Maximum size of a large batch. A batch of this size has three chunks. */
const LARGE_BATCH_MAX = 150
const ERASURES = 40
const DAY_MS = 86_400_000
const FIRST_DAY_MS = Date.parse('2026-03-01T00:00:00Z')
/** Time in ms between entries. It is long enough for binary search to find ranges of times. */
const ENTRY_MS = 20_000
const SKEW_MS = 29_000

type Properties = Pick<
  RecordRow,
  'type' | 'onBehalfOf' | 'occurredAtMs' | 'traceparent' | 'parentId' | 'references'
>
/** A record with its members when it was appended. `gated`: its current state; null if the record is not gated. */
type Known = Properties & {
  readonly recordId: Uuid
  readonly actorId: Uuid
  readonly seq: number
  recordedAtMs: number
  isErased: boolean
  readonly gated: Standing | null
}
type Standing = {
  readonly principalId: Uuid
  performerId: Uuid | null
  readonly isLate: boolean
  state: RecordState
  version: number
  lastLeaf: Uint8Array
}

const IDS = Array.from({ length: 3 }, randomId)
const TRACE_IDS = ['aa'.repeat(16), 'bb'.repeat(16)]
const TYPES = ['generic/1', 'order/1', 'rare/1']
const REFERENCES = ['erp:1', 'erp:2', 'https://example.com/ü']

test('pages give every record that matches once, in order, while others are appended or move', async (t) => {
  const { owner, worker, pool, ledger } = await open(t)
  const known: Known[] = []
  for (let i = 0; i < ENTRIES; i++) await append(worker, ledger, known)
  for (let i = 0; i < STEPS; i++) await move(worker, ledger, known)
  // There must be records in every state, so that searches by state find some.
  while (new Set(known.map(stateOf)).size < RECORD_STATES.length) {
    await create(worker, ledger, known)
    for (let i = 0; i < STEPS_EACH_MORE; i++) await move(worker, ledger, known)
  }
  for (let i = 0; i < ERASURES; i++) await erase(worker, ledger, known)
  await spreadTimes(owner, ledger, known)
  await fc.assert(
    fc.asyncProperty(arbitrarySearch(known), async (search) => {
      const before = matching(known, search)
      const moved = new Set<string>()
      const all = await readAll(pool, ledger, search, async () => {
        await append(worker, ledger, known)
        for (const change of [move, erase]) {
          const record = await change(worker, ledger, known)
          if (record) moved.add(idOf(record))
        }
      })
      assert.equal(new Set(all).size, all.length, 'none twice, not even what moved')
      const stood = (records: readonly Known[]) => records.map(idOf).filter((id) => !moved.has(id))
      const found = all.filter((id) => !moved.has(id))
      const first = stood(before)
      assert.deepEqual(found.slice(0, first.length), first, 'what was there when it began')
      // With ascending order, the last pages may contain records that were appended after the search began.
      const later = stood(matching(known, search)).slice(first.length)
      const rest = found.slice(first.length)
      assert.deepEqual(rest, search.order === 'asc' ? later.slice(0, rest.length) : [])
    }),
    { numRuns: RUNS, endOnFailure: true },
  )
})

test('a page of large records ends early, and its first record always fits', async (t) => {
  const { api, pool, ledger } = await open(t)
  const payload = `{"text":"${'x'.repeat(65_000)}"}`
  const records = Array.from({ length: 100 }, () => makeRecord(randomId(), { payload }))
  for (const record of records)
    await appendOne(api, makeEntry(ledger, { subjectId: record.recordId, records: [record] }))
  const search: RecordSearch = { filters: {}, order: 'asc', after: null, limit: 200 }
  const first = await searchRecords(new Searches(pool), ledger.id, search)
  assert.equal(first.rows.length, 64, '4 MiB')
  const found = await readAll(pool, ledger, search, async () => {})
  assert.deepEqual(
    found,
    records.map(({ recordId }) => recordId),
  )
})

test('a page of records with large evidence ends early as well', async (t) => {
  const { api, pool, ledger } = await open(t)
  const content = `{"text":"${'x'.repeat(65_000)}"}`
  const created = Array.from({ length: 70 }, () => makeCreation(ledger))
  const activated = created.map((last) => makeStep(ledger, last, 'record-activated'))
  const submitted = activated.map((last) =>
    makeStep(ledger, last, 'completion-submitted', {
      document: { ...makeDocument('evidence', randomId()), content },
    }),
  )
  for (const entries of [created, activated, submitted]) await appendEntries(api, entries)
  const search = { filters: {}, order: 'asc', after: null, limit: 200 } as const
  const first = await searchRecords(new Searches(pool), ledger.id, search)
  assert.equal(first.rows.length, Math.floor(PAGE_BYTES_MAX / content.length))
  const second = await searchRecords(new Searches(pool), ledger.id, { ...search, after: first.next })
  assert.deepEqual([first.rows.length + second.rows.length, second.next], [created.length, null])
})

async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const owner = await connect(t, database.superuserUrl)
  const api = await connect(t, database.apiUrl)
  // The worker's login may take every step.
  const worker = await connect(t, database.workerUrl)
  const pool = openSearchPool(testDatabase(database.apiUrl), { warn: () => {} })
  t.after(() => pool.end())
  return { owner, api, worker, pool, ledger: await createTestLedger(api) }
}

async function readAll(
  pool: pg.Pool,
  ledger: TestLedger,
  search: RecordSearch,
  between: () => Promise<void>,
): Promise<string[]> {
  const found: string[] = []
  let after: RecordPosition | null = null
  for (let pages = 0; ; pages++) {
    const { rows, next } = await searchRecords(new Searches(pool), ledger.id, { ...search, after })
    assert.ok(rows.length <= search.limit)
    found.push(...rows.map((row) => row.recordId))
    if (next === null) return found
    assert.notDeepEqual(next, after, 'each page gets on')
    assert.ok(pages < 2_000)
    after = next
    if (pages < 3) await between()
  }
}

/** Generates searches. The ranges of times in them begin and end at or near the times of records. */
function arbitrarySearch(known: readonly Known[]): fc.Arbitrary<RecordSearch> {
  const range = (timeOf: (record: Known) => number | null) => {
    const time = fc.option(
      fc
        .tuple(fc.nat(known.length - 1), fc.constantFrom(-1, 0, 0, 1, 3_600_000))
        .map(([i, offset]) => (timeOf(known[i]!) ?? FIRST_DAY_MS) + offset),
    )
    return fc
      .record({ fromMs: time, beforeMs: time })
      .filter(({ fromMs, beforeMs }) => fromMs !== null || beforeMs !== null)
  }
  const agent = fc.constantFrom(...IDS)
  const filters = fc.record(
    {
      reference: fc.constantFrom(...REFERENCES, 'erp:3'),
      parent: fc.constantFrom(...IDS),
      traceId: fc.constantFrom(...TRACE_IDS, 'cc'.repeat(16)),
      onBehalfOf: agent,
      actor: agent,
      performer: agent,
      principal: agent,
      ownAgent: agent,
      occurred: range((record) => record.occurredAtMs),
      recorded: range((record) => record.recordedAtMs),
      type: fc.constantFrom(...TYPES, 'none/1'),
      state: fc.constantFrom(...RECORD_STATES),
    },
    { requiredKeys: [] },
  )
  // Sets only some of the twelve filters, because with all of them nothing would match.
  const some = fc.subarray(
    [
      'reference',
      'parent',
      'traceId',
      'onBehalfOf',
      'actor',
      'performer',
      'principal',
      'ownAgent',
      'occurred',
      'recorded',
      'type',
      'state',
    ],
    { maxLength: 3 },
  )
  return fc.record({
    filters: fc
      .tuple(filters, some)
      .map(([all, names]) =>
        Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))),
      ),
    order: fc.constantFrom('asc' as const, 'desc' as const),
    after: fc.constant(null),
    limit: fc.constantFrom(3, 7, 200),
    candidatesMax: fc.constantFrom(2, 20, 5_000),
    chunksMax: fc.constantFrom(1, 2, 80),
  }) as fc.Arbitrary<RecordSearch>
}

function matching(known: readonly Known[], { filters, order }: RecordSearch): Known[] {
  const found = known.filter((record) => matches(record, filters))
  return order === 'asc' ? found : found.reverse()
}

function matches(r: Known, f: RecordFilters): boolean {
  const uuid = (id: Uuid | null) => id
  const inside = (ms: number | null, range: RecordFilters['occurred']) =>
    range === undefined ||
    ((range.fromMs === null || (ms !== null && ms >= range.fromMs)) &&
      (range.beforeMs === null || (ms !== null && ms < range.beforeMs)))
  const performer = r.gated && uuid(r.gated.performerId)
  return (
    (f.reference === undefined || (!r.isErased && referencesOfRecord(r).includes(f.reference))) &&
    (f.parent === undefined || f.parent === uuid(r.parentId)) &&
    (f.traceId === undefined || f.traceId === r.traceparent?.slice(3, 35)) &&
    (f.onBehalfOf === undefined || f.onBehalfOf === uuid(r.onBehalfOf)) &&
    (f.actor === undefined || f.actor === uuid(r.actorId)) &&
    (f.performer === undefined || f.performer === performer) &&
    (f.principal === undefined || (r.gated !== null && f.principal === uuid(r.gated.principalId))) &&
    (f.ownAgent === undefined || [uuid(r.actorId), uuid(r.onBehalfOf), performer].includes(f.ownAgent)) &&
    (f.type === undefined || f.type === r.type) &&
    (f.state === undefined || f.state === stateOf(r)) &&
    inside(r.occurredAtMs, f.occurred) &&
    inside(r.recordedAtMs, f.recorded)
  )
}

const referencesOfRecord = ({ references }: Known) => JSON.parse(references ?? '[]') as string[]
const idOf = (record: Known): string => record.recordId
const stateOf = ({ gated }: Known): RecordState => gated?.state ?? 'RECORDED'

async function append(client: pg.ClientBase, ledger: TestLedger, known: Known[]): Promise<void> {
  await (oneIn(2) ? create(client, ledger, known) : notarize(client, ledger, known))
}

async function create(client: pg.ClientBase, ledger: TestLedger, known: Known[]): Promise<void> {
  const record = makeRecord(randomId(), randomProperties())
  const actorId = pick(IDS)
  const principalId = record.onBehalfOf ?? actorId
  const performerId = oneIn(3) ? null : pick(IDS.filter((id) => id !== principalId))
  const isLate = oneIn(5)
  const recordedAtMs = Date.now()
  const deadlineMs = isLate ? recordedAtMs - 1_000 : null
  const entry = makeCreation(
    ledger,
    { performerId, deadlineMs, maxRevisions: 100 },
    { subjectId: record.recordId, actorId, partyId: principalId, recordedAtMs, records: [record] },
  )
  const seq = await appendOne(client, entry)
  const start = {
    principalId,
    performerId,
    isLate,
    state: 'CREATED',
    version: 1,
    lastLeaf: entry.leaf,
  } as const
  known.push({ ...record, actorId, seq, recordedAtMs, isErased: false, gated: { ...start } })
}

async function move(
  client: pg.ClientBase,
  ledger: TestLedger,
  known: readonly Known[],
): Promise<Known | null> {
  const record = pick(known)
  const { gated } = record
  const ways = LIFECYCLE.filter(
    ({ from, kind }) => gated && from === gated.state && mayTake(gated, kind as StepKind),
  )
  if (!gated || ways.length === 0) return null
  const { to, ...way } = pick(ways)
  const kind = way.kind as StepKind
  const partyId = partyOf(gated, kind)
  const taker = partyId && { actorId: partyId, partyId }
  const last = { subjectId: record.recordId, version: gated.version, leaf: gated.lastLeaf }
  const entry = makeStep(ledger, last, kind, { toState: to, ...taker })
  await appendOne(client, entry)
  if (kind === 'record-activated') gated.performerId = partyId
  Object.assign(gated, { state: to, version: gated.version + 1, lastLeaf: entry.leaf })
  return record
}

function mayTake({ isLate }: Standing, kind: StepKind): boolean {
  if (kind === 'record-expired') return isLate
  return kind === 'record-cancelled' ? oneIn(5) : !isLate
}

function partyOf({ principalId, performerId }: Standing, kind: StepKind): Uuid | null {
  const party = STEP_PARTIES[kind]
  if (party === 'worker') return null
  if (party === 'performer') return performerId ?? pick(IDS.filter((id) => id !== principalId))
  return principalId
}

async function notarize(client: pg.ClientBase, ledger: TestLedger, known: Known[]): Promise<void> {
  const actorId = pick(IDS)
  const recordedAtMs = Date.now()
  const by = { actorId, recordedAtMs }
  if (oneIn(2)) {
    const record = makeRecord(randomId(), randomProperties())
    const seq = await appendOne(
      client,
      makeEntry(ledger, { ...by, subjectId: record.recordId, records: [record] }),
    )
    known.push({ ...record, ...by, seq, isErased: false, gated: null })
    return
  }
  const types = oneIn(2) ? TYPES : [pick(TYPES)]
  const size = 1 + below(oneIn(4) ? LARGE_BATCH_MAX : BATCH_MAX)
  const properties = Array.from({ length: size }, () => ({ ...randomProperties(), type: pick(types) }))
  const first = firstRecordId(randomId())
  const seq = await appendOne(client, makeBatchOf(ledger, first, properties, by))
  for (const [index, one] of properties.entries())
    known.push({ ...one, ...by, recordId: recordIdAt(first, index), seq, isErased: false, gated: null })
}

function makeBatchOf(
  ledger: TestLedger,
  first: Uuid,
  properties: readonly Properties[],
  by: { readonly actorId: Uuid; readonly recordedAtMs: number },
): EntryRow {
  const items = properties.map(({ references, ...one }) => {
    const { document } = makeItem()
    return makeItem({ ...one, document: { ...document, references: bytesOf(references) } as typeof document })
  })
  const chunks = makeChunks({ ...ledger, agentId: by.actorId }, first, items)
  return makeBatch(ledger, items, { ...by, chunks })
}

const bytesOf = (text: string | null) => (text === null ? null : Buffer.from(text))

/** Appends the erasure of a random record's payload. Carries out every second erasure. */
async function erase(
  client: pg.ClientBase,
  ledger: TestLedger,
  known: readonly Known[],
): Promise<Known | null> {
  const record = pick(known)
  if (record.isErased) return null
  record.isErased = true
  const detail = { document: 'payload', documentSeq: record.seq, reason: null }
  const at = await appendOne(client, adminEntry(ledger, 'payload-erased', record.recordId, detail))
  if (oneIn(2)) return record
  const rewritten = isOfBatch(record.recordId) ? [await withoutDocument(client, ledger, record, at)] : []
  await eraseInDatabase(client, ledger.id, [at], rewritten)
  return record
}

async function withoutDocument(client: pg.ClientBase, ledger: TestLedger, record: Known, erasedSeq: number) {
  const { rows } = await client.query<{ seq: number; chunk: number; content: Buffer; count: number }>(
    'select seq, chunk, content, count from tallystick.batch_chunks where ledger_id = $1 and first_record_id = $2',
    [ledger.id, chunkIdOf(record.recordId)],
  )
  const { seq, chunk, content, count } = rows[0]!
  const records = decodeChunk(content, count)
  const before = referencesOf(records)
  const referencesDigest = record.references === null ? null : randomBytes(32)
  const document = { digest: randomBytes(32), referencesDigest, erasedSeq }
  const place = indexOfRecordId(record.recordId) % 64
  records[place] = { ...records[place]!, document }
  const after = referencesOf(records)
  const gone = [...before].filter((reference) => !after.has(reference))
  const keysGone = gone.map(chunkKey.reference)
  return { seq, chunk, before: sha256(content), after: encodeChunk(records), keysGone }
}

async function appendOne(client: pg.ClientBase, entry: EntryRow): Promise<number> {
  const [answer] = await appendEntries(client, [entry])
  assert.equal(answer!.outcome, 'appended')
  return answer!.seq
}

function randomProperties(): Properties {
  return {
    type: pick(TYPES),
    onBehalfOf: oneIn(2) ? pick(IDS) : null,
    // The search reads short ranges day by day, and reads long ranges in another way. These times cause both kinds of
    // ranges.
    occurredAtMs: oneIn(2) ? FIRST_DAY_MS + below(oneIn(2) ? 5 * DAY_MS : 90 * DAY_MS) : null,
    traceparent: oneIn(3) ? `00-${pick(TRACE_IDS)}-00f067aa0ba902b7-01` : null,
    parentId: oneIn(2) ? pick(IDS) : null,
    references: oneIn(2) ? JSON.stringify([pick(REFERENCES), pick(REFERENCES)]) : null,
  }
}

const below = (n: number) => Math.floor(Math.random() * n)
const oneIn = (n: number) => below(n) === 0
const pick = <T>(list: readonly T[]): T => list[below(list.length)]!

/**
 * Changes the times, as if servers with wrong clocks had appended the entries one after another. An application
 * cannot write such times.
 */
async function spreadTimes(owner: pg.ClientBase, ledger: TestLedger, known: Known[]): Promise<void> {
  const id = ledger.id
  const { rows } = await owner.query('select size from tallystick.chain_heads where ledger_id = $1', [id])
  const size = Number(rows[0].size)
  const startMs = Date.now() - ENTRY_MS * (size + 10)
  const times = Array.from(
    { length: size },
    (_, seq) => startMs + ENTRY_MS * seq + below(2 * SKEW_MS) - SKEW_MS,
  )
  for (const record of known) record.recordedAtMs = times[record.seq]!
  await owner.query('set session_replication_role = replica')
  await owner.query(
    `update tallystick.entries e set recorded_at = n.at
     from unnest($2::timestamptz[]) with ordinality n (at, place) where e.ledger_id = $1 and e.seq = n.place - 1`,
    [id, times.map((ms) => new Date(ms).toISOString())],
  )
  await owner.query('set session_replication_role = origin')
}
