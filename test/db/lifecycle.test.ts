import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { appendEntries } from '../../src/db/chain/append-entries.ts'
import type { Uuid } from '../../src/proof/ids.ts'
import {
  ENTRY_KINDS,
  LIFECYCLE,
  OPEN_STATES,
  RECORD_STATES,
  STATEMENT,
  type StepKind,
} from '../../src/proof/statement/kinds.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { createTestLedger, type TestEntry, type TestLedger } from '../helpers/test-ledger.ts'
import {
  by,
  makeCreation,
  makeDocument,
  makeStep,
  makeWay,
  STEP_KINDS,
  TEST_PERFORMER,
  TEST_STRANGER,
} from '../helpers/test-steps.ts'

const MINUTE_MS = 60_000

let shared: Promise<TestDatabase> | null = null

async function open(t: TestContext) {
  shared ??= createTestDatabase(t)
  const database = await shared
  const logins = {
    api: await connect(t, database.apiUrl),
    worker: await connect(t, database.workerUrl),
  }
  const owner = await connect(t, database.ownerUrl)
  const ledger = await createTestLedger(logins.api)
  /** Appends the entries one by one. Each entry uses the login that may append it. */
  const append = async (...entries: TestEntry[]) => {
    const outcomes: string[] = []
    for (const entry of entries)
      outcomes.push(await outcomeOf(logins[entry.actorId ? 'api' : 'worker'], entry))
    return outcomes
  }
  return { logins, owner, ledger, append, check: () => checkLedger(owner, ledger.id) }
}

async function outcomeOf(client: pg.Client, entry: TestEntry): Promise<string> {
  return (await appendEntries(client, [entry]))[0]!.outcome
}

test('the tables of the database hold the lifecycle that is in src/proof/statement/kinds.ts, and nothing else', async (t) => {
  const { owner } = await open(t)
  const read = async (sql: string) => (await owner.query({ text: sql, rowMode: 'array' })).rows
  const ways = LIFECYCLE.map(({ from, kind, to }) => [from ?? '', kind, to])
  // The expression of the column `ended_as`, by which searches and the audit find ended records.
  const [ended] = await read(`select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d
    join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
    where d.adrelid = 'tallystick.gated_records'::regclass and a.attname = 'ended_as'`)
  assert.deepEqual(
    await read(
      `select state from tallystick.record_states where state <> 'RECORDED' and ${ended![0]} = '' order by 1`,
    ),
    OPEN_STATES.toSorted().map((state) => [state]),
  )
  assert.deepEqual(
    await read(`select from_state, kind, to_state from tallystick.record_transitions
      order by from_state collate "C", kind collate "C", to_state collate "C"`),
    // The database has one transition more than LIFECYCLE: that of the records of a batch.
    [['', 'batch-notarized', 'RECORDED'], ...ways].sort(),
  )
  assert.deepEqual(
    await read('select state, terminal from tallystick.record_states order by state collate "C"'),
    RECORD_STATES.map((state) => [state, !LIFECYCLE.some(({ from }) => from === state)]).sort(),
  )
  assert.deepEqual(
    await read('select kind, record_event from tallystick.entry_kinds order by kind collate "C"'),
    [
      ...Object.entries(ENTRY_KINDS).map(([kind, { movesRecord }]) => [
        kind,
        movesRecord || kind === 'batch-notarized',
      ]),
      [STATEMENT, false],
    ].sort(),
  )
  assert.deepEqual(await read('select kind from tallystick.entry_kinds where worker_only order by kind'), [
    ['completion-verified'],
    ['record-expired'],
    ['server-key-rotated'],
  ])
})

type Party = 'principal' | 'performer' | 'stranger' | 'system' | 'system as principal'
type Case = { readonly party: Party; readonly login: 'api' | 'worker'; readonly gate: 'principal' | 'auto' }
type Who = (about: Case) => boolean
const principal: Who = ({ party }) => party === 'principal'
const performer: Who = ({ party }) => party === 'performer'
const worker: Who = ({ party, login }) => party.startsWith('system') && login === 'worker'
const judge: Who = (about) => about.gate === 'principal' && principal(about)
const judgeOrAuto: Who = (about) => (about.gate === 'auto' ? worker(about) : principal(about))
const anotherAgent: Who = ({ party }) => party === 'principal' || party === 'stranger'

