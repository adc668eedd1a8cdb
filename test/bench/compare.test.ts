import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readK6Report, readReport, readRetention, tableReader } from '../../bench/compare/figures.ts'
import { KINDS, parseKinds, parseSeconds } from '../../bench/compare/kinds.ts'
import { compareRuns, conclude, judge, ratioCells, tableRows } from '../../bench/compare/ratios.ts'
import { parseOptions } from '../../bench/options.ts'
import { BENCHMARKS } from '../../tools/bench.ts'

const latency = (p50Ms: number, p99Ms: number, count = 1) => ({ count, p50: p50Ms * 1e6, p99: p99Ms * 1e6 })
const phase = (name: string, rate: number, cpu: object, refusals = latency(0, 0, 0)) => ({
  ...{ name, connections: 128, cpu },
  load: { itemsPerSecond: rate, latency: latency(2, 9), refusals },
})
type Report = Parameters<typeof readReport>[0]
const report = (phases: object[], references: object[] = []) =>
  ({ rounds: [{ phases }], references }) as unknown as Report

test('a report of a scenario gives rate, latencies and CPU per record, and the busiest window', () => {
  const { figures, others } = readReport(
    report([
      phase('128 connections', 5_000, { server: 0.5, postgres: 0.25, load: 0.1, others: 0.02 }),
      phase('2 × the ceiling', 4_000, { others: 0.4 }, latency(11, 265)),
    ]),
  )
  assert.deepEqual(
    figures.map(({ row, measure, value }) => [row, measure, value]),
    [
      ['128 connections', 'a second', 5_000],
      ['128 connections', 'p50 ms', 2],
      ['128 connections', 'p99 ms', 9],
      ['128 connections', 'server µs', 100],
      ['128 connections', 'postgres µs', 50],
      ['2 × the ceiling', 'a second', 4_000],
      ['2 × the ceiling', 'p50 ms', 2],
      ['2 × the ceiling', 'p99 ms', 9],
      ['2 × the ceiling, refused', 'p50 ms', 11],
      ['2 × the ceiling, refused', 'p99 ms', 265],
    ],
  )
  assert.equal(others, 0.4)
  const compared = readReport(report([phase('a', 600, {})], [{ connections: 128, rowsPerSecond: 1_000 }]))
  assert.deepEqual(compared.figures[1], { row: 'a', measure: '× plain inserts', value: 0.6 })
})

test('a report of k6 gives its published figures by their unit, without those that it lacks', () => {
  const figures = [
    { id: 'rate', name: 'entries/s', unit: '/s' },
    { id: 'lagP50', name: 'lag p50', unit: 'ms' },
    { id: 'lagP99', name: 'lag p99', unit: 'ms' },
    { id: 'drainRate', name: 'a backlog', unit: '/s' },
    { id: 'faults', name: 'faults', unit: '%' },
  ]
  const found = readK6Report({
    published: { figures },
    figures: { rate: 100, lagP50: 31, lagP99: 141, drainRate: null, faults: 1 },
    rounds: [{ runs: [{ cpu: { others: 0.3 } }] }],
  } as unknown as Parameters<typeof readK6Report>[0])
  assert.deepEqual(found, {
    figures: [
      { row: 'entries/s', measure: 'a second', value: 100 },
      { row: 'lag p50', measure: 'p50 ms', value: 31 },
      { row: 'lag p99', measure: 'p99 ms', value: 141 },
    ],
    others: 0.3,
  })
})

test('printed tables of each script are read, and an output without the table is an error', () => {
  const read = (kind: string, lines: string[]) =>
    KINDS[kind]!.read({ text: lines.join('\n'), report: null }).figures.map(({ row, measure, value }) => [
      ...[row, measure, value],
    ])
  assert.deepEqual(
    read('otlp', [
      '          spans/s  of batches  CPU of the server, us a span  of Postgres  windows, spans/s',
      'OTLP: all bodies were sent before the window ended',
      'OTLP        26,288       119 %                          21.5          4.0       26288 26001',
    ]),
    [
      ['OTLP', 'a second', 26_288],
      ['OTLP', 'server µs', 21.5],
      ['OTLP', 'postgres µs', 4],
    ],
  )
  assert.deepEqual(
    read('lists', [
      '10 a page      pages/s  p50 ms    p99  µs/page: server  postgres  load  others  KB/page',
      'single: first     2325    6.21  12.90              301        99    20       5      8.1',
    ]),
    [
      ['single: first', 'a second', 2_325],
      ['single: first', 'p50 ms', 6.21],
      ['single: first', 'p99 ms', 12.9],
      ['single: first', 'server µs', 301],
      ['single: first', 'postgres µs', 99],
    ],
  )
  assert.deepEqual(
    read('search', [
      'ms          items  small p50   p99  large p50   p99  ratio p50   p99',
      'by type       20…       0.84  1.10       0.91  1.20       1.08  1.09',
      '         MB  bytes/record',
      'entries  12           120',
    ]),
    [
      ['by type', 'p50 ms', 0.91],
      ['by type', 'p99 ms', 1.2],
    ],
  )
  assert.deepEqual(read('evidence', ['receipts, /s  752']), [['receipts, /s', 'a second', 752]])
  assert.deepEqual(
    read('proofs', ['inclusion  100,000  17.00    2.20  14.10           1.02      3.0     56']),
    [
      ['inclusion', 'p50 ms', 2.2],
      ['inclusion', 'p99 ms', 14.1],
    ],
  )
  assert.deepEqual(
    read('cells', ['batch, one, directly  73451  73  48.0 ms  126.0 ms  1.71 · 0.00']).map(
      ([, , value]) => value,
    ),
    [73_451, 48, 126],
  )
  const sweep = 'sweeps with 0.5 of the time, CPU of the worker 141 us a document, of Postgres 135 us, worker'
  assert.deepEqual(read('retention', [`21,000 documents in 3.9 s: 5,346 documents/s, ${sweep}`]), [
    ['documents', 'a second', 5_346],
    ['documents', 'worker µs', 141],
    ['documents', 'postgres µs', 135],
  ])
  assert.throws(() => read('lists', ['verified']), /no row/)
  assert.throws(() => readRetention('verified'), /no documents/)
  assert.throws(() => tableReader(/^a/, ['a second'])('a  fast'), /fast is no number/)
})

