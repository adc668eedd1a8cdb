import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { parseOptions } from '../../bench/options.ts'
import { summarizeProfile } from '../../bench/profile.ts'
import { checkSamples } from '../../bench/samples.ts'
import { cpuBetween, takeCpuSnapshot } from '../../bench/watch/cpu.ts'
import { stepsBetween } from '../../bench/watch/steps.ts'
import { makeLatencies, summarize } from '../../cli/preflight/latencies.ts'

test('options have defaults, accept lists, and are refused if unknown or out of range', () => {
  const single = parseOptions(['single'])
  assert.deepEqual(single.connections, [128, 256])
  assert.deepEqual(single.servers, [1])
  assert.equal(single.fsyncGateMs, 5)
  assert.ok(single.worker && single.arrival && single.reference)
  const batch = parseOptions([
    'batch',
    '--producers',
    '1,64',
    '--servers',
    '1,2',
    '--no-worker',
    '--duration',
    '0.5',
  ])
  assert.deepEqual([batch.connections, batch.servers, batch.worker], [[1, 64], [1, 2], false])
  assert.equal(batch.durationMs, 500)
  assert.deepEqual(parseOptions(['overload', '--shares', '2,10']).shares, [2, 10])
  const lifecycle = parseOptions(['lifecycle', '--clients', '32', '--gate', 'auto'])
  assert.deepEqual([lifecycle.connections, lifecycle.gate], [[32], 'auto'])
  const notarizer = parseOptions(['notarizer', '--producers', '3'])
  assert.deepEqual([notarizer.connections, notarizer.batchItems], [[3], 1_000])
  for (const args of [
    [],
    ['double'],
    ['single', 'batch'],
    ['single', '--connections', '0'],
    ['single', '--connections', 'many'],
    ['batch', '--batch-size', '2001'],
    ['single', '--duration', '-1'],
    ['lifecycle', '--clients', '0'],
    ['lifecycle', '--gate', 'nobody'],
    ['single', '--unknown'],
  ]) {
    assert.throws(() => parseOptions(args), Error, args.join(' '))
  }
})

test('percentiles of a known distribution are right to three digits', () => {
  const latencies = makeLatencies()
  for (let ms = 1; ms <= 1000; ms++) latencies.record(ms)
  const { p50, p90, p99, p999, max, count } = summarize(latencies)
  const near = (actual: number, ms: number) =>
    assert.ok(Math.abs(actual / 1e6 - ms) <= ms * 0.002, `${actual} for ${ms} ms`)
  near(p50, 500)
  near(p90, 900)
  near(p99, 990)
  near(p999, 999)
  near(max, 1000)
  assert.equal(count, 1000)
  assert.equal(summarize(makeLatencies()).p99, 0)
})

test('CPU is counted per named process, and separately for other processes', async () => {
  const child = spawn(process.execPath, ['-e', 'for (;;) ;'])
  const groups = { processes: { server: [child.pid!] }, postmaster: null }
  try {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const before = takeCpuSnapshot(groups)
    await new Promise((resolve) => setTimeout(resolve, 500))
    const use = cpuBetween(before, takeCpuSnapshot(groups))
    // The upper limit is one core. The lower limit is small, because other processes may use most of the core.
    assert.ok(use['server']! > 0.05 && use['server']! < 1.1, `server ${use['server']}`)
    assert.ok('others' in use && 'interrupts' in use && !('total' in use))
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

test('a profile is summed by self time, without idle time, with C++ time counted for its caller', () => {
  const node = (id: number, functionName: string, url = '', children: number[] = []) => ({
    id,
    callFrame: { functionName, url, lineNumber: 9 },
    children,
  })
  const summary = summarizeProfile(
    {
      nodes: [
        node(1, '(idle)'),
        node(2, '(garbage collector)'),
        node(3, 'seal', 'file:///app/src/signing/native.ts'),
        node(4, 'query', 'file:///app/node_modules/pg/lib/client.js', [5]),
        node(5, 'writev'),
      ],
      samples: [1, 2, 3, 3, 4, 5],
      timeDeltas: [1000, 100, 200, 300, 150, 250],
    },
    10,
  )
  assert.deepEqual(
    summary.groups.map((line) => [line.name, line.share, line.microsPerItem]),
    [
      ['signing and hashing', 0.5, 50],
      ['pg', 0.4, 40],
      ['garbage collector', 0.1, 10],
    ],
  )
  assert.deepEqual(summary.functions.map((line) => line.name).slice(0, 2), [
    'seal src/signing/native.ts:10',
    'writev of query node_modules/pg/lib/client.js:10',
  ])
})

test('Postgres’ share of a request’s time is the rest after all other steps', () => {
  const sums = (seconds: number, count: number) => ({
    ...{ 'begin sum': 9 * seconds, 'begin count': count, 'prepare sum': seconds, 'prepare count': count },
    ...{ 'wait sum': 2 * seconds, 'wait count': count, 'answer sum': 3 * seconds, 'answer count': count },
    ...{ sum: 10 * seconds, count },
  })
  const steps = stepsBetween(sums(1, 100), sums(2, 1_100))
  assert.deepEqual(steps, { begin: 9, prepare: 1, wait: 2, answer: 3, postgres: 4 })
})

test('a sampled 201 must have the members of a record’s or batch’s answer', () => {
  const id = 'rec_01m8ten1x0e1xfmh8cvzvfr3zx'
  const hash = 'a'.repeat(64)
  const entry = { seq: 4, leaf: hash, chain: hash }
  const record = { id, state: 'RECORDED', digest: hash, entry }
  const sample = (value: object) => [{ status: 201, body: JSON.stringify(value) }]
  assert.equal(checkSamples(sample(record), 'record', 1), 1)
  assert.equal(checkSamples([{ status: 503, body: 'busy' }], 'record', 1), 0)
  assert.throws(
    () => checkSamples(sample({ ...record, entry: { ...entry, chain: '' } }), 'record', 1),
    /chain/,
  )
  assert.throws(() => checkSamples(sample({ ...record, state: 'LOST' }), 'record', 1), /state/)
  const batch = { batch: 'bat_01m8ten1x0e1xfmh8cvzvfr3zx', entry, records: [{ id, digest: hash }] }
  assert.equal(checkSamples(sample(batch), 'batch', 1), 1)
  assert.throws(() => checkSamples(sample(batch), 'batch', 2), /records/)
})