/** Every transition of a record, and the parties that may take it. Any other step is refused. */
const TABLE: readonly [from: string, kind: StepKind, to: string, who: Who][] = [
  ['CREATED', 'record-activated', 'ACTIVE', performer],
  ['ACTIVE', 'completion-submitted', 'SUBMITTED', performer],
  ['SUBMITTED', 'completion-verified', 'VERIFIED', worker],
  ['SUBMITTED', 'completion-verified', 'DISCREPANT', worker],
  ['VERIFIED', 'verdict-rendered', 'ACCEPTED', judgeOrAuto],
  ['VERIFIED', 'verdict-rendered', 'REJECTED', judge],
  ['DISCREPANT', 'verdict-rendered', 'ACCEPTED', judge],
  ['DISCREPANT', 'verdict-rendered', 'REJECTED', judgeOrAuto],
  ['VERIFIED', 'revision-requested', 'ACTIVE', principal],
  ['DISCREPANT', 'revision-requested', 'ACTIVE', principal],
  ['CREATED', 'record-cancelled', 'CANCELLED', principal],
  ['ACTIVE', 'record-cancelled', 'CANCELLED', principal],
  ['CREATED', 'record-expired', 'EXPIRED', worker],
  ['ACTIVE', 'record-expired', 'EXPIRED', worker],
  ['REJECTED', 'verdict-overturned', 'ACCEPTED', anotherAgent],
]
const GATED_STATES = RECORD_STATES.filter((state) => state !== 'RECORDED')
const PARTIES: readonly Party[] = ['principal', 'performer', 'stranger', 'system', 'system as principal']

for (const gate of ['principal', 'auto'] as const) {
  test(`gate ${gate}: every state, kind, end, party and login has the result of the table`, async (t) => {
    const { logins, ledger, append, check } = await open(t)
    const deadlineMs = Date.now() + 2_500
    const standing = new Map<string, TestEntry>()
    for (const from of GATED_STATES) {
      // `record-expired` is possible only after the deadline. The other steps are possible only before the deadline.
      for (const kind of ['record-expired', null]) {
        const deadline = from === 'EXPIRED' ? Date.now() : kind ? deadlineMs : null
        const way = makeWay(ledger, from, { gate: 'principal', deadlineMs: deadline })
        if (gate === 'auto') way.splice(0, way.length, ...(await makeAutoWay(ledger, from, deadline)))
        assert.deepEqual(await append(...way), Array(way.length).fill('appended'), from)
        standing.set(`${from} ${kind}`, way.at(-1)!)
      }
    }
    await sleep(Math.max(0, deadlineMs - Date.now() + 50))
    const size = await check()
    for (const from of GATED_STATES) {
      for (const kind of STEP_KINDS) {
        const last = standing.get(`${from} ${kind === 'record-expired' ? kind : null}`)!
        for (const to of new Set(TABLE.filter((row) => row[1] === kind).map((row) => row[2]))) {
          await tryAll({ logins, ledger, last, gate }, from, kind, to)
        }
      }
    }
    assert.equal(await check(), size)
  })
}

type Standing = {
  readonly logins: Record<'api' | 'worker', pg.Client>
  readonly ledger: TestLedger
  readonly last: TestEntry
  readonly gate: 'principal' | 'auto'
}

/** Tries a step as every party. Each attempt is rolled back. */
async function tryAll({ logins, ledger, last, gate }: Standing, from: string, kind: StepKind, to: string) {
  const way = TABLE.find((row) => row[0] === from && row[1] === kind && row[2] === to)
  for (const party of PARTIES) {
    const step = makeStep(ledger, last, kind, { toState: to, ...columnsOf(ledger, party) })
    for (const login of ['api', 'worker'] as const) {
      await logins[login].query('begin')
      const outcome = await outcomeOf(logins[login], step)
      await logins[login].query('rollback')
      const about = `${from} ${kind} ${to}, ${party} by ${login}'s login`
      if (way?.[3]({ party, login, gate })) assert.equal(outcome, 'appended', about)
      else assert.match(outcome, way ? /^refused_(party|kind)$/ : /^refused_(state|kind)$/, about)
    }
  }
}

function columnsOf(ledger: TestLedger, party: Party): Partial<TestEntry> {
  if (party === 'system') return { actorId: null, partyId: undefined, keyId: null }
  // With a stolen worker's login, an attacker could name the principal as the party of the step.
  if (party === 'system as principal') return { actorId: null, partyId: ledger.agentId, keyId: null }
  return by({ principal: ledger.agentId, performer: TEST_PERFORMER, stranger: TEST_STRANGER }[party])
}

