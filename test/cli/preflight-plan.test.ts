import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CapacityInput,
  judgeCapacity,
  planCapacity,
  RECORD_BYTES_PLANNED,
} from '../../cli/preflight/capacity.ts'
import { measureClock } from '../../cli/preflight/clock.ts'
import { API_CONNECTIONS, judgeConnections, planConnections } from '../../cli/preflight/judge-connections.ts'
import { judgeClock } from '../../cli/preflight/judge-measured.ts'
import { parseSize } from '../../cli/preflight/sizes.ts'
import type { ConnectionFacts } from '../../src/db/schema/preflight.ts'
import { readVolume, type VolumeFacts } from '../../src/db/schema/preflight-volume.ts'
import { buildTestApp } from '../helpers/app.ts'
import { connect } from '../helpers/connect.ts'

const GIB = 1024 ** 3

const VOLUME: VolumeFacts = {
  bytes: 2_000_000,
  records: 2_000,
  isCounted: true,
  entries: 500,
  entriesPerDay: { lastDay: 100, lastWeek: 50 },
}

const INPUT: CapacityInput = {
  volume: VOLUME,
  freeBytes: 5 * GIB,
  maxWalBytes: GIB,
  recordsPerDay: null,
  nowMs: Date.UTC(2026, 0, 1),
}

test('days to full are what is free, less the log, by bytes a record and records a day', () => {
  const capacity = planCapacity(INPUT)
  // 100 entries a day of 4 records each, of 1,000 bytes each
  assert.deepEqual(capacity, {
    bytesPerRecord: 1_000,
    isMeasured: true,
    recordsPerDay: 400,
    bytesPerDay: 400_000,
    freeBytes: 5 * GIB,
    logBytes: GIB,
    daysToFull: (4 * GIB) / 400_000,
    fullAt: new Date(Date.UTC(2026, 0, 1) + ((4 * GIB) / 400_000) * 86_400_000).toISOString(),
  })
  const planned = planCapacity({ ...INPUT, recordsPerDay: 1_000_000 })
  assert.equal(planned.daysToFull, (4 * GIB) / 1e9)
})

test('few records say nothing of their size, and what is not known is not planned', () => {
  const few = { ...VOLUME, records: 999 }
  assert.equal(planCapacity({ ...INPUT, volume: few }).bytesPerRecord, RECORD_BYTES_PLANNED)
  assert.equal(planCapacity({ ...INPUT, volume: null }).daysToFull, null)
  assert.equal(planCapacity({ ...INPUT, freeBytes: null }).daysToFull, null)
  assert.equal(planCapacity({ ...INPUT, volume: { ...VOLUME, entriesPerDay: null } }).daysToFull, null)
})

test('a disk for less than 30 days is a warning, for less than 7 a failure, and without room for the log too', () => {
  const statusOf = (change: Partial<CapacityInput>) => {
    const input = { ...INPUT, ...change }
    return judgeCapacity(planCapacity(input), input.volume)[1]!.status
  }
  const perDay = (days: number) => ({ recordsPerDay: (4 * GIB) / 1000 / days })
  assert.deepEqual(
    [31, 29, 8, 6].map((days) => statusOf(perDay(days))),
    ['ok', 'warn', 'warn', 'fail'],
  )
  assert.equal(statusOf({ freeBytes: GIB }), 'fail')
  assert.equal(statusOf({ freeBytes: null }), 'skip')
  assert.equal(statusOf({ volume: null }), 'skip')
})

test('sizes are taken as people write them', () => {
  const sizes = { '100GiB': 100 * GIB, '1.5 TB': 1.5e12, '10gb': 1e10, '123': 123, '7B': 7 }
  for (const [text, bytes] of Object.entries(sizes)) assert.equal(parseSize(text), bytes, text)
  for (const text of ['', 'GiB', '-1GiB', '1e9', '10 XB', '1.2.3GB'])
    assert.equal(parseSize(text), null, text)
})

