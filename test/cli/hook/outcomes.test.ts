import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readMessage } from '../../../cli/calls/message.ts'
import { recordOf } from '../../../cli/hook/events.ts'
import { openSpool } from '../../../sdk/node/spool.ts'
import { outcomeCases } from '../../helpers/outcome-cases.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function statusOf(name: string, members: object): string {
  const event = { hook_event_name: name, session_id: 's', tool_name: 'Bash', tool_use_id: 't1', ...members }
  const recording = { include: false, failClosed: false, framework: undefined, sha256 }
  const { type, payload } = recordOf(readMessage(JSON.stringify(event))!, recording)!
  assert.equal(type, 'agent-outcome/1')
  return payload['status'] as string
}

const response = (tool_response: unknown) => statusOf('PostToolUse', { tool_response })
const failure = (members: object) => statusOf('PostToolUseFailure', members)

test('each case has the outcome of the table', async (t) => {
  const cases = outcomeCases('hook')
  cases.expect('returns', [response({ stdout: 'done', interrupted: false })])
  cases.expect('throws-error', [failure({ error: 'exit code 1' })])
  cases.expect('denied-by-person', [failure({ failure_type: 'permission_denied' })])
  cases.expect('cancelled-during', [failure({ error: 'x', is_interrupt: true })])
  cases.expect('not-recorded', await deniedOf(t))
  cases.assertCovered()
})

async function deniedOf(t: Parameters<typeof temporaryFiles>[0]): Promise<string[]> {
  const { directory } = temporaryFiles(t)
  // While this test has the outbox open, no other process sends the outbox's records.
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const args = [
    'hook',
    '--fail-closed',
    '--timeout',
    '1',
    '--spool',
    directory,
    '--server',
    'http://127.0.0.1:9',
  ]
  const input = JSON.stringify({
    hook_event_name: 'beforeShellExecution',
    conversation_id: 'c',
    command: 'rm -r /',
  })
  const { code } = await runAlone(args, { input, env: { TALLYSTICK_API_KEY: 'tly_x' } })
  assert.equal(code, 2)
  const inbox = join(directory, 'inbox')
  const texts = readdirSync(inbox).map((name) => readFileSync(join(inbox, name), 'utf8'))
  return [...texts.join('').matchAll(/"status":"(\w+)"/g)].map(([, status]) => status!)
}

test('an answer with a sign of failure, interruption or unfinished work is not ok', () => {
  for (const [answer, status] of [
    [{ stdout: '', interrupted: true }, 'unknown'],
    [{ stdout: '', backgroundTaskId: 'b1' }, 'unknown'],
    [{ isAsync: true, status: 'async_launched', agentId: 'a1' }, 'unknown'],
    [{ content: [], isError: true }, 'error'],
    [{ llmContent: 'x', error: { message: 'no such file' } }, 'error'],
    [{ success: false }, 'error'],
    [JSON.stringify({ exitCode: 1, stdout: '' }), 'error'],
    [JSON.stringify({ exitCode: 0, stdout: '' }), 'ok'],
    [{ exit_code: 1, output: '' }, 'error'],
    [{ exit_code: '137' }, 'error'],
    [{ exit_code: '0', returncode: 0 }, 'ok'],
    [{ stdout: '', timedOut: true }, 'unknown'],
    [{ cancelled: true, exitCode: 1 }, 'unknown'],
    [{ success: true, error: null, isError: false }, 'ok'],
    ['{ no JSON', 'ok'],
    ['', 'ok'],
    [[{ type: 'text', text: 'error' }], 'ok'],
    [undefined, 'ok'],
  ] as const)
    assert.equal(response(answer), status, JSON.stringify(answer))
  assert.equal(statusOf('postToolUse', { tool_output: '{"exitCode":2}' }), 'error')
  assert.equal(statusOf('AfterTool', { tool_response: { error: 'x' } }), 'error')
  assert.equal(failure({ failure_type: 'timeout' }), 'unknown')
})

