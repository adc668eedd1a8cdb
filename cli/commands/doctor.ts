import { plain } from '../../sdk/plain.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS } from '../connection.ts'
import { diagnose } from '../doctor/diagnose.ts'
import { EXIT } from '../exit-codes.ts'
import { jsonLine, OUTPUT_HELP, OUTPUT_OPTIONS } from '../output.ts'

const HELP = `tallystick doctor

Checks everything between this machine and the ledger, and says what to do: Node; credentials; the server's address,
readiness, version and clock; the key with its scopes and its expiry; whether the ledger accepts entries and its
webhooks are delivered; its newest checkpoint, its last audit and its first key. Ends with 1 if something fails. Writes
nothing to the ledger.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick doctor
  tallystick doctor --server https://ledger.example | jq -r 'select(.status == "fail") | .advice'
`

const CHECK_WIDTH = 11

export const doctor = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    noArguments(positionals, 'doctor')
    const isTable = io.stdout.isTTY && !values.json
    let failed = 0
    for await (const finding of diagnose(values)) {
      const { check, status, detail, advice } = finding
      if (status === 'fail') failed++
      const row = plain(`${status.padEnd(4)}  ${check.padEnd(CHECK_WIDTH)} ${detail}`)
      const todo = advice === null ? '' : `      ${' '.repeat(CHECK_WIDTH)} → ${plain(advice)}\n`
      io.stdout.write(isTable ? `${row}\n${todo}` : jsonLine(finding, io.stdout))
    }
    return failed === 0 ? EXIT.ok : EXIT.refused
  },
})
