import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type pg from 'pg'
import { type AppendAnswer, appendEntries } from '../../src/db/chain/append-entries.ts'
import { bytesOfUuid, type Uuid, uuidOfBytes } from '../../src/proof/ids.ts'
import { LIFECYCLE, type StepKind } from '../../src/proof/statement/kinds.ts'
import {
  AppendModel,
  hex,
  type Login,
  type ModelGated,
  type ModelLedger,
  moveRecords,
} from '../helpers/append-model.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { runs } from '../helpers/runs.ts'
import {
  firstEntries,
  makeBatch,
  makeEntry,
  makeIdempotency,
  randomId,
  sha256,
  type TestEntry,
  type TestLedger,
} from '../helpers/test-ledger.ts'
import {
  by,
  makeAutoVerdict,
  makeCreation,
  makeStep,
  STEP_KINDS,
  TEST_PERFORMER,
  TEST_STRANGER,
} from '../helpers/test-steps.ts'

const LEDGERS = 2
const DEFECTS = ['kid', 'clock', 'previous', 'version', 'state', 'ledger', 'kind', 'event', 'system'] as const
const MINUTE_MS = 60_000
const DEADLINES_MS = [null, 60 * MINUTE_MS, 60 * MINUTE_MS, -60 * MINUTE_MS]
const OUTCOMES = 11

/**
 * Generates random items. An item has numbers, which select from the ledgers, records and keys that exist when the
 * entry is made.
 */
const itemArbitrary = fc.record({
  ledger: fc.nat({ max: LEDGERS - 1 }),
  shape: fc.oneof(
    { weight: 2, arbitrary: fc.constant('one' as const) },
    { weight: 1, arbitrary: fc.constant('batch' as const) },
    { weight: 1, arbitrary: fc.constant('creation' as const) },
    { weight: 12, arbitrary: fc.constant('step' as const) },
    { weight: 3, arbitrary: fc.constant('pair' as const) },
    { weight: 1, arbitrary: fc.constant('first' as const) },
  ),
  actor: fc.nat({ max: 1 }),
  key: fc.option(fc.nat({ max: 5 }), { freq: 2 }),
  request: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
  record: fc.nat({ max: 7 }),
  way: fc.nat({ max: 5 }),
  terms: fc.nat({ max: 47 }),
  party: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat({ max: 2 }) }),
  defect: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom(...DEFECTS) },
  ),
})
type Item = typeof itemArbitrary extends fc.Arbitrary<infer T> ? T : never
const callsArbitrary = fc.array(
  fc.record({
    login: fc.constantFrom('api' as const, 'worker' as const, 'worker' as const), // The worker may append any entry.
    items: fc.array(itemArbitrary, { minLength: 1, maxLength: 8 }),
  }),
  { minLength: 10, maxLength: 20 },
)

async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const owner = await connect(t, database.ownerUrl)
  const openLogins = async () => ({
    api: await connect(t, database.apiUrl),
    worker: await connect(t, database.workerUrl),
  })
  return { owner, openLogins }
}
type Logins = Record<Login, pg.Client>

const makeLedgers = (count: number): TestLedger[] =>
  Array.from({ length: count }, () => ({
    id: randomId(),
    agentId: randomId(),
    keyId: randomId(),
    kid: randomBytes(32),
  }))

test('property: append_entries answers any calls like a model that takes items one by one', async (t) => {
  const { owner, openLogins } = await open(t)
  const logins = await openLogins()
  const seen = new Set<string>()
  const reached = new Set<string>()
  await fc.assert(
    fc.asyncProperty(callsArbitrary, async (calls) => {
      const ledgers = makeLedgers(LEDGERS)
      const model = new AppendModel()
      for (const ledger of ledgers)
        await appendBoth(logins, model, 'api', await firstEntries(logins.api, ledger))
      for (const { login, items: call } of calls) {
        const items = call.flatMap((item) => makeItems(item, ledgers, model))
        const answers = await appendBoth(logins, model, login, items)
        for (const answer of answers) seen.add(answer.outcome)
        for (const ledger of ledgers) await compare(owner, ledger, model.ledgers.get(hex(ledger.id))!)
      }
      for (const ledger of ledgers) {
        await checkLedger(owner, ledger.id)
        for (const gated of model.ledgers.get(hex(ledger.id))!.gated.values()) reached.add(gated.state)
      }
    }),
    { numRuns: runs(30), endOnFailure: true },
  )
  // Up to three outcomes may be missing, because the calls are random.
  assert.ok(seen.size >= OUTCOMES - 3, `the calls lead to ${[...seen]} only`)
  assert.ok(reached.size >= GATED_STATES_MIN, `the calls lead to ${[...reached]} only`)
})

