import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLog } from '../../src/observe/log.ts'
import { type JobOutcome, openQueues, queueWork, workQueues } from '../../worker/work-queues.ts'
import { parseLines } from '../helpers/app.ts'
import { testDatabase } from '../helpers/connect.ts'
import { lendApp } from '../helpers/lent-app.ts'
import { until } from '../helpers/wait.ts'

const idOf = (prefix: string, n: number) => `${prefix}_01m80jhwa7f9rrq0ry0xny0wg${n}`

test('in a batch a failed job is retried, and a hopeless one becomes a dead letter', async (t) => {
  const app = await lendApp(t)
  const lines: string[] = []
  const log = openLog('info', { write: (line: string) => void lines.push(line) })
  const { boss, close } = await openQueues(testDatabase(app.database.workerUrl), log)
  t.after(close)
  const outcomes = new Map<string, JobOutcome>([
    [idOf('rec', 0), { status: 'completed' }],
    [idOf('rec', 1), { status: 'failed', error: new Error('not today') }],
    [idOf('rec', 2), { status: 'deadletter', error: new Error('never') }],
  ])
  const data = [...outcomes.keys()].map((record) => ({ ledger: idOf('led', 1), record }))
  await boss.insert(
    'verify-completion',
    data.map((one) => ({ data: one })),
  )
  const batches: number[] = []
  const handleBatch = async (payloads: readonly { readonly record: string }[]) => {
    batches.push(payloads.length)
    return payloads.map(({ record }) => outcomes.get(record)!)
  }
  await workQueues(
    boss,
    [queueWork({ queue: 'verify-completion', concurrency: 1, batchSize: 10, handleBatch })],
    { log, signal: AbortSignal.any([]), observe: () => {} },
  )
  const read = () =>
    app.sql<{ name: string; state: string; record: string; retry: number }>(
      `select name, state, data ->> 'record' as record, extract(epoch from start_after - now())::float8 as retry
       from tallystick_jobs.job order by name, record`,
    )
  await until(async () => (await read()).some(({ name }) => name === 'dead-letters'))
  assert.deepEqual(
    (await read()).map(({ name, state, record }) => `${name} ${state} ${record}`),
    [
      `dead-letters created ${idOf('rec', 2)}`,
      `verify-completion completed ${idOf('rec', 0)}`,
      `verify-completion retry ${idOf('rec', 1)}`,
      `verify-completion failed ${idOf('rec', 2)}`,
    ],
  )
  const retried = (await read()).find(({ state }) => state === 'retry')!
  assert.ok(retried.retry > 0.5, `retried after ${retried.retry} s`)
  assert.deepEqual(batches, [3])
  const said = parseLines(lines.join('')).map(({ level, msg, payload, attempt }) => [
    level,
    msg,
    payload.record,
    attempt,
  ])
  assert.deepEqual(said.sort(), [
    [40, 'a job failed', idOf('rec', 1), '1 of 9'],
    [50, 'a job was given up: it is now a dead letter', idOf('rec', 2), undefined],
  ])
})

test('a batch that throws fails as a whole, and is logged once', async (t) => {
  const app = await lendApp(t)
  const lines: string[] = []
  const log = openLog('info', { write: (line: string) => void lines.push(line) })
  const { boss, close } = await openQueues(testDatabase(app.database.workerUrl), log)
  t.after(close)
  const data = [0, 1].map((n) => ({ ledger: idOf('led', 1), record: idOf('rec', n) }))
  await boss.insert(
    'verify-completion',
    data.map((one) => ({ data: one })),
  )
  const handleBatch = () => Promise.reject(new Error('the database is away'))
  await workQueues(
    boss,
    [queueWork({ queue: 'verify-completion', concurrency: 1, batchSize: 10, handleBatch })],
    { log, signal: AbortSignal.any([]), observe: () => {} },
  )
  const states = async () =>
    (await app.sql<{ state: string }>('select state from tallystick_jobs.job')).map(({ state }) => state)
  await until(async () => (await states()).every((state) => state === 'retry'))
  assert.deepEqual(
    parseLines(lines.join('')).map(({ level, msg, jobs, err }) => [level, msg, jobs, err.message]),
    [[40, 'a batch of jobs failed', 2, 'the database is away']],
  )
})

test('a slot runs one job until it ends; ended jobs are deleted, and a failure is logged', async (t) => {
  const app = await lendApp(t)
  const lines: string[] = []
  const log = openLog('info', { write: (line: string) => void lines.push(line) })
  const { boss, close } = await openQueues(testDatabase(app.database.workerUrl), log)
  t.after(close)
  const stop = new AbortController()
  t.after(async () => stop.abort())
  const data = Array.from({ length: 5 }, (_, n) => ({ ledger: idOf('led', 1), webhook: idOf('whk', n) }))
  await boss.insert(
    'deliver-webhook',
    data.map((one) => ({ data: one })),
  )
  const underWay = new Map<string, PromiseWithResolvers<void>>()
  const handleInSlot = ({ webhook }: { readonly webhook: string }) => {
    const ends = Promise.withResolvers<void>()
    underWay.set(webhook, ends)
    return ends.promise.finally(() => underWay.delete(webhook))
  }
  const wakers = await workQueues(boss, [queueWork({ queue: 'deliver-webhook', slots: 2, handleInSlot })], {
    log,
    signal: stop.signal,
    observe: () => {},
  })
  const countJobs = async () =>
    (await app.sql("select from tallystick_jobs.job where name = 'deliver-webhook'")).length
  const stands = async (jobs: number, begun: number) => {
    await until(async () => (await countJobs()) === jobs && underWay.size === begun).catch(async () => {
      const rows = await app.sql('select name, state, data from tallystick_jobs.job')
      assert.fail(JSON.stringify({ jobs, begun, rows, underWay: [...underWay.keys()], lines }))
    })
  }
  await stands(5, 2)
  const [first, second] = [...underWay.values()]
  first!.reject(new Error('not today'))
  await stands(4, 2)
  second!.resolve()
  await stands(3, 2)
  for (const one of underWay.values()) one.resolve()
  await stands(1, 1)
  const said = parseLines(lines.join('')).map(({ msg, err }) => [msg, err.message])
  assert.deepEqual(said, [['a job failed', 'not today']])
  stop.abort()
  for (const one of underWay.values()) one.resolve()
  await boss.insert('deliver-webhook', [{ data: data[0]! }])
  wakers.get('deliver-webhook')!()
  await sleep(300)
  assert.equal(underWay.size, 0)
})

test('a job whose deletion fails is deleted in the next round, and not run again', async (t) => {
  const app = await lendApp(t)
  const { boss, close } = await openQueues(testDatabase(app.database.workerUrl), openLog('silent'))
  t.after(close)
  const stop = new AbortController()
  t.after(async () => stop.abort())
  await boss.insert('deliver-webhook', [{ data: { ledger: idOf('led', 1), webhook: idOf('whk', 1) } }])
  const failing = t.mock.method(boss, 'deleteJob')
  failing.mock.mockImplementationOnce(() => Promise.reject(new Error('the database is away')))
  let handled = 0
  const handleInSlot = async () => {
    handled++
  }
  await workQueues(boss, [queueWork({ queue: 'deliver-webhook', slots: 2, handleInSlot })], {
    log: openLog('silent'),
    signal: stop.signal,
    observe: () => {},
  })
  await until(async () => (await app.sql('select from tallystick_jobs.job')).length === 0)
  assert.deepEqual([handled, failing.mock.callCount()], [1, 2])
})
