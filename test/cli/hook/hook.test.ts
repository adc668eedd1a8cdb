import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  FAIL_CLOSED_SECONDS_DEFAULT,
  FAIL_CLOSED_SECONDS_MAX,
  HOOK_HOST_EXTRA_SECONDS,
} from '../../../cli/calls/limits.ts'
import { openSpool } from '../../../sdk/node/spool.ts'
import { sharedCliApp } from '../../helpers/cli-app.ts'
import { CLI, runCli } from '../../helpers/run-cli.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { runs } from '../../helpers/runs.ts'
import { startTcpProxy } from '../../helpers/tcp-proxy.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { until } from '../../helpers/wait.ts'
import { deedsOf, spoolIn, waitForDeed, waitForDeeds, waiting } from '../mcp-proxy/set-up.ts'

const SESSION = 's1'

function eventOf(name: string, members: object = {}): string {
  return JSON.stringify({ session_id: SESSION, cwd: '/work', hook_event_name: name, ...members })
}

const toolEvent = (name: string, id: string, members: object = {}) =>
  eventOf(name, { tool_name: 'Bash', tool_use_id: id, ...members })

test('a session with a tool call and a subagent is a tree, seconds after it happened, without a daemon', async (t) => {
  const app = await sharedCliApp(t)
  const spool = spoolIn(temporaryFiles(t).directory)
  const secret = { command: 'cat secret' }
  const events = [
    eventOf('SessionStart', { source: 'startup' }),
    toolEvent('PreToolUse', 't1', { tool_input: secret }),
    toolEvent('PostToolUse', 't1', { tool_response: { stdout: 'the secret' } }),
    eventOf('SubagentStart', { agent_id: 'a1', agent_type: 'Explore' }),
    toolEvent('PreToolUse', 't2', { agent_id: 'a1', agent_type: 'Explore' }),
    toolEvent('PostToolUseFailure', 't2', { agent_id: 'a1', error: 'exit code 1' }),
    toolEvent('PermissionDenied', 't2', { reason: 'a rule' }),
    eventOf('SubagentStop', { agent_id: 'a1', agent_type: 'Explore' }),
    eventOf('SessionEnd', { reason: 'exit' }),
  ]
  for (const [i, input] of events.entries()) {
    // The first three hooks are processes. The others are the same command in this process.
    const run = i < 3 ? runCli : runAlone
    const { code, stdout, stderr } = await run(['hook', '--spool', spool], { input, env: app.env })
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' })
  }
  const deeds = await waitForDeeds(app, events.length)
  const nameOf = new Map(deeds.map(({ recordId, payload }) => [recordId, payload.name]))
  assert.deepEqual(
    deeds.map(({ type, parentId, payload: { name, status, decision } }) => [
      type.split('/')[0],
      name,
      status ?? decision ?? '',
      parentId === null ? null : nameOf.get(parentId),
    ]),
    [
      ['agent-action', 'session', '', null],
      ['agent-action', 'Bash', '', 'session'],
      ['agent-outcome', 'Bash', 'ok', 'Bash'],
      ['agent-action', 'Explore', '', 'session'],
      ['agent-action', 'Bash', '', 'Explore'],
      ['agent-outcome', 'Bash', 'error', 'Bash'],
      ['approval', 'Bash', 'deny', 'Bash'],
      ['agent-outcome', 'Explore', 'ok', 'Explore'],
      ['agent-outcome', 'session', 'ok', 'session'],
    ],
  )
  assert.ok(!JSON.stringify(deeds).includes('secret'), 'content was not asked for')
  assert.equal(readFileSync(join(spool, 'sender.log'), 'utf8'), '')
})

test('hooks at the same time lose nothing and double nothing', async (t) => {
  const app = await sharedCliApp(t)
  const spool = spoolIn(temporaryFiles(t).directory)
  // The number is limited, because each hook is a process.
  const ids = Array.from({ length: Math.max(8, runs(50)) }, (_, i) => `t${i}`)
  const codes = await Promise.all(
    ids.map((id) => hook(['--spool', spool], toolEvent('PreToolUse', id), app.env)),
  )
  assert.ok(codes.every((code) => code === 0))
  const deeds = await waitForDeeds(app, ids.length)
  assert.deepEqual(deeds.map(({ payload }) => payload.callId).sort(), ids.toSorted())
  await until(() => waiting(spool) === 0)
})

test('an event and its content may begin with a byte order mark, as shells of Windows write it', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const input = `\ufeff${toolEvent('PreToolUse', 't1', { tool_input: { command: 'ls' } })}`
  const { code, stderr } = await runAlone(['hook', '--spool', directory], { input })
  assert.deepEqual([code, stderr, readdirSync(join(directory, 'inbox')).length], [0, '', 1])
})