/** Minimum number of states that the runs must reach. Thirty runs on a busy machine once reached only five states. */
const GATED_STATES_MIN = 4

test('calls of four connections at once leave one dense, linked chain, and take each key once', async (t) => {
  const { owner, openLogins } = await open(t)
  const connections = await Promise.all([0, 1, 2, 3].map(openLogins))
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(callsArbitrary, callsArbitrary, callsArbitrary, callsArbitrary),
      async (all) => {
        const ledgers = makeLedgers(LEDGERS)
        const start = new AppendModel()
        for (const ledger of ledgers) {
          const firsts = await firstEntries(connections[0]!.api, ledger)
          await appendBoth(connections[0]!, start, 'api', firsts)
        }
        const done = await Promise.all(
          all.map(async (calls, i) => {
            // Each connection has a model that contains only its own records. Keys, ledgers and chains are shared.
            const own = new AppendModel()
            for (const [id, ledger] of start.ledgers) {
              own.ledgers.set(id, { ...ledger, records: new Map(), gated: new Map() })
            }
            const results: [TestEntry, AppendAnswer][] = []
            for (const { login, items: call } of calls) {
              const items = call.flatMap((item) => makeItems(item, ledgers, own))
              const answers = await appendEntries(connections[i]![login], items)
              for (const [n, item] of items.entries()) {
                const answer = answers[n]!
                results.push([item, answer])
                if (answer.outcome === 'appended')
                  moveRecords(own.ledgers.get(hex(item.ledgerId))!, item, answer.seq)
              }
            }
            return results
          }),
        )
        await judge(owner, ledgers, done.flat())
      },
    ),
    { numRuns: runs(12), endOnFailure: true },
  )
})

async function appendBoth(
  logins: Logins,
  model: AppendModel,
  login: Login,
  items: TestEntry[],
): Promise<AppendAnswer[]> {
  const answers = await appendEntries(logins[login], items)
  const expected = model.append(items, login)
  for (const [i, answer] of answers.entries()) {
    const { outcome, seq } = expected[i]!
    const ledger = model.ledgers.get(hex(items[i]!.ledgerId))
    const chain = outcome === 'appended' ? ledger!.entries[seq]!.chain : '0'.repeat(64)
    assert.deepEqual(answer, { outcome, seq, chain }, `item ${i} of ${items.length}: ${items[i]!.kind}`)
  }
  return answers
}

function makeItems(item: Item, ledgers: TestLedger[], model: AppendModel): TestEntry[] {
  const ledger = ledgers[item.ledger]!
  const [first, ...rest] = shape(item, ledger, model).map((entry) => ({
    ...entry,
    ...keyOf(item, ledger, entry),
  }))
  // The defect is in the second entry of a pair if `request` is 0, otherwise in the first.
  return rest.length > 0 && item.request === 0
    ? [first!, ...rest.map((entry) => spoil(item, entry))]
    : [spoil(item, first!), ...rest]
}

/**
 * Returns the members that add an idempotency key of the actor. Entries of the system have no keys. A notarization has
 * one of two actors.
 */
function keyOf(item: Item, ledger: TestLedger, entry: TestEntry): Partial<TestEntry> {
  const notarizes = entry.toState === 'RECORDED' && {
    actorId: uuidOfBytes(sha256(bytesOfUuid(ledger.id), Buffer.of(item.actor)).subarray(0, 16)),
  }
  if (item.key === null || entry.actorId === null) return { ...notarizes }
  return { ...notarizes, idempotency: makeIdempotency(`${item.key}`, `${item.request}`) }
}

