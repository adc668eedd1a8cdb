import type { RetentionRule } from '../../sdk/generated/api.ts'
import { noArguments, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { parseType } from '../record-options.ts'
import { listItems } from '../resource.ts'
import { UsageError } from '../run.ts'

/** Options that limit a rule or a hold to some records. */
export const NARROW_OPTIONS = { type: { type: 'string' }, agent: { type: 'string' } } as const
export const NARROW_HELP = `  --type NAME/VERSION  only records of this type
  --agent AGENT        only records that this agent made or performs, or that were made in its name`

type Narrow = { readonly type?: string | undefined; readonly agent?: string | undefined }

export function narrowOf({ type, agent }: Narrow) {
  return { ...(type !== undefined && { type: parseType(type) }), ...(agent !== undefined && { agent }) }
}

const SET_HELP = `tallystick retention set --days N|none --basis CODE [--type TYPE] [--agent AGENT] [--yes]

Sets how long the documents of records are stored after the records' end. The worker then erases them, by entries that
name the rule. The entries stay, and everything still verifies (docs/guides/erasure-and-retention.md). Without --yes the
command shows what the rule would erase now, and sets nothing. If several rules match a record, the longest counts. A
longer rule applies to all records, a shorter one only to later records. Needs a key with the scope retention:manage.

  --days N             days, at least the deployment's minimum; none: for ever
  --basis CODE         the law, contract or policy, as a word for programs (a-z, 0-9, _): signed
${NARROW_HELP}
  --yes                set the rule
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick retention set --days 365 --basis policy_7
  tallystick retention set --days 365 --basis policy_7 --type generic/1 --yes
`

export const retentionSet = defineCommand({
  help: SET_HELP,
  options: {
    days: { type: 'string' },
    basis: { type: 'string' },
    yes: { type: 'boolean' },
    ...NARROW_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    noArguments(positionals, 'retention set')
    const { basis, days: text } = values
    if (basis === undefined || text === undefined)
      throw new UsageError(
        'retention set needs --days N|none, and --basis CODE, a code for the law, contract or policy',
      )
    const days = text === 'none' ? null : parseCount(text, '--days', { min: 1 })!
    const { retention } = await connect(values)
    const narrow = narrowOf(values)
    if (!values.yes) {
      const found = days === null ? { records: 0 } : await retention.preview({ ...narrow, days })
      printItem(found, values.json, io.stdout)
      io.stderr.write('tallystick: this is what the rule would erase now; add --yes to set it\n')
      return EXIT.ok
    }
    printItem(await retention.setRule({ ...narrow, days, basis }), values.json, io.stdout)
    return EXIT.ok
  },
})

export const retentionList = listItems({
  usage: 'retention list',
  about: `Lists retention rules, newest first. Needs a key with one of the scopes retention:manage, audit:read,
payloads:erase.`,
  examples: ['retention list', "retention list | jq 'select(.replacedBy == null)'"],
  columns: [
    ['SEQ', ({ seq }) => seq],
    ['TYPE', ({ type }) => type ?? 'all'],
    ['AGENT', ({ agent }) => agent ?? 'all'],
    ['DAYS', ({ days }) => days ?? 'none'],
    ['SET', ({ setAt }) => setAt],
    ['REPLACED BY', ({ replacedBy }) => replacedBy ?? ''],
  ] satisfies readonly Column<RetentionRule>[],
  request: async (client) => {
    const rules = await client.retention.rules()
    return (async function* () {
      yield* rules
    })()
  },
})
