import type { LedgerRecord } from '../../sdk/generated/api.ts'
import type { RecordsQuery } from '../../sdk/resources/records.ts'
import { RECORD_STATES } from '../../src/proof/statement/kinds.ts'
import {
  FILTER_ENTRIES,
  type FilterName,
  type RECORD_FILTERS,
} from '../../src/proof/statement/record-filters.ts'
import { PAGE_ITEMS_MAX } from '../../src/records/limits.ts'
import { noArguments, parseChoice } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited, limitOf } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const ORDERS = ['asc', 'desc'] as const

type OptionOf<Name extends FilterName> = (typeof RECORD_FILTERS)[Name]['option'][0]

const FILTER_HELP = FILTER_ENTRIES.map(
  ([
    name,
    {
      option: [option, value, help],
    },
  ]) => {
    const states = [RECORD_STATES.slice(0, 6).join(', '), RECORD_STATES.slice(6).join(', ')]
    return (
      `  --${option} ${value}`.padEnd(26) + (name === 'state' ? states.join(`,\n${' '.repeat(26)}`) : help)
    )
  },
).join('\n')

const HELP = `tallystick list [--type TYPE] [--state STATE] [--reference TEXT] … [--limit N]

Lists records in the order of the chain, newest first. A record must match all filters
(docs/guides/search-and-reports.md).

${FILTER_HELP}
  --order ORDER           asc, or desc (default)
${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick list --state SUBMITTED
  tallystick list --type order/1 --reference order:4711 --limit 5
  tallystick list --recorded-after 2026-11-22T00:00:00Z | jq -r .id
`

const TEXT = { type: 'string' } as const
const OPTIONS = {
  ...(Object.fromEntries(FILTER_ENTRIES.map(([, { option }]) => [option[0], TEXT])) as Record<
    OptionOf<FilterName>,
    typeof TEXT
  >),
  order: TEXT,
  ...LIMIT_OPTIONS,
  ...CONNECTION_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const

type Values = ValuesOf<typeof OPTIONS>

const COLUMNS: readonly Column<LedgerRecord>[] = [
  ['ID', ({ id }) => id],
  ['TYPE', ({ type }) => type],
  ['STATE', ({ state }) => state],
  ['RECORDED', ({ recordedAt }) => recordedAt],
  ['ACTOR', ({ actor }) => actor],
  ['PAYLOAD', ({ payload }) => (payload === null ? '(erased)' : JSON.stringify(payload))],
]

export const list = defineCommand({
  help: HELP,
  options: OPTIONS,
  async run(values, positionals, io) {
    noArguments(positionals, 'list, with filters as options')
    const query = toQuery(values, limitOf(values, io))
    const { records } = await connect(values)
    await printItems(limited(records.list(query), values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})

/** Makes the query. Its page size is as large as possible, but never larger than the limit. */
function toQuery(values: Values, limit: number): RecordsQuery {
  const filters = FILTER_ENTRIES.map(([name, { option }]) => [
    name,
    values[option[0] as OptionOf<FilterName>],
  ])
  const { state, order } = values
  return {
    ...(Object.fromEntries(filters) as RecordsQuery),
    state: state === undefined ? undefined : parseChoice(state, RECORD_STATES, '--state'),
    order: order === undefined ? undefined : parseChoice(order, ORDERS, '--order'),
    limit: Math.min(limit, PAGE_ITEMS_MAX),
  }
}