function shape(item: Item, ledger: TestLedger, model: AppendModel): TestEntry[] {
  if (item.shape === 'one') return [makeEntry(ledger)]
  if (item.shape === 'batch') return [makeBatch(ledger, item.way === 0 ? 60 + item.record : 1 + item.record)]
  if (item.shape === 'first') {
    return [makeEntry(ledger, { kind: 'ledger-created', subjectId: ledger.id, version: null, records: [] })]
  }
  const gated = [...model.ledgers.get(hex(ledger.id))!.gated]
  // Usually selects one of the newest records, because older records have often ended.
  const picked = gated.at(-1 - (item.record % Math.min(3, Math.max(1, gated.length))))
  if (item.shape === 'creation' || !picked) return [makeCreation(ledger, termsOf(item.terms))]
  const [id, stands] = picked
  const last = {
    subjectId: id as Uuid,
    version: stands.version,
    leaf: Buffer.from(stands.lastLeaf, 'hex'),
  }
  if (item.shape === 'step') return [makeRandomStep(item, ledger, stands, last)]
  const toState = item.way % 2 ? 'DISCREPANT' : 'VERIFIED'
  const verified = makeStep(ledger, last, 'completion-verified', { toState })
  const to = (item.way >> 1) % 2 === item.way % 2 ? 'ACCEPTED' : 'REJECTED'
  const verdict = makeAutoVerdict(ledger, verified, { toState: to })
  if (item.way === 4) return [verdict, verified]
  return item.way === 5 ? [verified, makeEntry(ledger), verdict] : [verified, verdict]
}

function termsOf(number: number): Parameters<typeof makeCreation>[1] {
  return {
    performerId: number & 1 ? TEST_PERFORMER : null,
    gate: number & 2 ? 'auto' : 'principal',
    maxRevisions: (number >> 2) & 1,
    deadlineMs: relativeToNow(DEADLINES_MS[(number >> 3) % DEADLINES_MS.length]!),
  }
}

const relativeToNow = (ms: number | null) => ms && Date.now() + ms

function makeRandomStep(
  item: Item,
  ledger: TestLedger,
  stands: ModelGated,
  last: Parameters<typeof makeStep>[1],
): TestEntry {
  const ways = LIFECYCLE.filter(({ from }) => from === stands.state)
  const way = ways[Math.max(0, item.way - 3)] // Usually selects the first possible step, after which the record is not yet final.

  const anything = !way || item.terms === 0
  const kind = anything ? STEP_KINDS[item.way % STEP_KINDS.length]! : (way.kind as StepKind)
  const auto = kind === 'verdict-rendered' && stands.gate === 'auto' && item.terms % 4 > 0
  const step = auto ? makeAutoVerdict(ledger, last) : makeStep(ledger, last, kind)
  const party = item.party === null ? {} : by([ledger.agentId, TEST_PERFORMER, TEST_STRANGER][item.party]!)
  return { ...step, ...(!anything && { toState: way.to }), ...party }
}

function spoil(item: Item, entry: TestEntry): TestEntry {
  switch (item.defect) {
    case 'kid':
      return { ...entry, kid: randomBytes(32) }
    case 'clock':
      return { ...entry, recordedAtMs: entry.recordedAtMs + (item.record % 2 ? MINUTE_MS : -MINUTE_MS) }
    case 'previous':
      return { ...entry, previousLeaf: entry.previousLeaf && item.record % 2 ? null : randomBytes(32) }
    case 'version':
      return { ...entry, version: (entry.version ?? 0) + (item.record % 2 ? 1 + item.record : -1) }
    case 'state':
      return { ...entry, toState: 'NOWHERE' }
    case 'ledger':
      return entry.kind === 'ledger-created' ? entry : { ...entry, ledgerId: randomId() }
    case 'kind':
      return { ...entry, kind: 'no-such-kind' }
    case 'event':
      return { ...entry, version: null, records: [], document: undefined, gated: undefined }
    case 'system': // The system does not act on behalf of an agent.
      return entry.version !== null && entry.version > 1
        ? { ...entry, actorId: null, idempotency: null }
        : { ...entry, partyId: undefined, version: 0 }
    default:
      return entry
  }
}

