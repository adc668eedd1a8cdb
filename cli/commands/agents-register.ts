import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick agents register NAME

Registers an agent. A name is taken once in a ledger, for good. \`tallystick keys create\` registers the agent of its key's
name by itself. Needs a key with the scope agents:manage.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick agents register buyer
  tallystick agents register buyer | jq -r .id
`

export const agentsRegister = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const name = onlyArgument(positionals, 'agents register NAME')
    const client = await connect(values)
    printItem(await client.agents.register({ name }), values.json, io.stdout)
    return EXIT.ok
  },
})