test('a ratio is that of the medians, with the lowest and highest ratio of a round', () => {
  const run = (rate: number) => [{ row: 'x', measure: 'a second', value: rate } as const]
  const [found] = compareRuns([run(90), run(400), run(100)], [run(100), run(200), run(125)])
  assert.deepEqual(found, {
    ...{ row: 'x', measure: 'a second', mine: 100, other: 125, ratio: 0.8 },
    ...{ lowest: 0.8, highest: 2, verdict: 'worse' },
  })
  assert.equal(compareRuns([run(1), run(3)], [run(4), run(4)])[0]!.ratio, 0.5)
  assert.deepEqual(ratioCells('k', found!), [
    'k: x',
    'a second',
    '100',
    '125',
    '0.80',
    '0.80 to 2.00',
    'worse',
  ])
})

test('a figure that one tree lacks, or whose divisor is 0, is shown and not judged', () => {
  const run = (value: number) => [{ row: 'x', measure: 'p99 ms', value } as const]
  const [absent] = compareRuns([run(5), []], [run(5), run(5)])
  assert.deepEqual([absent!.mine, absent!.other, absent!.verdict], [null, 5, 'not compared'])
  assert.deepEqual(ratioCells('k', absent!).slice(2), ['–', '5', '–', '–', 'not compared'])
  assert.equal(compareRuns([run(5)], [run(0)])[0]!.verdict, 'not compared')
  // The opposite is a loss: this tree has no rate at all.
  const rate = (value: number) => [{ row: 'x', measure: 'a second', value } as const]
  assert.equal(compareRuns([rate(0)], [rate(5)])[0]!.verdict, 'worse')
})

test('more is better for rates and less for times, each within its tolerance', () => {
  assert.deepEqual(
    [0.89, 0.91, 1.1, 1.12].map((ratio) => judge('a second', ratio)),
    ['worse', 'within tolerance', 'within tolerance', 'better'],
  )
  assert.deepEqual(
    [0.75, 0.78, 1.29, 1.31].map((ratio) => judge('p99 ms', ratio)),
    ['better', 'within tolerance', 'within tolerance', 'worse'],
  )
  assert.deepEqual(
    [0.9, 1.09, 1.11].map((ratio) => judge('server µs', ratio)),
    ['better', 'within tolerance', 'worse'],
  )
})

test('a comparison passes only if no figure is worse and nothing failed', () => {
  const ratiosOf = (mine: number) => {
    const run = (value: number) => [{ row: 'x', measure: 'server µs', value } as const]
    return compareRuns([run(mine)], [run(100)])
  }
  const counts = { runs: 6, busy: 1 }
  const busy = 'machine busy in 1 of 6 runs'
  const within = ratiosOf(105)
  assert.deepEqual(conclude(within, [], counts), { ok: true, lines: [busy] })
  assert.deepEqual(conclude(within, ['otlp failed'], counts), { ok: false, lines: ['! otlp failed', busy] })
  assert.deepEqual(conclude([...within, ...ratiosOf(120)], [], counts), {
    ok: false,
    lines: [busy, '1 of 2 figures worse than their tolerance'],
  })
  assert.ok(conclude(ratiosOf(50), [], counts).ok)
})

test('a row of the first table has rate, latencies, notes, and the kind by which it is measured', () => {
  const figures = [
    { row: '64 connections', measure: 'a second', value: 6_640.4 },
    { row: '64 connections', measure: 'p50 ms', value: 8.234 },
    { row: '64 connections', measure: 'server µs', value: 126.2 },
    { row: '64 connections', measure: '× plain inserts', value: 0.654 },
    { row: '256 connections', measure: 'p99 ms', value: 61 },
  ] as const
  assert.deepEqual(tableRows('single', figures), [
    '| **single**, 64 connections (0.65 × plain inserts; CPU: server 126 µs) | 6,640 | 8.23 |  | `single` |',
    '| … 256 connections |  |  | 61 | `single` |',
  ])
})

test('kinds are chosen by name, and their options are known to the scenarios', () => {
  assert.deepEqual(parseKinds('batch,single', ['otlp']), ['batch', 'single'])
  assert.deepEqual(parseKinds(undefined, ['otlp']), ['otlp'])
  assert.throws(() => parseKinds('batch,constructor', []), /no kind constructor/)
  assert.deepEqual([parseSeconds('1.5'), parseSeconds('600')], [1.5, 600])
  for (const text of ['0', '601', 'x']) assert.throws(() => parseSeconds(text), /--duration/)
  for (const { from, command } of Object.values(KINDS)) {
    const [script, ...args] = command(2)
    assert.match(script!, { scenario: /bench\.ts$/, k6: /k6/, printed: /micro/ }[from])
    if (from === 'scenario') assert.equal(parseOptions(args).durationMs, 2_000)
  }
  const help = BENCHMARKS['compare']!.words!.map(([, meaning]) => meaning).join(' ')
  assert.ok(help.includes(Object.keys(KINDS).join(', ')), help)
})
