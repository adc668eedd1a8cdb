import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { limitToOneCpu, parseThrottling } from '../../../bench/k6/cpu-quota.ts'
import { findEnds, replicas } from '../../../bench/k6/replicas.ts'
import type { DrivenRound } from '../../../bench/k6/types.ts'

const SPIN_MS = 1_500

test('replicas names the exhausted CPU: that of the API, that of the machine, or none', () => {
  const api = 'the CPU of the API processes'
  assert.deepEqual(findEnds({ API: 0.97, postgres: 0.4, k6: 0.3 }, true, 4), [api])
  assert.deepEqual(findEnds({ 'API 1': 0.95, 'API 2': 0.93, postgres: 1, k6: 0.9 }, true, 4), [
    api,
    "the machine's 4 cores",
  ])
  assert.deepEqual(findEnds({ 'API 1': 0.95, 'API 2': 0.3, postgres: 0.4, k6: 0.3 }, true, 2), [
    "the machine's 2 cores",
  ])
  assert.deepEqual(findEnds({ API: 0.5, postgres: 0.2, k6: 0.1 }, true, 2), [
    "no CPU: requests wait for the ledger's commits",
  ])
})

test('replicas reports how much CPU other processes used', () => {
  assert.deepEqual(findEnds({ API: 0.5, postgres: 0.2, k6: 0.3, others: 0.954 }, true, 2), [
    "the machine's 2 cores, 0.95 of them used by others",
  ])
})

test('replicas never names a process’s CPU as exhausted if no quota limited it', () => {
  assert.deepEqual(findEnds({ API: 1.2, postgres: 0.2, k6: 0.1 }, false, 4), [
    "no CPU: requests wait for the ledger's commits",
  ])
})

test('replicas compares the rates of two and three processes with that of one', () => {
  const rounds = [1, 2, 3].map((servers) => driven(servers, servers * 1_000 - (servers - 1) * 250))
  assert.deepEqual(replicas.combine(rounds).figures, {
    rate1: 1_000,
    rate2: 1_750,
    ratio2: 1.75,
    rate3: 2_500,
    ratio3: 2.5,
  })
})

test('replicas reports no ratio without a round of one process', () => {
  assert.deepEqual(replicas.combine([driven(3, 900)]).figures, { rate3: 900 })
})

test('parses the number of throttled periods from the cgroup’s cpu.stat', () => {
  const text = 'nr_periods 31\nnr_throttled 9\nthrottled_time 584834172\nnr_bursts 0\nburst_time 0\n'
  assert.deepEqual(parseThrottling(text), { periods: 31, throttledPeriods: 9 })
})

test('a process limited to one CPU uses no more, however many threads it has', async (t) => {
  const child = spawn(process.execPath, ['-e', SPIN_ON_TWO_THREADS], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const quota = limitToOneCpu(child.pid!)
  if (quota === null) return t.skip('the controller cpu of cgroup v1 is not mounted here, or not ours to use')
  t.after(() => quota.release())
  const [text] = (await Array.fromAsync(child.stdout.setEncoding('utf8'))) as [string]
  assert.ok(Number(text) <= 1.2, `it used ${text} cores`)
  assert.ok(quota.read().periods > 0)
})

const SPIN_ON_TWO_THREADS = `
  const { Worker } = require('node:worker_threads')
  for (let i = 0; i < 2; i++) new Worker('for (;;);', { eval: true })
  setTimeout(() => {
    const before = process.cpuUsage(), at = performance.now()
    setTimeout(() => {
      const { user, system } = process.cpuUsage(before)
      console.log((user + system) / 1000 / (performance.now() - at))
      process.exit()
    }, ${SPIN_MS})
  }, 200)`

function driven(servers: number, rate: number): DrivenRound {
  const summary = { figures: { rate }, extras: {} }
  return { round: { name: '', servers }, runs: [{ summary }] } as unknown as DrivenRound
}
