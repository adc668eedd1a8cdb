import { RECORD_STATES } from '../../src/proof/statement/kinds.ts'
import { onlyArgument, parseChoice, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { PEER_HELP, PEER_OPTIONS } from '../record-options.ts'

const TIMEOUT_SECONDS_DEFAULT = 60
const TIMEOUT_SECONDS_MAX = 86_400

const HELP = `tallystick get RECORD [--peer PEER] [--wait STATE[,STATE…]]

Shows a record, or waits until it is in one of the states. Ends with 1 if the record has ended and can't reach any of
them, and with 69 after the timeout.

${PEER_HELP}
  --wait STATES    ${RECORD_STATES.slice(1, 5).join(', ')},
                   ${RECORD_STATES.slice(5).join(', ')}
  --timeout SECONDS  how long to wait (default ${TIMEOUT_SECONDS_DEFAULT})
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick get rec_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick get rec_01kd2m3n4p5q6r7s8t9v0w1x2y | jq .gated.verdict
  tallystick get rec_01kd2m3n4p5q6r7s8t9v0w1x2y --wait VERIFIED,DISCREPANT --timeout 10
`

export const get = defineCommand({
  help: HELP,
  options: {
    ...PEER_OPTIONS,
    wait: { type: 'string' },
    timeout: { type: 'string' },
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'get RECORD')
    const states = values.wait?.split(',').map((state) => parseChoice(state, RECORD_STATES, '--wait'))
    const seconds =
      parseCount(values.timeout, '--timeout', { max: TIMEOUT_SECONDS_MAX }) ?? TIMEOUT_SECONDS_DEFAULT
    const { peer } = values
    const { records } = await connect(values)
    const record = states
      ? await records.until(id, states, { peer, timeoutMs: seconds * 1000 })
      : await records.get(id, { peer })
    printItem(record, values.json, io.stdout)
    return EXIT.ok
  },
})
