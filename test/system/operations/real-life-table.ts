import { CASES } from './alert-cases.ts'
import { nameOf, QUIET_COLUMNS, SITUATIONS } from './real-life.ts'

const COLUMNS = [...SITUATIONS.map(({ name }) => name), ...QUIET_COLUMNS]

/**
 * Formats a table of every alert by situation, from promtool's JUnit results. A row stands for all cases of an alert. A
 * cell says `fires` if the alert fires within its `for` and five minutes, and not before the fault.
 */
export function table(junit: string): string {
  const failed = new Map(
    [...junit.matchAll(/<testcase name="([^"]*)">(<failure>)?/g)].map(([, name, failure]) => [
      name!,
      failure !== undefined,
    ]),
  )
  const indexes = new Map<string, number>()
  const rows = new Map<string, (boolean | undefined)[][]>()
  for (const one of CASES) {
    const index = indexes.get(one.alert) ?? 0
    indexes.set(one.alert, index + 1)
    const cells = COLUMNS.map((column) => failed.get(nameOf(one, index, column)))
    const name = `${one.alert} (${one.severity})`
    rows.set(name, [...(rows.get(name) ?? []), cells])
  }
  const lines = [...rows].map(([name, cases]) => [
    name,
    String(cases.length),
    ...COLUMNS.map((column, i) =>
      wordOf(
        column,
        cases.map((cells) => cells[i]),
      ),
    ),
  ])
  const quiet = COLUMNS.map((column) => failed.get(`nothing | ${column}`)).map((value) =>
    value === undefined ? '' : value ? 'NOT SILENT' : 'silent',
  )
  const head = ['Alert', 'cases', ...COLUMNS]
  return [head, head.map(() => '---'), ...lines, ['none, while all is well', '', ...quiet]]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

function wordOf(column: string, results: readonly (boolean | undefined)[]): string {
  const known = results.filter((value) => value !== undefined)
  if (known.length === 0) return ''
  const isQuiet = (QUIET_COLUMNS as readonly string[]).includes(column)
  if (known.some((value) => value)) return isQuiet ? 'NOT SILENT' : 'WRONG'
  return isQuiet ? 'silent' : 'fires'
}
