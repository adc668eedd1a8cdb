import { ERROR_CODES } from '../../../src/errors.ts'
import { type Documented, readReferencePage } from '../../observe/metrics/reference-page.ts'
import { listExpressions } from './dashboard-file.ts'

const AT_MINUTE = 10
/** Values of labels that docs/operate/observe.md does not list. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  code: Object.keys(ERROR_CODES),
  route: ['/v1/records', '/v1/records/batch'],
  method: ['POST'],
  status: ['201'],
}

/**
 * Returns tests of the dashboard's expressions. Each test checks that an expression finds at least one sample. The
 * tests use every metric of docs/operate/observe.md with all of its labels, because wrong labels can be noticed only if
 * samples exist. `rulesFile` contains rules that some expressions need.
 */
export function panelTests(rulesFile: string): unknown {
  const series = ['server', 'worker'].flatMap((process) =>
    readReferencePage()
      .filter(({ processes }) => processes.includes(process))
      .flatMap((metric) => seriesOf(metric, `namespace="ledger", job="metrics", instance="${process}"`)),
  )
  const input = [...new Set(series)].map((name) => ({ series: name, values: `0+60x${AT_MINUTE}` }))
  const expected = listExpressions().map((expr) => ({
    expr: `count(${expr}) > bool 0`,
    eval_time: `${AT_MINUTE}m`,
    exp_samples: [{ labels: '{}', value: 1 }],
  }))
  return {
    rule_files: [rulesFile],
    evaluation_interval: '1m',
    tests: [{ interval: '1m', input_series: input, promql_expr_test: expected }],
  }
}

/** Returns one series for each value of each label, with the first values of the other labels. */
function seriesOf({ name, type, labels }: Documented, target: string): string[] {
  const valuesOf = new Map([...labels].map(([label, values]) => [label, values ?? VALUES[label] ?? ['any']]))
  const first = [...valuesOf].map(([label, [value]]) => [label, value] as const)
  const all = [...valuesOf].flatMap(([label, values]) =>
    values.map((value) =>
      first.map(([one, initial]) => (one === label ? `${one}="${value}"` : `${one}="${initial}"`)),
    ),
  )
  const sets = labels.size === 0 ? [[]] : all
  return sets.flatMap((set) => {
    const text = [...set, target].join(', ')
    if (type !== 'histogram') return [`${name}{${text}}`]
    const buckets = ['0.1', '1', '+Inf'].map((le) => `${name}_bucket{le="${le}", ${text}}`)
    return [...buckets, `${name}_sum{${text}}`, `${name}_count{${text}}`]
  })
}