/**
 * Returns the entries that lead a new record with the gate `auto` to `state`. For REJECTED, the verification is
 * DISCREPANT, because only then the rules reject.
 */
async function makeAutoWay(
  ledger: TestLedger,
  state: string,
  deadlineMs: number | null,
): Promise<TestEntry[]> {
  const way = makeWay(ledger, state, { gate: 'auto', deadlineMs })
  if (state !== 'REJECTED') return way
  const verified = way.findIndex(({ kind }) => kind === 'completion-verified')
  way[verified] = { ...way[verified]!, toState: 'DISCREPANT' }
  return way
}

test('an actor for another agent may take that agent’s steps, and not its own', async (t) => {
  const { ledger, append, check } = await open(t)
  const [created] = makeWay(ledger, 'CREATED')
  await append(created!)
  const forOther = (partyId: Uuid) =>
    makeStep(ledger, created!, 'record-activated', { actorId: TEST_PERFORMER, partyId })
  assert.deepEqual(await append(forOther(TEST_STRANGER)), ['refused_party'])
  const gateway = makeStep(ledger, created!, 'record-activated', { actorId: TEST_STRANGER })
  assert.deepEqual(await append(gateway), ['appended'])
  await check()
})

test('refuses a verdict by the performer on behalf of the principal with refused_party', async (t) => {
  const { ledger, append, check } = await open(t)
  for (const [from, kind, toState] of [
    ['VERIFIED', 'verdict-rendered', 'ACCEPTED'],
    ['REJECTED', 'verdict-overturned', 'ACCEPTED'],
  ] as const) {
    const way = makeWay(ledger, from)
    await append(...way)
    const verdict = makeStep(ledger, way.at(-1)!, kind, {
      toState,
      actorId: TEST_PERFORMER,
      partyId: ledger.agentId,
    })
    assert.deepEqual(await append(verdict), ['refused_party'], kind)
  }
  await check()
})

test('without a performer, the agent that activates becomes it, but not the principal', async (t) => {
  const { ledger, append, check } = await open(t)
  const created = makeCreation(ledger, { performerId: null })
  await append(created)
  assert.deepEqual(await append(makeStep(ledger, created, 'record-activated', by(ledger.agentId))), [
    'refused_party',
  ])
  const activated = makeStep(ledger, created, 'record-activated', by(TEST_STRANGER))
  assert.deepEqual(await append(activated), ['appended'])
  assert.deepEqual(await append(makeStep(ledger, activated, 'completion-submitted')), ['refused_party'])
  const submitted = makeStep(ledger, activated, 'completion-submitted', by(TEST_STRANGER))
  assert.deepEqual(await append(submitted), ['appended'])
  await check()
})

test('before and after the deadline exactly the allowed steps are appended, others get refused_deadline', async (t) => {
  const { ledger, append, check } = await open(t)
  for (const [offMs, outcomes] of [
    [MINUTE_MS, ['appended', 'refused_deadline']],
    [-MINUTE_MS, ['refused_deadline', 'appended']],
    [null, ['appended', 'refused_deadline']],
  ] as const) {
    const deadlineMs = offMs && Date.now() + offMs
    const [first, second] = [makeCreation(ledger, { deadlineMs }), makeCreation(ledger, { deadlineMs })]
    await append(first, second)
    const steps = [makeStep(ledger, first, 'record-activated'), makeStep(ledger, second, 'record-expired')]
    assert.deepEqual(await append(...steps), outcomes)
  }
  // The deadline applies only to the performer. A record that was submitted before the deadline may continue after it.
  const deadlineMs = Date.now() + 400
  const active = makeWay(ledger, 'ACTIVE', { deadlineMs })
  const verified = makeWay(ledger, 'VERIFIED', { deadlineMs })
  assert.deepEqual(await append(...active, ...verified), Array(6).fill('appended'))
  await sleep(deadlineMs - Date.now() + 20)
  const late = makeStep(ledger, active[1]!, 'completion-submitted')
  assert.deepEqual(await append(late), ['refused_deadline'])
  const revision = makeStep(ledger, verified.at(-1)!, 'revision-requested')
  assert.deepEqual(await append(revision), ['appended'])
  const again = [
    makeStep(ledger, revision, 'completion-submitted'),
    makeStep(ledger, revision, 'record-expired'),
  ]
  assert.deepEqual(await append(...again), ['refused_deadline', 'appended'])
  await check()
})

