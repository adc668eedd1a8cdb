import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  THREAD_WORK_BYTES_WAITING_MAX,
  THREAD_WORK_UNPROVEN_SHARE,
  THREAD_WORK_WAITING_MAX,
} from '../../../src/load/limits.ts'
import type { ThreadError } from '../../../src/load/threads/error.ts'
import { ThreadPool } from '../../../src/load/threads/pool.ts'
import type { WorkOptions } from '../../../src/load/threads/thread-work.ts'
import { UNPROVEN } from '../../../src/load/unproven.ts'
import { until } from '../../helpers/wait.ts'
import type { Known } from './test-thread.ts'

const OPTIONS: WorkOptions = { owner: 'a', bytes: 0, msMax: 20_000 }

function openPool(t: TestContext, threads = 2) {
  const lost: string[] = []
  const pool = new ThreadPool<Known>({
    script: new URL('./test-thread.ts', import.meta.url),
    threads,
    onLost: ({ code }) => lost.push(code),
  })
  t.after(() => pool.close())
  return { pool, lost }
}

/** Makes work that runs until `open` is called. `begun` returns the number of runs that have started. */
function makeGate() {
  const gate = new Int32Array(new SharedArrayBuffer(8))
  return {
    memory: gate,
    begun: () => Atomics.load(gate, 1),
    open() {
      Atomics.store(gate, 0, 1)
      Atomics.notify(gate, 0)
    },
  }
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    ({ code, message }: ThreadError) => code ?? message,
  )

test('runs work in a thread, and transfers its buffers', async (t) => {
  const { pool } = openPool(t)
  const bytes = new Uint8Array(10).fill(7)
  const done = await pool.run('echo', bytes, { ...OPTIONS, transfer: [bytes.buffer] })
  assert.deepEqual([...(done as Uint8Array)], new Array(10).fill(7))
  assert.equal(bytes.byteLength, 0)
})

test('an error of the work rejects its caller, and the thread survives', async (t) => {
  const { pool, lost } = openPool(t, 1)
  await assert.rejects(pool.run('fail', undefined as never, OPTIONS), /it does not work/)
  assert.equal(await pool.run('echo', 1, OPTIONS), 1)
  assert.deepEqual(lost, [])
})

test('ends a thread that exceeds its time, and starts another', async (t) => {
  const { pool, lost } = openPool(t, 1)
  const overrun = codeOf(pool.run('spin', undefined as never, { ...OPTIONS, msMax: 50 }))
  const after = pool.run('echo', 'after', { ...OPTIONS, owner: 'b' })
  assert.equal(await overrun, 'overrun')
  assert.equal(await after, 'after')
  assert.deepEqual(lost, ['overrun'])
})

test('a crash or exhausted memory of a thread fails only its own work', async (t) => {
  const { pool, lost } = openPool(t, 1)
  for (const name of ['crash', 'fill'] as const) {
    const crashed = codeOf(pool.run(name, undefined as never, OPTIONS))
    const after = pool.run('echo', name, { ...OPTIONS, owner: 'b' })
    assert.equal(await crashed, 'crashed')
    assert.equal(await after, name)
  }
  assert.deepEqual(lost, ['crashed', 'crashed'])
})

test('queues one more piece of an owner in its thread, lost in a crash, unless others wait', async (t) => {
  const { pool, lost } = openPool(t, 1)
  const [crash, ahead, later] = ['crash', 'echo', 'echo'].map((name) =>
    codeOf(pool.run(name as 'echo', 1, OPTIONS)),
  )
  assert.deepEqual(await Promise.all([crash, ahead, later]), ['crashed', 'crashed', 'done'])
  assert.deepEqual(lost, ['crashed', 'crashed'])

  const gate = makeGate()
  const held = pool.run('hold', gate.memory, { ...OPTIONS, owner: 'a' })
  const order: string[] = []
  const run = (owner: string) => pool.run('echo', owner, { ...OPTIONS, owner }).then(() => order.push(owner))
  const all = [run('b'), run('a'), run('a')]
  gate.open()
  await Promise.all([held, ...all])
  assert.deepEqual(order, ['b', 'a', 'a'])
})

test('the queued piece starts while the event loop is blocked', async (t) => {
  const { pool } = openPool(t, 1)
  await pool.run('echo', 1, OPTIONS)
  const gates = [makeGate(), makeGate()] as const
  const done = gates.map(({ memory }) => pool.run('hold', memory, OPTIONS))
  await until(async () => gates[0].begun() === 1)
  gates[0].open()
  const endsAt = performance.now() + 10_000
  while (gates[1].begun() === 0 && performance.now() < endsAt);
  assert.equal(gates[1].begun(), 1)
  gates[1].open()
  await Promise.all(done)
})

test('a script that cannot be loaded fails the work, not the process', async (t) => {
  const pool = new ThreadPool<Known>({
    script: new URL('./not-there.ts', import.meta.url),
    threads: 1,
    onLost: () => {},
  })
  t.after(() => pool.close())
  for (let i = 0; i < 2; i++) assert.equal(await codeOf(pool.run('echo', 1, OPTIONS)), 'crashed')
})

