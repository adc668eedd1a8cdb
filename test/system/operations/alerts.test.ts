import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CASES } from './alert-cases.ts'
import { RUNBOOKS_DIR, readAlerts, readRules, runbookSection } from './alerts-file.ts'
import { findStrangers } from './promql.ts'
import { expand, nameOf, SITUATIONS } from './real-life.ts'
import { ruleTests } from './rule-tests.ts'

const ALERTS = readAlerts()
const NAMES = [...new Set(ALERTS.map(({ alert }) => alert))]

test('every alert uses metrics and labels that processes export', () => {
  for (const { expr } of readRules()) assert.deepEqual(findStrangers(expr, ['refused', 'window']), [])
})

test('every recorded series is used by a rule, and every series that a rule uses is recorded', () => {
  const recorded = readRules().flatMap(({ record }) => record ?? [])
  const asked = readRules().flatMap(({ expr }) =>
    [...expr.matchAll(/tallystick:[\w:]+/g)].map(([name]) => name),
  )
  assert.deepEqual([...new Set(asked)].sort(), recorded.toSorted())
})

test('findStrangers reports unknown metrics, labels and label values', () => {
  assert.deepEqual(findStrangers('rate(tallystick_nothing_total[5m])'), [
    'no process has tallystick_nothing_total',
  ])
  const wrong = 'sum by (colour) (tallystick_jobs{queue="audits", state=~"waiting|lost", tenant="x"})'
  assert.deepEqual(findStrangers(wrong), [
    'tallystick_jobs has no queue="audits"',
    'tallystick_jobs has no state="lost"',
    'tallystick_jobs has no label tenant',
    `no label colour: ${wrong}`,
  ])
  assert.deepEqual(findStrangers('tallystick_http_problems_total{code="overload"}'), [
    'tallystick_http_problems_total has no code="overload"',
  ])
})

test('every alert has a severity, a summary, a description and a section of the runbooks', () => {
  for (const { alert, labels, annotations } of ALERTS) {
    assert.match(alert, /^Tallystick([A-Z][a-z]+)+$/)
    assert.match(labels['severity']!, /^(page|ticket)$/, alert)
    assert.match(annotations['summary']!, /^[A-Z][^.{]+$/, alert)
    assert.match(annotations['description']!, /\$value/, alert)
    assert.ok(runbookSection(annotations['runbook']!), `${alert}: there is no ${annotations['runbook']}`)
  }
})

test('every alert has one complete section of its own in the runbooks', () => {
  const runbooks = NAMES.map((name) => [...runbooksOf(name)])
  assert.ok(runbooks.every(({ length }) => length === 1))
  assert.equal(new Set(runbooks.flat()).size, NAMES.length)
  for (const name of NAMES) {
    const { text } = runbookSection(runbooksOf(name)[0]!)!
    assert.deepEqual(
      [...text.matchAll(/^\*\*(Check first|Causes|Over when|Lost)\*\*/gm)].map(([, label]) => label),
      ['Check first', 'Causes', 'Over when', 'Lost'],
      name,
    )
    const [, alert, severity] = /^\n`(\w+)`(?:, |[:.] )(page|ticket)/i.exec(text) ?? []
    assert.deepEqual([alert, severity?.toLowerCase()], [name, severitiesOf(name)[0]])
  }
})

test('every page of the runbooks has the section of an alert', () => {
  const pages = readdirSync(RUNBOOKS_DIR).filter((name) => name !== 'README.md')
  const led = NAMES.flatMap(runbooksOf).map((runbook) => runbook.split('#')[0])
  assert.deepEqual(pages.sort(), [...new Set(led)].sort())
})

test('the index lists every section with title, severity and alert, pages first', () => {
  const index = readFileSync(join(RUNBOOKS_DIR, 'README.md'), 'utf8')
  const rows = [...index.matchAll(/^\| \[(.+)\]\((.+)\) \| (.+) \| `(.+)` \|$/gm)].map((match) =>
    match.slice(1),
  )
  const expected = NAMES.map((name) => {
    const [runbook] = runbooksOf(name)
    return [runbookSection(runbook!)!.title, runbook!, severitiesOf(name).join(', '), name]
  })
  assert.deepEqual(rows.toSorted(byAlert), expected.toSorted(byAlert))
  const firstTicket = rows.findIndex(([, , severity]) => severity === 'ticket')
  assert.ok(rows.slice(firstTicket).every(([, , severity]) => severity === 'ticket'))
})

test('every alert has a case that fires at its severity (npm run drill -- alerts tries them)', () => {
  const tried = CASES.map(({ alert, severity }) => `${alert} ${severity}`)
  const all = ALERTS.map(({ alert, labels }) => `${alert} ${labels['severity']}`)
  assert.deepEqual([...new Set(tried)].sort(), [...new Set(all)].sort())
})

test('promtool tests exist for every case and situation, and for the healthy state', () => {
  const files = ruleTests(readRules())
  const tried = new Set(files.flatMap(({ tests }) => (tests as { name: string }[]).map(({ name }) => name)))
  const index = (one: (typeof CASES)[number]) => CASES.filter(({ alert }) => alert === one.alert).indexOf(one)
  const missing = [
    ...CASES.flatMap((one) => SITUATIONS.map(({ name }) => nameOf(one, index(one), name))),
    ...SITUATIONS.map(({ name }) => `nothing | ${name}`),
  ].filter((name) => !tried.has(name))
  assert.deepEqual(missing, [])
})

test('series are expanded from promtool’s notation', () => {
  assert.deepEqual(expand('1x2 stale _x2 0+5x2 7-2x1'), [1, 1, 1, null, null, null, 0, 5, 10, 7, 5])
  assert.throws(() => expand('a'), /not understood: a/)
})

function severitiesOf(name: string): string[] {
  return [...new Set(ALERTS.filter(({ alert }) => alert === name).map(({ labels }) => labels['severity']!))]
}

function runbooksOf(name: string): string[] {
  const own = ALERTS.filter(({ alert }) => alert === name)
  return [...new Set(own.map(({ annotations }) => annotations['runbook']!))]
}

function byAlert(one: readonly string[], other: readonly string[]): number {
  return one[3]! < other[3]! ? -1 : 1
}
