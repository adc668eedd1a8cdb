import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { readMessage } from '../../../cli/calls/message.ts'
import { recordOf } from '../../../cli/hook/events.ts'

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')

function recordOfText(text: string, keep = false) {
  return recordOf(readMessage(text)!, { keep, held: false, framework: undefined, sha256 })!
}

const recordOfEvent = (event: object) => recordOfText(JSON.stringify(event))

test('an id that no reference can hold has none, and its call is recorded all the same', () => {
  const event = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: 't1' }
  for (const session_id of ['s\u0001', 's\u0085', 's'.repeat(250)]) {
    const { payload, options } = recordOfEvent({ ...event, session_id })
    assert.deepEqual(options.references, ['gen_ai.tool.call.id:t1'])
    assert.equal(payload['session'], session_id)
  }
})

test('a text is digested by its bytes, other values by their canonical form, or as they came', () => {
  const done = { sha256: sha256('done'), of: 'bytes', length: 4 }
  const output = { sha256: sha256('{"a":[2],"b":1}'), of: 'jcs', length: 15 }
  const doubled = '{"hook_event_name":"PostToolUse","x":1,"x":2,"tool_response":'
  assert.deepEqual(
    [
      recordOfEvent({ hook_event_name: 'PostToolUse', tool_response: 'done' }),
      recordOfText(`${doubled}"d\\u006fne"}`, true),
      recordOfEvent({ hook_event_name: 'PostToolUse', tool_response: { b: 1, a: [2] } }),
      recordOfText(`${doubled}{"b": 1}}`, true),
    ].map(({ payload }) => payload['resultDigest']),
    [done, done, output, { sha256: sha256('{"b": 1}'), of: 'bytes', length: 8 }],
  )
})
