import type { Hold } from '../../sdk/generated/api.ts'
import { onlyArgument, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { listItems } from '../resource.ts'
import { UsageError } from '../run.ts'
import { NARROW_HELP, NARROW_OPTIONS, narrowOf } from './retention.ts'

const SET_HELP = `tallystick holds set CASE [--type TYPE] [--agent AGENT] [--record RECORD]… | --all

Holds records: no document of theirs is erased, by a rule or by a request, until the hold is lifted (docs/retention.md). Records must match all
that is said; several holds on one add up. CASE is signed, so it must name no person. Needs a key with the scope retention:manage.

${NARROW_HELP}
  --record RECORD      only this one; may be said up to 500 times
  --all                everything
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick holds set 2027/4711 --agent agt_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick holds set 2027/4711 --record rec_01kd2m3n4p5q6r7s8t9v0w1x2y --record rec_01kd2m3n4p5q6r7s8t9v0w1x2z
`

export const holdsSet = defineCommand({
  help: SET_HELP,
  options: {
    record: { type: 'string', multiple: true },
    all: { type: 'boolean' },
    ...NARROW_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const of = onlyArgument(positionals, 'holds set CASE')
    const { record: records } = values
    const selector = { ...narrowOf(values), ...(records && { records }) }
    if ((Object.keys(selector).length === 0) !== (values.all === true))
      throw new UsageError('say what is held: --type, --agent, --record, or --all')
    const { holds } = await connect(values)
    printItem(await holds.set({ case: of, ...selector }), values.json, io.stdout)
    return EXIT.ok
  },
})

const LIFT_HELP = `tallystick holds lift SEQ

Lifts the hold that the entry SEQ has set; others on the same records stay. Needs a key with the scope retention:manage.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick holds lift 4711
`

export const holdsLift = defineCommand({
  help: LIFT_HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const seq = parseCount(onlyArgument(positionals, 'holds lift SEQ'), 'SEQ', { min: 0 })!
    const { holds } = await connect(values)
    printItem(await holds.lift(seq), values.json, io.stdout)
    return EXIT.ok
  },
})

export const holdsList = listItems({
  usage: 'holds list',
  flags: '[--standing] [--limit N]',
  about: `Lists holds, the newest first. Needs a key with one of the scopes retention:manage, audit:read, payloads:erase.`,
  options: { standing: { type: 'boolean' } },
  optionsHelp: `  --standing       only those that were not lifted`,
  examples: ['holds list --standing', 'holds list | jq .case'],
  columns: [
    ['SEQ', ({ seq }) => seq],
    ['CASE', (hold) => hold.case],
    ['TYPE', ({ type }) => type ?? ''],
    ['AGENT', ({ agent }) => agent ?? ''],
    ['RECORDS', ({ records }) => records?.length ?? ''],
    ['SET', ({ setAt }) => setAt],
    ['LIFTED BY', ({ liftedBy }) => liftedBy ?? ''],
  ] satisfies readonly Column<Hold>[],
  ask: (client, _argument, { standing }) => client.holds.list(standing ? { standing } : {}),
})