test('allows the agreed number of revisions, and no more', async (t) => {
  const { ledger, append, check } = await open(t)
  for (const maxRevisions of [0, 2]) {
    const way = makeWay(ledger, 'VERIFIED', { maxRevisions })
    await append(...way)
    let last = way.at(-1)!
    for (let n = 0; n < maxRevisions; n++) {
      const revision = makeStep(ledger, last, 'revision-requested')
      const submitted = makeStep(ledger, revision, 'completion-submitted')
      const verified = makeStep(ledger, submitted, 'completion-verified', { toState: 'DISCREPANT' })
      assert.deepEqual(await append(revision, submitted, verified), Array(3).fill('appended'))
      last = verified
    }
    assert.deepEqual(await append(makeStep(ledger, last, 'revision-requested')), ['refused_state'])
    assert.deepEqual(await append(makeStep(ledger, last, 'verdict-rendered')), ['appended'])
  }
  await check()
})

test('of fifty verdicts at once one is rendered', async (t) => {
  const { ledger, append, check } = await open(t)
  const way = makeWay(ledger, 'VERIFIED')
  await append(...way)
  const size = await check()
  const { apiUrl } = await shared!
  const clients = await Promise.all(Array.from({ length: 50 }, () => connect(t, apiUrl)))
  const outcomes = await Promise.all(
    clients.map((client, i) => {
      const toState = i % 2 ? 'ACCEPTED' : 'REJECTED'
      return outcomeOf(client, makeStep(ledger, way.at(-1)!, 'verdict-rendered', { toState }))
    }),
  )
  assert.deepEqual(outcomes.sort(), ['appended', ...Array(49).fill('refused_state')])
  assert.equal(await check(), size + 1)
})

test('steps before the last are heap-only updates of the standing, if the page has room', async (t) => {
  const { logins, owner, ledger, append } = await open(t)
  const deadlineMs = Date.now() + MINUTE_MS
  const ways = Array.from({ length: 30 }, () => makeWay(ledger, 'ACCEPTED', { deadlineMs }))
  const readUpdates = async () => {
    for (const client of Object.values(logins)) await client.query('select pg_stat_force_next_flush()')
    const { rows } = await owner.query<{ updates: number; heapOnly: number }>(
      `select n_tup_upd::int as updates, n_tup_hot_upd::int as "heapOnly"
       from pg_stat_user_tables where relid = 'tallystick.gated_records'::regclass`,
    )
    return rows[0]!
  }
  const before = await readUpdates()
  for (const i of ways[0]!.keys()) await append(...ways.map((way) => way[i]!))
  const after = await readUpdates()
  assert.equal(after.updates - before.updates, 4 * ways.length)
  // A record is written four times. The last write changes an index, so at most three writes are heap-only. Fewer are
  // possible, because a snapshot of another test can retain old rows, which fill pages. If an index contained the
  // state, no write would be heap-only.
  const heapOnly = after.heapOnly - before.heapOnly
  assert.ok(heapOnly > 0 && heapOnly <= 3 * ways.length, `${heapOnly}`)
})

test('a step stores its document byte for byte, and a verified completion no longer waits', async (t) => {
  const { logins, owner, ledger, append, check } = await open(t)
  const way = makeWay(ledger, 'SUBMITTED')
  await append(...way)
  const last = way.at(-1)!
  const reason = { ...makeDocument('reason', last.subjectId), content: '"so schön 𝄞"' }
  const id = last.subjectId
  const marked = 'update tallystick.waiting_completions set verification_job = $1 where record_id = $1'
  assert.equal((await logins.worker.query(marked, [id])).rowCount, 1)
  const verified = makeStep(ledger, last, 'completion-verified')
  await append(verified, makeStep(ledger, verified, 'verdict-rendered', { document: reason }))
  const { rows } = await owner.query(
    `select document, subject_id as about, digest, salt, convert_from(content, 'UTF8') as content
     from tallystick.documents d join tallystick.gated_records g using (ledger_id)
     where g.record_id = $1 order by seq`,
    [id],
  )
  assert.deepEqual(
    rows,
    [last.document!, verified.document!, reason].map(({ name, subjectId, digest, salt, content }) => ({
      document: name,
      about: subjectId,
      digest,
      salt,
      content,
    })),
  )
  assert.equal((await logins.worker.query(marked, [id])).rowCount, 0)
  await check()
})
