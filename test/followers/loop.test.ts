import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { POSTGRES_CPU_RATIO } from '../../src/followers/limits.ts'
import { type Follower, type RoundMeter, runFollower } from '../../src/followers/loop.ts'

const silent = { error() {} }

function follower(everyMs: number, step: Follower['step']): Follower {
  return { name: 'test', everyMs, step }
}

test('starts the next round at once while there is more work, then pauses', async () => {
  const stop = new AbortController()
  let rounds = 0
  const running = runFollower(
    follower(10_000, async () => ++rounds < 5),
    silent,
    stop.signal,
  )
  await sleep(50)
  assert.equal(rounds, 5)
  stop.abort()
  await running
})

test('finishes a started round before stopping', async () => {
  const stop = new AbortController()
  let finished = false
  const running = runFollower(
    follower(1, async () => {
      stop.abort()
      await sleep(30)
      finished = true
      return true
    }),
    silent,
    stop.signal,
  )
  await running
  assert.equal(finished, true)
})

test('continues after a failed round, logs the failure, and pauses longer after each failure', async () => {
  const stop = new AbortController()
  const logged: object[] = []
  const at: number[] = []
  const running = runFollower(
    follower(8, async () => {
      at.push(performance.now())
      if (at.length === 5) stop.abort()
      throw new Error('the database is away')
    }),
    { error: (details) => logged.push(details) },
    stop.signal,
  )
  await running
  assert.equal(logged.length, 5)
  const pauses = at.slice(1).map((time, i) => time - at[i]!)
  assert.ok(pauses[3]! > 8 * 2 ** 4 * 0.5 - 2, `the fourth pause was ${pauses[3]} ms`)
})

test('pauses at most failurePauseMsMax, however many rounds failed', async () => {
  const stop = new AbortController()
  let rounds = 0
  const step = async () => {
    if (++rounds === 12) stop.abort()
    throw new Error('the database is away')
  }
  const startedAt = performance.now()
  await runFollower({ ...follower(8, step), failurePauseMsMax: 8 }, silent, stop.signal)
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs < 2_000, `12 rounds with pauses of 8 ms took ${tookMs} ms`)
})

test('uses at most timeShareMax of the time, however much work there is', async () => {
  const stop = new AbortController()
  let busyMs = 0
  const startedAt = performance.now()
  const step = async () => {
    const begin = performance.now()
    await sleep(20)
    busyMs += performance.now() - begin
    return true
  }
  const running = runFollower({ name: 'test', everyMs: 1, timeShareMax: 0.25, step }, silent, stop.signal)
  await sleep(500)
  stop.abort()
  await running
  const share = busyMs / (performance.now() - startedAt)
  assert.ok(share < 0.35, `${share} of the time`)
})

/**
 * Runs the loop on a simulated machine and records each round. A simulated round waits, and uses CPU in its own thread
 * and in other threads.
 */
async function simulate(
  share: number,
  rounds: readonly { waitMs: number; cpuMs: number; threadsMs: number }[],
) {
  const stop = new AbortController()
  let [nowMs, cpuMs, threadsMs, rested] = [0, 0, 0, 0]
  const noted: { beganMs: number; usedMs: number; endMs: number }[] = []
  const meter: RoundMeter = {
    nowMs: () => nowMs,
    cpuMs: () => cpuMs,
    async rest(ms) {
      nowMs += ms
      rested += ms
    },
  }
  const step = async () => {
    const round = rounds[noted.length]!
    const beganMs = nowMs
    cpuMs += round.cpuMs
    threadsMs += round.threadsMs
    nowMs += round.waitMs + Math.max(round.cpuMs, round.threadsMs)
    const usedMs = (round.cpuMs + round.threadsMs) * (1 + POSTGRES_CPU_RATIO)
    noted.push({ beganMs, usedMs, endMs: nowMs })
    if (noted.length === rounds.length) stop.abort()
    return true
  }
  const follower = {
    name: 'test',
    everyMs: 1,
    timeShareMax: share,
    shareOf: 'cpu',
    threadsCpuMs: () => threadsMs,
    step,
  } as const
  await runFollower(follower, silent, stop.signal, undefined, meter)
  return { noted, rested }
}

test('CPU use of rounds, threads and Postgres stays within the share plus one round', async () => {
  for (const share of [0.1, 0.25, 0.75, 1]) {
    const random = (max: number) => Math.random() * max
    const rounds = Array.from({ length: 60 }, () => ({
      waitMs: Math.random() < 0.5 ? 0 : random(400),
      cpuMs: random(100),
      threadsMs: random(200),
    }))
    const { noted } = await simulate(share, rounds)
    for (let from = 0; from < noted.length; from++) {
      let usedMs = 0
      for (let to = from; to < noted.length; to++) {
        usedMs += noted[to]!.usedMs
        const elapsedMs = noted[to]!.endMs - noted[from]!.beganMs
        const oneRoundMs = noted[to]!.usedMs
        assert.ok(usedMs <= share * elapsedMs + oneRoundMs + 1e-6, `${usedMs} ms of ${elapsedMs} at ${share}`)
      }
    }
  }
})

test('a follower that waits for a slow database does not rest in addition', async () => {
  const slow = await simulate(0.25, Array(20).fill({ waitMs: 900, cpuMs: 50, threadsMs: 150 }))
  assert.equal(slow.rested, 0)
  const quick = await simulate(0.25, Array(20).fill({ waitMs: 0, cpuMs: 50, threadsMs: 150 }))
  assert.ok(quick.rested > 0)
})
