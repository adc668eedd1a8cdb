import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { findAgent } from '../find-agent.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick agents get AGENT

Shows an agent, by its id or its name.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick agents get buyer
  tallystick agents get buyer | jq -r .id
`

export const agentsGet = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const agent = onlyArgument(positionals, 'agents get AGENT')
    printItem(await findAgent(await connect(values), agent), values.json, io.stdout)
    return EXIT.ok
  },
})
