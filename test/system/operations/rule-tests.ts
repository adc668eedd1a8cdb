import { type AlertCase, CASES, HEALTHY, QUIET } from './alert-cases.ts'
import type { Alert } from './alerts-file.ts'

const HEALTHY_AT_MINUTES = [30, 100, 450]

/** Input of `promtool test rules`: each case, and that nothing fires while all is well. */
export function ruleTests(rulesFile: string, alerts: readonly Alert[]): unknown {
  const names = [...new Set(alerts.map(({ alert }) => alert))]
  const healthy = Object.entries({ 'a healthy installation': {}, ...QUIET }).map(([name, series]) => ({
    name,
    interval: '1m',
    input_series: inputSeries({ ...HEALTHY, ...series }),
    alert_rule_test: HEALTHY_AT_MINUTES.flatMap((minute) =>
      names.map((alertname) => ({ alertname, eval_time: `${minute}m`, exp_alerts: [] })),
    ),
  }))
  const cases = CASES.map((one) => ({
    name: `${one.alert} ${JSON.stringify(one.labels ?? {})}`,
    interval: '1m',
    input_series: inputSeries(seriesOf(one)),
    alert_rule_test: [
      { alertname: one.alert, eval_time: `${one.atMinute}m`, exp_alerts: [expected(one, alerts)] },
    ],
  }))
  return { rule_files: [rulesFile], evaluation_interval: '1m', tests: [...healthy, ...cases] }
}

function seriesOf({ series, isAlone, without = [] }: AlertCase): Readonly<Record<string, string>> {
  if (isAlone) return series
  const kept = Object.entries(HEALTHY).filter(
    ([name]) => !without.some((metric) => name.startsWith(`${metric}{`)),
  )
  return { ...Object.fromEntries(kept), ...series }
}

function inputSeries(series: Readonly<Record<string, string>>): unknown[] {
  return Object.entries(series).map(([name, values]) => ({ series: name, values }))
}

function expected({ alert, severity, labels, description }: AlertCase, alerts: readonly Alert[]): unknown {
  const expectedLabels: Readonly<Record<string, string>> = { namespace: 'ledger', severity, ...labels }
  // The last, because rules of the same name that have more labels come later.
  const { annotations } = alerts.findLast(
    (one) =>
      one.alert === alert &&
      Object.entries(one.labels).every(([name, value]) => expectedLabels[name] === value),
  )!
  return {
    exp_labels: expectedLabels,
    exp_annotations: { ...annotations, description },
  }
}