test('exits with 0 for any input, and prints why nothing was recorded', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const file = write('file', '')
  for (const [input, spool, reason] of [
    ['no JSON', directory, /standard input is not JSON/],
    ['{"tool_name":"Bash"}', directory, /no hook_event_name/],
    [eventOf('PreToolUse'), file, /ENOTDIR|EEXIST/],
  ] as const) {
    const { code, stderr } = await runAlone(['hook', '--spool', spool], { input })
    assert.equal(code, 0)
    assert.match(stderr, reason)
  }
})

test('with --fail-closed, invalid events and invalid arguments are denied', async (t) => {
  const args = ['hook', '--spool', temporaryFiles(t).directory]
  for (const [wrong, input, reason] of [
    [['--fail-closed'], 'no JSON', /is not JSON/],
    [['--fail-closed', '--timeout', '301'], toolEvent('PreToolUse', 't1'), /--timeout takes a whole number/],
    [['--fail-closed', '--frame', 'x'], toolEvent('PreToolUse', 't1'), /--frame/],
    [['--fail-closed=yes'], toolEvent('PreToolUse', 't1'), /--fail-closed/],
  ] as const) {
    const { code, stderr } = await runCli([...args, ...wrong], { input })
    assert.equal(code, 2)
    assert.match(stderr, reason)
  }
  assert.equal((await runAlone([...args, '--timeout', '301'], { input: '{}' })).code, 64)
})

test('with --fail-closed, a call waits for the ledger; without the ledger it is denied, and recorded later', async (t) => {
  const app = await sharedCliApp(t)
  const network = await startTcpProxy(t, app.url)
  const env = { ...app.env, TALLYSTICK_URL: network.url }
  const args = ['hook', '--fail-closed', '--spool', spoolIn(temporaryFiles(t).directory)]
  const patient = [...args, '--timeout', `${FAIL_CLOSED_SECONDS_MAX}`]
  const allowed = await runCli(patient, { input: toolEvent('PreToolUse', 't1'), env })
  assert.equal(allowed.code, 0, allowed.stderr)
  const [action] = await deedsOf(app)
  assert.equal(action!.payload.told, 'held')
  network.refuse()
  // `t1` is the id of an earlier call whose record was written. The repeated call must still wait for a record of its
  // own.
  for (const id of ['t2', 't1']) {
    const denied = await runCli([...args, '--timeout', '1'], { input: toolEvent('PreToolUse', id), env })
    assert.equal(denied.code, 2)
    assert.match(denied.stderr, /denied, because the ledger did not record it within 1 s/)
  }
  network.accept()
  const outcome = await waitForDeed(app, ({ payload }) => payload.status === 'denied')
  const asked = (await deedsOf(app)).find(({ recordId }) => recordId === outcome.parentId)
  assert.match(String(asked!.payload.callId), /^t[12]$/)
})

test('prints settings whose command records', async (t) => {
  const { stdout } = await runAlone(['hook', '--settings', '--content', '--spool', '/a b'])
  const { hooks } = JSON.parse(stdout) as { hooks: Record<string, { hooks: { command: string }[] }[]> }
  assert.equal(
    hooks['PreToolUse']![0]!.hooks[0]!.command,
    "tallystick hook --framework 'claude-code' --content --spool '/a b'",
  )
  assert.ok('SessionEnd' in hooks)
  const { directory } = temporaryFiles(t)
  // While another process has the outbox open, the hook starts no sender. So the record stays in the outbox.
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const args = ['--framework', 'claude-code', '--content', '--spool', directory]
  await hook(args, toolEvent('PreToolUse', 't1', { tool_input: { command: 'ls' } }), { HOME: directory })
  assert.ok(!readdirSync(directory).includes('sender.log'))
  const [name] = readdirSync(join(directory, 'inbox'))
  const [, line] = readFileSync(join(directory, 'inbox', name!), 'utf8').split('\n')
  const { payload } = (JSON.parse(line!) as { record: { payload: Record<string, unknown> } }).record
  assert.deepEqual(payload['arguments'], { command: 'ls' })
  assert.equal(payload['framework'], 'claude-code')
})

test('the settings set an agent timeout above that of a gated hook, and none for other hooks', async () => {
  const timeoutsOf = async (...args: string[]) => {
    const { stdout } = await runAlone(['hook', '--settings', ...args])
    const { hooks } = JSON.parse(stdout) as { hooks: Record<string, { hooks: { timeout?: number }[] }[]> }
    return new Set(
      Object.values(hooks).flatMap((all) => all.flatMap((each) => each.hooks.map((one) => one.timeout))),
    )
  }
  assert.deepEqual(await timeoutsOf('--timeout', '20'), new Set([undefined]))
  for (const seconds of [undefined, FAIL_CLOSED_SECONDS_MAX]) {
    const args = seconds === undefined ? [] : ['--timeout', `${seconds}`]
    const timeouts = [...(await timeoutsOf('--fail-closed', ...args))]
    assert.deepEqual(timeouts, [(seconds ?? FAIL_CLOSED_SECONDS_DEFAULT) + HOOK_HOST_EXTRA_SECONDS])
  }
})

async function hook(args: readonly string[], input: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [CLI, 'hook', ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return code as number
}
