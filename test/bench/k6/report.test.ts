import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { isHeld } from '../../../bench/k6/ceiling.ts'
import { isMet } from '../../../bench/k6/figures.ts'
import { parseOptions } from '../../../bench/k6/options.ts'
import { rowsOf } from '../../../bench/k6/print.ts'
import { makeReport, readPublished, writeReport } from '../../../bench/k6/report.ts'
import { medianAndSpread } from '../../../bench/k6/scenarios.ts'
import { madeOf, resultOf, runOf } from './report-fixture.ts'

test('a report is one file that needs no network, and says the figures, the machine, the audit and the plots', (t) => {
  const outDir = mkdtempSync(join(tmpdir(), 'tallystick-k6-report-'))
  t.after(() => rmSync(outDir, { recursive: true }))
  const options = parseOptions(['notarize-ramp', '--out', outDir, '--plots', join(outDir, 'plots')])
  const [json, html, ...plots] = writeReport(makeReport(madeOf([resultOf()], options)), options)
  assert.equal(basename(html!), 'k6-notarize-ramp-short-0123456789ab-20261122T130000Z.html')
  const page = readFileSync(html!, 'utf8')
  const references = page
    .match(/(https?:)?\/\/[^"'\s<)]+/g)!
    .filter((url) => url !== 'http://www.w3.org/2000/svg')
  assert.deepEqual(references, [])
  assert.doesNotMatch(page, /<(script|link|img|iframe)|@import|url\(/i)
  for (const said of [
    '224 ms',
    '60 /s',
    'not met',
    'Some CPU',
    'p50 0.10 ms',
    '250 found in 260 entries',
    'fsync=on',
  ])
    assert.ok(page.includes(said), said)
  assert.equal(page.match(/<svg /g)!.length, 6)
  assert.equal(plots.length, 6)
  for (const plot of plots) assert.match(readFileSync(plot, 'utf8'), /^<svg class="plot" xmlns=/)
  assert.equal(JSON.parse(readFileSync(json!, 'utf8')).ok, true)
  assert.ok(existsSync(json!))
})

test('a report fails where a threshold is crossed, a check or an audit is bad, or a script’s own finding is', () => {
  const options = parseOptions(['notarize-ramp'])
  assert.deepEqual(makeReport(madeOf([resultOf()], options)).faults, [])
  const crossed = resultOf({
    runs: [runOf({ thresholds: [{ metric: 'failed', expression: 'rate==0', ok: false }] })],
  })
  assert.deepEqual(makeReport(madeOf([crossed], options)).faults, ['threshold failed: rate==0'])
  const wrong = resultOf({ runs: [runOf({ checks: [{ name: 'it is its own', passes: 8, fails: 2 }] })] })
  assert.deepEqual(makeReport(madeOf([wrong], options)).faults, ['check failed 2 times: it is its own'])
  const lost = resultOf({ faults: ['1 acknowledged records are in no ledger'] })
  const report = makeReport(madeOf([lost], options))
  assert.deepEqual(report.faults, ['audit: 1 acknowledged records are in no ledger'])
  assert.equal(report.ok, false)
  assert.deepEqual(
    makeReport({ ...madeOf([resultOf()], options), findings: { figures: {}, faults: ['x'] } }).faults,
    ['x'],
  )
})

test('memory that grows fails a run of two minutes, and says nothing of one of seconds', () => {
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

test('a goal is met, not met, or not judged where nothing was measured', () => {
  assert.equal(isMet({ atLeast: 10 }, 10), true)
  assert.equal(isMet({ atLeast: 10 }, 9.9), false)
  assert.equal(isMet({ atMost: 10 }, 10.1), false)
  assert.equal(isMet({ atMost: 10 }, null), null)
  assert.equal(isMet(undefined, 5), null)
})

test('the table has what was published, what was measured and the goal, and leaves out what was not measured', () => {
  const rows = rowsOf({
    published: readPublished('dense-producers'),
    figures: { rate: 12_345.6, ratio: null },
  })
  assert.deepEqual(rows, [
    ['', 'published elsewhere (other hardware)', 'here', 'goal', ''],
    ['records/s, 64 producers × 100', '5,992 /s', '12,346 /s', '–', ''],
    ["64 producers of one producer's rate", '–', '–', '≥ 60 %', ''],
  ])
})

test('of three runs the median counts, with its spread, and what spreads by more than a tenth is noisy', () => {
  const rounds = [100, 120, 110].map((rate) => ({
    round: { name: '', servers: 1 },
    runs: [runOf({ figures: { rate, readP99: 5 } })],
  }))
  const { figures, extras } = medianAndSpread(rounds)
  assert.deepEqual(figures, { rate: 110, readP99: 5, spreadPercent: (20 / 110) * 100 })
  assert.deepEqual(extras!['noisy'], ['rate'])
})

test('a rate is held only if it is reached, quickly, and nothing was dropped, refused or failed', () => {
  const step = (change: object) => {
    const given = { rate: 990, p99: 100, dropped: 0, refused: 0, failed: 0, ...change }
    const { rate, p99, failed, ...extras } = given
    return runOf({ figures: { rate, p99 }, extras: { peakPerSecond: 1_000, ...extras }, failed })
  }
  assert.equal(isHeld(step({})), true)
  for (const change of [{ rate: 960 }, { p99: 251 }, { dropped: 1 }, { refused: 1 }, { failed: 0.001 }])
    assert.equal(isHeld(step(change)), false, JSON.stringify(change))
})
