import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { findAgent } from '../find-agent.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick agents disable AGENT --yes

Disables an agent, by its id or its name, and with it all of its keys. There is no way back. Needs a key with the scope
agents:manage.

  --yes            needed, because it can't be undone
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick agents disable buyer --yes
`

export const agentsDisable = defineCommand({
  help: HELP,
  options: { yes: { type: 'boolean' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const name = onlyArgument(positionals, 'agents disable AGENT --yes')
    if (!values.yes)
      throw new UsageError(`disabling ${name}, and with it all of its keys, can't be undone: add --yes`)
    const client = await connect(values)
    const { id } = await findAgent(client, name)
    printItem(await client.agents.disable(id), values.json, io.stdout)
    return EXIT.ok
  },
})
