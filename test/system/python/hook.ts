import { createHash } from 'node:crypto'
import { readMessage } from '../../../cli/calls/message.ts'
import { recordOf } from '../../../cli/hook/events.ts'

/*
 * Prints the records that `tallystick hook` makes of the events on standard input. The Python package compares them
 * with the records that it makes itself.
 */
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
let text = ''
for await (const piece of process.stdin) text += piece
const recording = { include: false, failClosed: false, framework: 'claude-agent-sdk', sha256 }
const records = (JSON.parse(text) as unknown[]).map((event) =>
  recordOf(readMessage(JSON.stringify(event))!, recording),
)
console.log(JSON.stringify(records))