test('a session or subagent that the host reports as failed or aborted is not ok', () => {
  assert.equal(statusOf('subagentStop', { status: 'completed' }), 'ok')
  assert.equal(statusOf('subagentStop', { status: 'error' }), 'error')
  assert.equal(statusOf('subagentStop', { status: 'aborted' }), 'unknown')
  assert.equal(statusOf('subagentStop', { status: 'Canceled' }), 'unknown')
  assert.equal(statusOf('subagentStop', { status: 'budget_exceeded' }), 'unknown')
  assert.equal(statusOf('sessionEnd', { reason: 'error', final_status: 'x' }), 'error')
  assert.equal(statusOf('SessionEnd', { reason: 'prompt_input_exit' }), 'ok')
})

test('a shell command of Gemini CLI is ok only if the model’s text reports no other end', () => {
  const shell = (llmContent: unknown, returnDisplay: unknown = 'done', tool_name = 'run_shell_command') =>
    statusOf('AfterTool', { tool_name, tool_response: { llmContent, returnDisplay } })
  const wrapped = (text: string) => `<untrusted_context>\n${text}\n</untrusted_context>`
  const end = '\nProcess Group PGID: 42'
  const spoken = [[[{ text: 'Exit ', bold: false }, { text: 'Code: 3' }]], [[{ text: 'done' }]]]
  const older = (last: string) => `Command: make\nDirectory: (root)\nOutput: done\nError: (none)${last}`
  for (const [text, display, status] of [
    [wrapped(`Output: done${end}`), 'done', 'ok'],
    [`Output: (empty)${end}`, '', 'ok'],
    [wrapped(`Output: done\nExit Code: 3${end}`), 'done', 'error'],
    [wrapped(`Output: done\nExit Code: 3${end}`), spoken[1], 'error'],
    [`Output: (empty)\nExit Code: 3${end}`, 'Command exited with code: 3', 'error'],
    [wrapped(`Output: done\nSignal: 9${end}`), 'done', 'error'],
    // The command itself may have printed `Exit Code: 3`, so the outcome is unknown.
    [wrapped(`Output: done\nExit Code: 3${end}`), 'done\nExit Code: 3', 'unknown'],
    [wrapped(`Output: done\nExit Code: 3${end}`), spoken[0], 'unknown'],
    [wrapped(`Output: Exit Code: 3\nand more${end}`), 'Exit Code: 3\nand more', 'ok'],
    [wrapped(`Output: done\nBackground PIDs: 7, 8${end}`), 'done', 'unknown'],
    [wrapped('Command moved to background (PID: 7). Output hidden.'), '', 'unknown'],
    [wrapped('Command was cancelled by user before it could complete.'), '', 'unknown'],
    [wrapped('Command was automatically cancelled because it exceeded the timeout'), '', 'unknown'],
    [
      `${wrapped(`Output: done\nExit Code: 3${end}`)}\n\n[System] Tool input parameters (command) were modified`,
      '',
      'unknown',
    ],
    [[{ text: 'a summary' }], '', 'unknown'],
    [older(`\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)${end}`), 'done', 'ok'],
    [older(`\nExit Code: 2\nSignal: (none)\nBackground PIDs: (none)${end}`), 'Exit Code: 2', 'error'],
  ] as const)
    assert.equal(shell(text, display), status, JSON.stringify([text, display]))
  assert.equal(shell('Exit Code: 3', '', 'read_file'), 'ok')
})

test('a subagent of Gemini CLI is ok only if it reached its goal', () => {
  const subagent = (display: object) =>
    statusOf('AfterTool', {
      tool_name: 'codebase_investigator',
      tool_response: { llmContent: [{ text: 'x' }], returnDisplay: { isSubagentProgress: true, ...display } },
    })
  assert.equal(subagent({ state: 'completed', terminateReason: 'GOAL' }), 'ok')
  assert.equal(subagent({ state: 'completed', terminateReason: 'ERROR' }), 'error')
  assert.equal(subagent({ state: 'error' }), 'error')
  assert.equal(subagent({ state: 'completed', terminateReason: 'MAX_TURNS' }), 'unknown')
  assert.equal(subagent({ state: 'completed', terminateReason: 'TIMEOUT' }), 'unknown')
  assert.equal(subagent({ state: 'cancelled' }), 'unknown')
})
