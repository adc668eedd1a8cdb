import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { readMessage } from '../../../cli/calls/message.ts'
import { recordOf } from '../../../cli/hook/events.ts'

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')

function recordOfText(text: string, include = false) {
  return recordOf(readMessage(text)!, { include, failClosed: false, framework: undefined, sha256 })!
}

const recordOfEvent = (event: object) => recordOfText(JSON.stringify(event))

test('an id that is not a valid reference is omitted, and its call is still recorded', () => {
  const event = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: 't1' }
  for (const session_id of ['s\u0001', 's\u0085', 's'.repeat(250)]) {
    const { payload, options } = recordOfEvent({ ...event, session_id })
    assert.deepEqual(options.references, ['gen_ai.tool.call.id:t1'])
    assert.equal(payload['session'], session_id)
  }
})

test('a text’s digest is of its bytes, another value’s of its canonical form or JSON text', () => {
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
    [done, done, output, { sha256: sha256('{"b": 1}'), of: 'json', length: 8 }],
  )
})

test('a value too deep for the canonical form has the digest of its JSON text', () => {
  const deep = `${'['.repeat(200)}${']'.repeat(200)}`
  for (const name of ['tool_response', 'error']) {
    const event = name === 'error' ? 'PostToolUseFailure' : 'PostToolUse'
    const { payload } = recordOfText(`{"hook_event_name":"${event}","${name}":${deep}}`, true)
    const digest = payload['resultDigest'] ?? payload['errorDigest']
    assert.deepEqual(digest, { sha256: sha256(deep), of: 'json', length: 400 })
  }
})

test('an error’s text is content: without --content only its digest is recorded', () => {
  const text = 'Exit code 1\nDATABASE_URL=postgres://app:secret@db/app'
  const errorDigest = { sha256: sha256(text), of: 'bytes', length: text.length }
  const failed = (error: unknown) => JSON.stringify({ hook_event_name: 'PostToolUseFailure', error })
  const { payload } = recordOfText(failed(text))
  assert.deepEqual(
    [payload['status'], payload['error'], payload['errorDigest']],
    ['error', undefined, errorDigest],
  )
  assert.equal(recordOfText(failed(text), true).payload['error'], text)
  const { error, errorDigest: ofValue } = recordOfText(failed({ message: text })).payload
  assert.deepEqual([error, (ofValue as { of: string }).of], [undefined, 'jcs'])
  const doubled = `{"hook_event_name":"PostToolUseFailure","error":{"a":1,"a":2}}`
  assert.deepEqual(recordOfText(doubled, true).payload['errorDigest'], {
    ...{ sha256: sha256('{"a":1,"a":2}'), of: 'json', length: 13 },
  })
  const old = { hook_event_name: 'PostToolUseFailure', error_message: text }
  assert.deepEqual(recordOfEvent(old).payload['errorDigest'], errorDigest)
})

/**
 * Names of events that occur before an action, from the documentation of each host. A hook of such an event can deny
 * the action by exit code 2 (docs/integrations/hooks.md).
 */
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  'Claude Code': [
    ...[
      'PreToolUse',
      'PermissionRequest',
      'UserPromptSubmit',
      'UserPromptExpansion',
      'PreCompact',
      'SubagentStart',
    ],
    ...['ConfigChange', 'TaskCreated', 'Elicitation', 'ElicitationResult', 'WorktreeCreate', 'SessionStart'],
  ],
  'Gemini CLI': [
    'BeforeTool',
    'BeforeAgent',
    'BeforeModel',
    'BeforeToolSelection',
    'PreCompress',
    'SessionStart',
  ],
  Cursor: [
    ...['preToolUse', 'beforeShellExecution', 'beforeMCPExecution', 'beforeReadFile', 'beforeTabFileRead'],
    ...['beforeSubmitPrompt', 'preCompact', 'subagentStart', 'sessionStart'],
  ],
  'an unknown host': [
    ...['beforeDeploy', 'BeforeDeploy', 'before_deploy', 'before-deploy', 'before.deploy', 'BEFORE_DEPLOY'],
    ...[
      'Before Deploy',
      'beforedeploy',
      'BEFOREDEPLOY',
      'before',
      'preDeploy',
      'PreDeploy',
      'pre_deploy',
      'PRE_DEPLOY',
    ],
    ...[
      'pre-deploy',
      'pre:deploy',
      'predeploy',
      'PREDEPLOY',
      'pre',
      'PREToolUse',
      'tool.execute.before',
      'tool_pre',
    ],
  ],
}

const AFTER = [
  ...[
    'PostToolUse',
    'PostToolUseFailure',
    'PermissionDenied',
    'Stop',
    'SubagentStop',
    'SessionEnd',
    'StopFailure',
  ],
  ...[
    'AfterTool',
    'AfterAgent',
    'AfterModel',
    'Notification',
    'PostCompact',
    'TeammateIdle',
    'TaskCompleted',
  ],
  ...[
    'postToolUse',
    'afterShellExecution',
    'afterMCPExecution',
    'afterFileEdit',
    'stop',
    'afterAgentResponse',
  ],
  ...[
    'constructor',
    '__proto__',
    'toString',
    'preparedSomething',
    'PresentedPlan',
    'pressKey',
    'x',
    '_',
    '1',
  ],
]

function recordOfHeld(name: string) {
  const event = {
    hook_event_name: name,
    session_id: 's',
    command: 'rm -r /',
    tool_name: 'Bash',
    tool_use_id: 't1',
  }
  const recording = { include: false, failClosed: true, framework: undefined, sha256 }
  return recordOf(readMessage(JSON.stringify(event))!, recording)!
}

for (const [host, names] of Object.entries(BEFORE))
  test(`events before an action are gated with --fail-closed: ${host}`, () => {
    for (const name of names) {
      const { type, payload, isBefore, options } = recordOfHeld(name)
      assert.deepEqual(
        [isBefore, payload['told'] ?? payload['decision']],
        [true, type === 'approval/1' ? 'escalate' : 'held'],
        name,
      )
      if (payload['kind'] === 'other')
        assert.deepEqual([payload['name'], options.parentHandle !== undefined], [name, true])
    }
  })

test('events after an action, or about none, are recorded and not gated', () => {
  for (const name of AFTER) {
    const { isBefore, payload } = recordOfHeld(name)
    assert.equal(isBefore, false, name)
    if (payload['kind'] === 'other') assert.deepEqual([payload['told'], payload['name']], ['after', name])
  }
})

test('an MCP tool is recorded with its own name and server, also for Gemini CLI', () => {
  const named = (members: object) => {
    const { name, server } = recordOfEvent({ hook_event_name: 'BeforeTool', ...members }).payload
    return [name, server]
  }
  const mcp_context = { server_name: 'files', tool_name: 'read', command: 'npx' }
  assert.deepEqual(named({ tool_name: 'mcp_files_read', mcp_context }), ['read', 'files'])
  assert.deepEqual(named({ tool_name: 'mcp__files__read' }), ['read', 'files'])
  assert.deepEqual(named({ tool_name: 'read_file', mcp_context: null }), ['read_file', undefined])
})