test('what the database says of its records and their rate is what is there', async (t) => {
  const app = await buildTestApp(t)
  const records = [
    { type: 'generic/1', payload: { n: 1 } },
    { type: 'generic/1', payload: { n: 2 } },
  ]
  await app.notarize()
  assert.equal((await app.send('POST', '/v1/records/batch', { body: { records } })).statusCode, 201)
  await app.newLedger()
  const client = await connect(t, app.database.apiUrl)
  const fresh = await readVolume(client)
  assert.deepEqual([fresh.records, fresh.isCounted, fresh.entriesPerDay], [3, true, null])

  // The first ledger's entries one a day, the newest an hour old; the other ledger's all ten days old.
  await app.sql(`set session_replication_role = replica;
    update tallystick.entries e set recorded_at = now() - interval '10 days';
    update tallystick.entries e set recorded_at = now() - interval '1 hour' - (h.size - 1 - e.seq) * interval '1 day'
    from tallystick.chain_heads h where h.ledger_id = e.ledger_id and h.size = (select max(size) from tallystick.chain_heads);
    set session_replication_role = origin`)
  const { entries, entriesPerDay } = await readVolume(client)
  const { rows } = await client.query<{ day: number; week: number; all: number }>(
    `select count(*)::int as all, count(*) filter (where recorded_at > now() - interval '1 day')::int as day,
       count(*) filter (where recorded_at > now() - interval '7 days')::int as week from tallystick.entries`,
  )
  assert.equal(entries, rows[0]!.all)
  assert.ok(rows[0]!.day === 1 && rows[0]!.week > 3, JSON.stringify(rows))
  assert.ok(entriesPerDay)
  assert.ok(Math.abs(entriesPerDay.lastDay - rows[0]!.day) < 1e-6)
  assert.ok(Math.abs(entriesPerDay.lastWeek - rows[0]!.week / 7) < 1e-6)
})

test('records of a large table are estimated, not counted', async (t) => {
  const app = await buildTestApp(t)
  await app.notarize()
  const rows = 5_000
  await app.sql(`set session_replication_role = replica;
    insert into tallystick.records (ledger_id, record_id, type, first_seq, item_index, actor_id, digest, salt, payload)
    select ledger_id, gen_random_uuid(), type, first_seq, n, actor_id, digest, salt, payload
    from tallystick.records, generate_series(1, ${rows - 1}) as n;
    set session_replication_role = origin`)
  await app.sql('analyze tallystick.records')
  const client = await connect(t, app.database.apiUrl)
  const { records, isCounted } = await readVolume(client, 1_000)
  assert.equal(isCounted, false)
  assert.ok(Math.abs(records / rows - 1) < 0.02, `${records} of ${rows}`)
})

const CONNECTIONS: ConnectionFacts = {
  max: 100,
  reserved: 3,
  inUse: 1,
  databaseMax: -1,
  databaseInUse: 1,
  ours: 0,
  logins: [
    { login: 'tallystick_api', max: -1, inUse: 1, isSuperuser: false },
    { login: 'tallystick_worker', max: -1, inUse: 0, isSuperuser: false },
  ],
}

test('connections are planned for one worker, and API processes beside it', async (t) => {
  const { deps } = await buildTestApp(t)
  const pools = [deps.readPool, deps.searchPool, deps.writePool]
  assert.equal(
    pools.reduce((sum, { options }) => sum + options.max, 0),
    API_CONNECTIONS,
  )
  const fit = (change: Partial<ConnectionFacts>, own = 'tallystick_api') => {
    const facts = { ...CONNECTIONS, ...change }
    const plan = planConnections(facts, own)
    return [plan.apiProcesses, plan.workerFits, judgeConnections(facts, plan).status]
  }
  // (97 - 16) / 15
  assert.deepEqual(fit({}), [5, true, 'ok'])
  assert.deepEqual(fit({ max: 49 }), [2, true, 'ok'])
  assert.deepEqual(fit({ max: 48 }), [1, true, 'warn'])
  assert.deepEqual(fit({ max: 33 }), [0, true, 'fail'])
  // Running processes already have their connections; those of others are gone.
  assert.deepEqual(fit({ inUse: 60, databaseInUse: 60, ours: 59 }), [5, true, 'ok'])
  assert.deepEqual(fit({ inUse: 60 }), [1, true, 'warn'])
  assert.deepEqual(fit({ databaseMax: 15 }), [0, false, 'fail'])
  const logins = [{ login: 'tallystick_api', max: 30, inUse: 1, isSuperuser: false }]
  assert.deepEqual(fit({ logins }), [2, true, 'ok'])
})

test('a clock is judged by what is certain of its distance', async (t) => {
  const app = await buildTestApp(t)
  const client = await connect(t, app.database.apiUrl)
  for (const [offMs, status] of [
    [0, 'ok'],
    [2_000, 'warn'],
    [-2_000, 'warn'],
    [27_000, 'fail'],
    [-40_000, 'fail'],
  ] as const) {
    const offset = await measureClock(client, () => Date.now() - offMs)
    assert.ok(Math.abs(offset.aheadMs - offMs) <= offset.errorMs, `${offMs}: ${JSON.stringify(offset)}`)
    assert.equal(judgeClock(offset).status, status)
  }
  assert.equal(judgeClock({ aheadMs: 1_400, errorMs: 500 }).status, 'ok')
})
