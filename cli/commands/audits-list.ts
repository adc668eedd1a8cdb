import type { Audit } from '../../sdk/generated/api.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick audits list [--limit N]

Lists audits, newest first: those of the daily schedule, and those that were asked for (\`tallystick audit\`). Of those that
ended, the last hundred are kept. Needs a key with the scope audit:read.

${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick audits list --limit 5
  tallystick audits list | jq 'select(.ok == false)'
`

const COLUMNS: readonly Column<Audit>[] = [
  ['ID', ({ id }) => id],
  ['REQUESTED', ({ requestedAt }) => requestedAt],
  ['BY', ({ requestedBy }) => requestedBy ?? 'schedule'],
  ['STATE', ({ state }) => state],
  ['ENTRIES', ({ progress }) => progress.entriesDone],
  ['FOUND', ({ ok, report }) => (ok === null ? '' : ok ? 'intact' : (report?.failure?.code ?? 'a fault'))],
]

export const auditsList = defineCommand({
  help: HELP,
  options: { ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'audits list')
    const client = await connect(values)
    await printItems(limited(client.audits.list(), values, io), COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