async function compare(owner: pg.Client, ledger: TestLedger, model: ModelLedger): Promise<void> {
  const id = ledger.id
  const read = async (sql: string) => (await owner.query({ text: sql, values: [id], rowMode: 'array' })).rows
  assert.deepEqual(
    await read(`select size::int, encode(chain, 'hex') from tallystick.chain_heads where ledger_id = $1`),
    [[model.entries.length, hex(model.chain)]],
  )
  assert.deepEqual(
    await read(`select seq::int, kind, subject_id::text, version, prev_seq::int,
      encode(leaf, 'hex'), encode(chain, 'hex') from tallystick.entries where ledger_id = $1 order by seq`),
    model.entries.map((e) => [e.seq, e.kind, e.subject, e.version, e.prevSeq, e.leaf, e.chain]),
  )
  const byFirst = (a: unknown[], b: unknown[]) =>
    (a[1] as number) - (b[1] as number) || (String(a[0]) < String(b[0]) ? -1 : 1)
  assert.deepEqual(
    (
      await read(`select record_id::text, first_seq::int, null::int4 from tallystick.records where ledger_id = $1
        union all select first_record_id::text, seq::int, count from tallystick.batch_chunks where ledger_id = $1`)
    ).sort(byFirst),
    [...model.records].map(([record, r]) => [record, r.firstSeq, r.count]).sort(byFirst),
  )
  assert.deepEqual(
    await read(`select record_id::text, first_seq::int, principal_id::text,
      performer_id::text, gate, deadline, max_revisions, state, version, last_seq::int, revisions
      from tallystick.gated_records where ledger_id = $1 order by first_seq`),
    [...model.gated].map(([record, g]) => [
      ...[record, g.firstSeq, g.principal, g.performer, g.gate, g.deadlineMs && new Date(g.deadlineMs)],
      ...[g.maxRevisions, g.state, g.version, g.lastSeq, g.revisions],
    ]),
  )
  assert.deepEqual(
    await read('select seq::int, document from tallystick.documents where ledger_id = $1 order by seq'),
    model.entries.filter((e) => e.document !== null).map((e) => [e.seq, e.document]),
  )
  const keys = await read(`select actor_id::text, encode(key_hash, 'hex'), seq::int, salt, fingerprint
    from tallystick.idempotency_keys where ledger_id = $1`)
  assert.equal(keys.length, model.requests.size)
  for (const [actor, key, seq, salt, fingerprint] of keys) {
    const first = model.requests.get(`${actor} ${key}`)
    assert.equal(seq, first?.seq)
    assert.deepEqual(fingerprint, sha256(salt, Buffer.from(first!.request, 'hex')))
  }
}

/** Checks those invariants that hold for every order of the calls. */
async function judge(
  owner: pg.Client,
  ledgers: TestLedger[],
  results: [TestEntry, AppendAnswer][],
): Promise<void> {
  for (const ledger of ledgers) {
    const size = await checkLedger(owner, ledger.id)
    const own = results.filter(([item]) => hex(item.ledgerId) === hex(ledger.id))
    const appended = own.filter(([, answer]) => answer.outcome === 'appended')
    const seqs = appended.map(([, answer]) => answer.seq).sort((a, b) => a - b)
    assert.deepEqual(
      seqs,
      Array.from({ length: size - 3 }, (_, i) => i + 3),
      'every seq was answered once',
    )
    const firsts = new Map<string, number>()
    for (const [item, answer] of appended) {
      if (!item.idempotency) continue
      const key = `${hex(item.actorId!)} ${hex(item.idempotency.keyHash)}`
      assert.ok(!firsts.has(key), 'a key was taken twice')
      firsts.set(key, answer.seq)
    }
    for (const [item, answer] of own) {
      if (answer.outcome !== 'replayed' && answer.outcome !== 'conflict') continue
      assert.equal(answer.seq, firsts.get(`${hex(item.actorId!)} ${hex(item.idempotency!.keyHash)}`))
    }
  }
}
