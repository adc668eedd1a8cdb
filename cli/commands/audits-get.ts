import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'

const HELP = `tallystick audits get AUDIT

Shows an audit: how far it is, and what it found. Needs a key with the scope audit:read.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick audits get aud_01kd2m3n4p5q6r7s8t9v0w1x2y
`

export const auditsGet = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'audits get AUDIT')
    const client = await connect(values)
    printItem(await client.audits.get(id), values.json, io.stdout)
    return EXIT.ok
  },
})
