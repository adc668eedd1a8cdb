import type { Hold } from '../../sdk/generated/api.ts'
import { parseCount } from '../arguments.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'
import { UsageError } from '../run.ts'
import { NARROW_HELP, NARROW_OPTIONS, narrowOf } from './retention.ts'

export const holdsSet = showItem({
  usage: 'holds set CASE',
  flags: '[--type TYPE] [--agent AGENT] [--record RECORD]… | --all',
  about: `Sets a legal hold: until it is lifted no rule and no request erases a document of the records
(docs/guides/erasure-and-retention.md). The hold is on records that match all given options. Holds on the same record
add up. CASE is signed, so it must not name a person. Needs a key with the scope retention:manage.`,
  options: { record: { type: 'string', multiple: true }, all: { type: 'boolean' }, ...NARROW_OPTIONS },
  optionsHelp: `${NARROW_HELP}
  --record RECORD      only this record. Up to 500 times
  --all                everything`,
  examples: [
    'holds set 2027/4711 --agent agt_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'holds set 2027/4711 --record rec_01kd2m3n4p5q6r7s8t9v0w1x2y --record rec_01kd2m3n4p5q6r7s8t9v0w1x2z',
  ],
  parse: (values, of) => {
    const { record: records } = values
    const selector = { ...narrowOf(values), ...(records && { records }) }
    if ((Object.keys(selector).length === 0) !== (values.all === true))
      throw new UsageError('name the records to hold with --type, --agent, --record or --all')
    return { case: of, ...selector }
  },
  request: (client, _, hold) => client.holds.set(hold),
})

export const holdsLift = showItem({
  usage: 'holds lift SEQ',
  about: `Lifts the hold that the entry SEQ has set. Other holds on the same records stay. Needs a key with the scope
retention:manage.`,
  examples: ['holds lift 4711'],
  parse: (_, seq) => parseCount(seq, 'SEQ', { min: 0 })!,
  request: (client, _, seq) => client.holds.lift(seq),
})

export const holdsList = listItems({
  usage: 'holds list',
  flags: '[--standing] [--limit N]',
  about: `Lists holds, newest first. Needs a key with one of the scopes retention:manage, audit:read, payloads:erase.`,
  options: { standing: { type: 'boolean' } },
  optionsHelp: `  --standing       only holds that are not lifted`,
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
  request: (client, _argument, { standing }) => client.holds.list(standing ? { standing } : {}),
})