test('one owner never uses the last thread, and waiting owners go before its later work', async (t) => {
  const { pool } = openPool(t, 2)
  const gate = makeGate()
  const held = [1, 2, 3].map(() => pool.run('hold', gate.memory, OPTIONS))
  await until(async () => gate.begun() === 1)
  // One of the two threads is always free for other owners, no matter how much work of one owner waits.
  assert.equal(await pool.run('echo', 'b', { ...OPTIONS, owner: 'b' }), 'b')
  assert.equal(gate.begun(), 1)
  gate.open()
  await Promise.all(held)

  const one = openPool(t, 1).pool
  const order: string[] = []
  const run = (owner: string) => one.run('echo', owner, { ...OPTIONS, owner }).then(() => order.push(owner))
  await Promise.all([...['a', 'a', 'a', 'a'].map(run), ...['b', 'b'].map(run), run('c')])
  assert.deepEqual(order, ['a', 'a', 'a', 'b', 'c', 'a', 'b'])
})

test('limits waiting work by number and bytes, in total and per owner', async (t) => {
  const { pool } = openPool(t, 1)
  const gate = makeGate()
  const taken = [pool.run('hold', gate.memory, { ...OPTIONS, owner: 'first' })]
  await until(async () => gate.begun() === 1)
  const run = (owner: string, bytes = 0) => pool.run('echo', owner, { ...OPTIONS, owner, bytes })
  const share = THREAD_WORK_BYTES_WAITING_MAX / 2
  taken.push(run('large', share) as never)
  assert.equal(await codeOf(run('large', 1)), 'full')
  taken.push(run('other', share / 2) as never)
  assert.equal(await codeOf(run('other', 1)), 'full')
  assert.equal(await codeOf(run('third', share / 4 + 1)), 'full')

  // The two large inputs take two slots. One owner may use half of the remaining slots.
  const ofOne = (THREAD_WORK_WAITING_MAX - 2) / 2
  for (let i = 0; i < ofOne; i++) taken.push(run('many') as never)
  assert.equal(await codeOf(run('many')), 'full')
  for (let i = ofOne + 2; i < THREAD_WORK_WAITING_MAX; i++) taken.push(run(`one of ${i}`) as never)
  assert.equal(await codeOf(run('nobody')), 'full')

  gate.open()
  await Promise.all(taken)
  // The large input fits again, because finished work releases its bytes.
  assert.equal(await run('large', share), 'large')
})

test('owners of one tenant together have the limits of one owner', async (t) => {
  const { pool } = openPool(t, 2)
  const gate = makeGate()
  const ofAll = 'peers of a'
  const held = [1, 2].map((i) => pool.run('hold', gate.memory, { ...OPTIONS, owner: `peer ${i}`, ofAll }))
  await until(async () => gate.begun() === 1)
  assert.equal(await pool.run('echo', 'b', { ...OPTIONS, owner: 'b' }), 'b')
  assert.equal(gate.begun(), 1)

  const share = THREAD_WORK_WAITING_MAX / 2
  const taken: Promise<unknown>[] = []
  for (let i = 1; i < share; i++)
    taken.push(pool.run('echo', i, { ...OPTIONS, owner: `peer ${i + 2}`, ofAll }))
  assert.equal(await codeOf(pool.run('echo', 0, { ...OPTIONS, owner: 'one more', ofAll })), 'full')
  assert.equal(await pool.run('echo', 'b', { ...OPTIONS, owner: 'b' }), 'b')
  gate.open()
  await Promise.all([...held, ...taken])
  assert.equal(await pool.run('echo', 'after', { ...OPTIONS, owner: 'peer 1', ofAll }), 'after')
})

test('unproven callers together may have less waiting work than one owner', async (t) => {
  const { pool } = openPool(t, 1)
  const gate = makeGate()
  const held = pool.run('hold', gate.memory, { ...OPTIONS, owner: UNPROVEN })
  await until(async () => gate.begun() === 1)
  const run = () => pool.run('echo', 'x', { ...OPTIONS, owner: UNPROVEN })
  // One more run fits than may wait, because the pool sends one run to the thread in advance.
  const taken = Array.from({ length: THREAD_WORK_WAITING_MAX * THREAD_WORK_UNPROVEN_SHARE + 1 }, run)
  assert.equal(await codeOf(run()), 'full')
  gate.open()
  await Promise.all([held, ...taken])
})

test('closing finishes accepted work, and refuses more', async (t) => {
  const { pool } = openPool(t, 1)
  const taken = [1, 2, 3].map((n) => pool.run('echo', n, OPTIONS))
  const closed = pool.close()
  assert.equal(await codeOf(pool.run('echo', 4, OPTIONS)), 'closed')
  await closed
  assert.deepEqual(await Promise.all(taken), [1, 2, 3])
})
