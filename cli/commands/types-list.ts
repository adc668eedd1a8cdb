import type { GetTypesAnswer } from '../../sdk/generated/api.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { LIMIT_HELP, LIMIT_OPTIONS, limited } from '../limited.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItems } from '../output.ts'

const HELP = `tallystick types list [--name NAME] [--limit N]

Lists the types of records that the ledger has, in the order of their names; those of every ledger among them.

  --name NAME      only the versions of the type of this name
${LIMIT_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick types list
  tallystick types list --name order | jq -r .type
`

const COLUMNS: readonly Column<GetTypesAnswer['data'][number]>[] = [
  ['TYPE', ({ type }) => type],
  ['GATED', ({ gated }) => (gated ? 'yes' : 'no')],
  ['REGISTERED', ({ registeredAt }) => registeredAt],
  ['DIGEST', ({ digest }) => digest.slice(0, 16)],
]

export const typesList = defineCommand({
  help: HELP,
  options: { name: { type: 'string' }, ...LIMIT_OPTIONS, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'types list')
    const client = await connect(values)
    const types = limited(client.types.list({ name: values.name }), values, io)
    await printItems(types, COLUMNS, values.json, io.stdout)
    return EXIT.ok
  },
})
