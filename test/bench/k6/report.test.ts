import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { isSustained } from '../../../bench/k6/ceiling.ts'
import { judgeGoal } from '../../../bench/k6/figures.ts'
import { parseOptions } from '../../../bench/k6/options.ts'
import { rowsOf } from '../../../bench/k6/print.ts'
import { makeReport, readPublished, reportName } from '../../../bench/k6/report.ts'
import { medianAndSpread } from '../../../bench/k6/scenarios.ts'
import { writeReport } from '../../../bench/report.ts'
import { madeOf, resultOf, runOf } from './report-fixture.ts'

test('a report is one file of JSON, with the machine, the audit and every second of the run', (t) => {
  const outDir = mkdtempSync(join(tmpdir(), 'tallystick-k6-report-'))
  t.after(() => rmSync(outDir, { recursive: true }))
  const options = parseOptions(['notarize-ramp', '--out', outDir])
  const made = makeReport(madeOf([resultOf()], options))
  const file = writeReport(reportName(made), made, options.outDir)
  assert.equal(basename(file), 'k6-notarize-ramp-short-0123456789ab-20261122T130000Z.json')
  const report = JSON.parse(readFileSync(file, 'utf8'))
  assert.equal(report.ok, true)
  assert.equal(report.rounds[0].audit.found, 250)
  assert.ok(report.rounds[0].runs[0].samples.length > 0)
  assert.ok(report.preflight)
})

test('a report has a fault for a crossed threshold, a failed check, a bad audit or a script’s finding', () => {
  const options = parseOptions(['notarize-ramp'])
  assert.deepEqual(makeReport(madeOf([resultOf()], options)).faults, [])
  const crossed = resultOf({
    runs: [runOf({ thresholds: [{ metric: 'failed', expression: 'rate==0', ok: false }] })],
  })
  assert.deepEqual(makeReport(madeOf([crossed], options)).faults, ['threshold failed: rate==0'])
  const wrong = resultOf({ runs: [runOf({ checks: [{ name: 'it is its own', passes: 8, fails: 2 }] })] })
  assert.deepEqual(makeReport(madeOf([wrong], options)).faults, ['check failed 2 times: it is its own'])
  const lost = resultOf({ faults: ['1 acknowledged records are missing from all ledgers'] })
  const report = makeReport(madeOf([lost], options))
  assert.deepEqual(report.faults, ['audit: 1 acknowledged records are missing from all ledgers'])
  assert.equal(report.ok, false)
  assert.deepEqual(
    makeReport({ ...madeOf([resultOf()], options), findings: { figures: {}, faults: ['x'] } }).faults,
    ['x'],
  )
})

test('growing memory is a fault of a run of two minutes, but not of 30 seconds', () => {
  const options = parseOptions(['notarize-ramp'])
  const memory = {
    API: { mean: 200, slope: 10, max: 240, percent: 12 },
    k6: { mean: 9, slope: 9, max: 9, percent: 90 },
  }
  const faultsAfter = (wallMs: number) =>
    makeReport(madeOf([resultOf({ runs: [{ ...runOf(), memory, wallMs }] })], options)).faults
  assert.deepEqual(faultsAfter(30_000), [])
  assert.deepEqual(faultsAfter(130_000), ['memory of API grew by 12.0 % in the second half'])
})

test('a goal is met, not met, or not tried if the run did not reach its load', () => {
  const full = { profile: 'full' } as const
  assert.equal(judgeGoal({ atLeast: 10 }, 10, full), 'met')
  assert.equal(judgeGoal({ atLeast: 10 }, 9.9, full), 'not met')
  assert.equal(judgeGoal({ atMost: 10 }, 10.1, full), 'not met')
  assert.equal(judgeGoal({ atMost: 10 }, null, full), 'not tried')
  assert.equal(judgeGoal({ atLeast: 10 }, 9, { ...full, tried: 9 }), 'not tried')
  assert.equal(judgeGoal({ atLeast: 10 }, 9, { ...full, tried: 10 }), 'not met')
  assert.equal(judgeGoal(undefined, 5, full), null)
  const short = { profile: 'short' } as const
  assert.equal(judgeGoal({ atMost: 50 }, 20, short), 'not tried')
  assert.equal(judgeGoal({ atLeast: 10_000 }, 50, short), 'not tried')
  assert.equal(judgeGoal({ atMost: 0 }, 1, short), 'not met', 'there must be no errors in any run')
})

test('the table shows published and measured figures, the CPU of k6, our own generator and the goal', () => {
  const about = { options: { profile: 'full' }, extras: {} } as const
  const runs = [
    { cpu: { API: 0.5, k6: 1 }, wallMs: 10_000 },
    { cpu: { API: 0.5, k6: 0.5 }, wallMs: 30_000 },
  ]
  const published = readPublished('dense-producers')
  const rows = rowsOf({ ...about, published, figures: { rate: 12_345.6, ratio: null }, rounds: [{ runs }] })
  const k6 = '0.63 of 1.13 cores'
  assert.deepEqual(rows, [
    ['', 'published elsewhere (other hardware)', 'here', 'k6 itself', 'by npm run bench', 'goal', ''],
    ['records/s, 64 producers × 100', '5,992 /s', '12,346 /s', k6, '55,314 /s', '–', ''],
    ["64 producers of one producer's rate", '–', '–', k6, '–', '≥ 60 %', 'not tried'],
  ])
})

test('a goal beyond the load of the run has a row and is not tried', () => {
  const published = readPublished('mixed-users')
  const extras = { tried: { users: 6_000 } }
  const figures = { users: 6_000, rate: 900, p99: 1_200, failedPercent: 0 }
  const table = rowsOf({ published, figures, extras, options: { profile: 'full' }, rounds: [] })
  assert.deepEqual(
    table.slice(1).map((row) => row.at(-1)),
    ['not tried', '', 'not met', 'met'],
  )
})

test('of three runs the median is reported with its spread; a spread above 10 % is noisy', () => {
  const rounds = [100, 120, 110].map((rate) => ({
    round: { name: '', servers: 1 },
    runs: [runOf({ figures: { rate, readP99: 5 } })],
  }))
  const { figures, extras } = medianAndSpread(rounds)
  assert.deepEqual(figures, { rate: 110, readP99: 5, spreadPercent: (20 / 110) * 100 })
  assert.deepEqual(extras!['noisy'], ['rate'])
})

test('a rate is sustained only if reached with low p99 and nothing dropped, refused or failed', () => {
  const step = (change: object) => {
    const given = { rate: 990, p99: 100, dropped: 0, refused: 0, failed: 0, ...change }
    const { rate, p99, failed, ...extras } = given
    return runOf({ figures: { rate, p99 }, extras: { peakPerSecond: 1_000, ...extras }, failed })
  }
  assert.equal(isSustained(step({})), true)
  for (const change of [{ rate: 960 }, { p99: 251 }, { dropped: 1 }, { refused: 1 }, { failed: 0.001 }])
    assert.equal(isSustained(step(change)), false, JSON.stringify(change))
})
