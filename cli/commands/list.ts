import type { GetRecordsQuery, LedgerRecord } from '../../sdk/generated/api.ts'
import type { RecordsQuery } from '../../sdk/resources/records.ts'
import { PAGE_ITEMS_MAX } from '../../src/limits.ts'
import { RECORD_STATES } from '../../src/proof/kinds.ts'
import { noArguments, parseChoice, parseCount } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'
import { compact } from '../record-options.ts'

const TERMINAL_LIMIT_DEFAULT = 50
const ORDERS = ['asc', 'desc'] as const

const HELP = `tallystick list [--type TYPE] [--state STATE] [--reference TEXT] … [--limit N]

Records in the order of the chain, newest first: on a terminal the first ${TERMINAL_LIMIT_DEFAULT}, otherwise all, as they come. Filters are
joined by "and" (docs/search.md).

  --type TYPE             name/version of a type
  --state STATE           ${RECORD_STATES.slice(0, 6).join(', ')},
                          ${RECORD_STATES.slice(6).join(', ')}
  --actor AGENT           who wrote it (agt_…)
  --on-behalf-of AGENT    for whom
  --performer AGENT       of a gated record: who delivers
  --principal AGENT       of a gated record: who judges
  --parent RECORD         what follows from that record
  --reference TEXT        exactly one of its references
  --trace-id ID           of its traceparent
  --digest HEX            of its salted payload
  --occurred-after TIME   from this time on, RFC 3339, UTC
  --occurred-before TIME  before this time
  --recorded-after TIME   from this time on
  --recorded-before TIME  before this time
  --order ORDER           asc, or desc (default)
  --limit N               at most so many
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick list --state SUBMITTED
  tallystick list --type order/1 --reference order:4711 --limit 5
  tallystick list --recorded-after 2026-11-22T00:00:00Z | jq -r .id
`

/** The option of each filter. */
const FILTERS = {
  type: 'type',
  actor: 'actor',
  'on-behalf-of': 'onBehalfOf',
  performer: 'performer',
  principal: 'principal',
  parent: 'parent',
  reference: 'reference',
  'trace-id': 'traceId',
  digest: 'digest',
  'occurred-after': 'occurredAfter',
  'occurred-before': 'occurredBefore',
  'recorded-after': 'recordedAfter',
  'recorded-before': 'recordedBefore',
} as const satisfies Record<string, keyof GetRecordsQuery>

const TEXT = { type: 'string' } as const
const OPTIONS = {
  ...(Object.fromEntries(Object.keys(FILTERS).map((option) => [option, TEXT])) as Record<
    keyof typeof FILTERS,
    typeof TEXT
  >),
  state: TEXT,
  order: TEXT,
  limit: TEXT,
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
    const isTable = io.stdout.isTTY && !values.json
    const limit = parseCount(values.limit, '--limit') ?? (isTable ? TERMINAL_LIMIT_DEFAULT : null)
    const query = toQuery(values, limit)
    const { records } = await connect(values)
    await printItems(firstOf(records.list(query), limit, values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})

/** Pages as large as they can be, but not larger than what is asked for. */
function toQuery(values: Values, limit: number | null): RecordsQuery {
  const filters = Object.entries(FILTERS).map(([option, name]) => [
    name,
    values[option as keyof typeof FILTERS],
  ])
  const { state, order } = values
  return {
    ...(Object.fromEntries(filters) as RecordsQuery),
    ...compact({
      state: state === undefined ? undefined : parseChoice(state, RECORD_STATES, '--state'),
      order: order === undefined ? undefined : parseChoice(order, ORDERS, '--order'),
    }),
    limit: Math.min(limit ?? PAGE_ITEMS_MAX, PAGE_ITEMS_MAX),
  }
}

/** Where nobody asked for a limit, it is said that there is more. */
async function* firstOf(
  records: AsyncIterable<LedgerRecord>,
  limit: number | null,
  values: Values,
  io: Io,
): AsyncGenerator<LedgerRecord, void, undefined> {
  let left = limit ?? Number.POSITIVE_INFINITY
  for await (const record of records) {
    if (left-- === 0) {
      if (values.limit === undefined)
        io.stderr.write(`tallystick: there are more: --limit N shows N of them\n`)
      return
    }
    yield record
  }
}
