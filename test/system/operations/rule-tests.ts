import type { AlertCase } from './alert-case.ts'
import { CASES } from './alert-cases.ts'
import type { Alert, Rule } from './alerts-file.ts'
import { HEALTHY, QUIET, type Series } from './healthy-series.ts'
import { quietTest, realLifeTests, rulesOf, SITUATIONS } from './real-life.ts'

export type TestFile = {
  readonly name: string
  readonly interval: string
  readonly rules: readonly Rule[]
  readonly tests: readonly unknown[]
}

/**
 * Returns a file for each alert, with only the rules and series that it needs. A last file checks that no rule fires
 * in a healthy installation.
 */
export function ruleTests(rules: readonly Rule[]): TestFile[] {
  const names = [...new Set(rules.flatMap(({ alert }) => alert ?? []))]
  const files = names.map((alert) => {
    const own = rulesOf(alert, rules)
    const cases = CASES.filter((one) => one.alert === alert)
    const tests = cases.flatMap((one, i) => [
      said(one, own),
      ...realLifeTests(one, i, own).map(({ test }) => test),
    ])
    // With an interval of one minute, cases of several days would take long.
    return { name: alert, interval: cases.some(({ isAlone }) => isAlone) ? '5m' : '1m', rules: own, tests }
  })
  const quiet = [
    ...SITUATIONS.map((situation) => quietTest(situation, {}, 30)),
    ...Object.entries(QUIET).map(([name, series]) => quietTest({ ...SITUATIONS[0]!, name }, series, 30)),
  ]
  return [...files, { name: 'nothing', interval: '1m', rules, tests: quiet.map(({ test }) => test) }]
}

function said(one: AlertCase, rules: readonly Rule[]): unknown {
  return {
    name: `${one.alert} ${JSON.stringify(one.labels ?? {})}`,
    interval: '1m',
    input_series: inputSeries(seriesOf(one)),
    alert_rule_test: [
      { alertname: one.alert, eval_time: `${one.atMinute}m`, exp_alerts: [expected(one, rules)] },
    ],
  }
}

function seriesOf({ series, isAlone, without = [] }: AlertCase): Series {
  if (isAlone) return series
  const kept = Object.entries(HEALTHY).filter(
    ([name]) => !without.some((metric) => name.startsWith(`${metric}{`)),
  )
  return { ...Object.fromEntries(kept), ...series }
}

function inputSeries(series: Series): unknown[] {
  return Object.entries(series).map(([name, values]) => ({ series: name, values }))
}

function expected({ alert, severity, labels, description }: AlertCase, rules: readonly Rule[]): unknown {
  const expectedLabels: Readonly<Record<string, string>> = { namespace: 'ledger', severity, ...labels }
  // The last matching rule is used, because rules of the same name with more labels come later.
  const { annotations } = rules.findLast(
    (one): one is Alert =>
      one.alert === alert &&
      Object.entries(one.labels ?? {}).every(([name, value]) => expectedLabels[name] === value),
  )!
  return {
    exp_labels: expectedLabels,
    exp_annotations: { ...annotations, description },
  }
}
