import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Calls } from '../../../cli/mcp-proxy/calls.ts'
import { PROXY_CANCELLED_MS } from '../../../cli/mcp-proxy/limits.ts'
import { OpenCalls } from '../../../cli/outbox/calls.ts'
import { outcomeCases } from '../../helpers/outcome-cases.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { openProxy } from './pass.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

type Turn = { readonly client?: object | string; readonly server?: object | string }
type Outcome = { readonly status: string; readonly errorType?: string; readonly resultDigest?: object }

const CALL = { id: 7, method: 'tools/call', params: { name: 'pay', arguments: {} } }
const answer = (result: unknown) => ({ id: 7, result })
const TASK = { taskId: 't1', status: 'working', createdAt: '2026-11-29T00:00:00Z', ttl: 60_000 }
const text = (text: string, more: object = {}) => ({ content: [{ type: 'text', text }], ...more })

/** Passes the messages of `turns` in order. Returns the outcomes of the calls among them. */
async function outcomesOf(
  t: TestContext,
  turns: readonly Turn[],
  { isRecorded = true } = {},
): Promise<Outcome[]> {
  const { directory } = temporaryFiles(t)
  const open = new OpenCalls(directory)
  const options = {
    directory,
    open,
    include: false,
    failClosed: true,
    server: null,
    command: 'server',
    sha256,
  }
  const calls = new Calls({ ...options, say: () => {} })
  const line = (message: object | string) =>
    Buffer.from(
      typeof message === 'string' ? `${message}\n` : `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`,
    )
  const proxy = openProxy(calls, isRecorded)
  for (const { client, server } of turns) {
    if (client !== undefined) await proxy.fromClient(line(client))
    if (server !== undefined) await proxy.fromServer(line(server))
  }
  proxy.endOfClient()
  await proxy.close()
  open.close()
  const inbox = join(directory, 'inbox')
  return readdirSync(inbox)
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(inbox, name), 'utf8').split('\n')[1]!).record)
    .filter(({ type }) => type === 'agent-outcome/1')
    .map(({ payload }) => payload)
}

async function statusesOf(t: TestContext, ...turns: Turn[]): Promise<string[]> {
  return (await outcomesOf(t, turns)).map(({ status }) => status)
}

const answered = (t: TestContext, message: object | string) =>
  statusesOf(t, { client: CALL }, { server: message })

test('each case has the outcome of the table', async (t) => {
  const cases = outcomeCases('mcp-proxy')
  cases.expect('returns', await answered(t, answer(text('done'))))
  cases.expect('throws-error', await answered(t, { id: 7, error: { code: -32_603, message: 'it failed' } }))
  cases.expect('answers-error', await answered(t, answer(text('no', { isError: true }))))
  cases.expect('times-out', await answered(t, { id: 7, error: { code: -32_001, message: 'timed out' } }))
  cases.expect('task-goes-on', await answered(t, answer({ task: TASK })))
  cases.expect(
    'input-required',
    await answered(t, answer({ resultType: 'input_required', requestState: 'x' })),
  )
  const cancel = { client: { method: 'notifications/cancelled', params: { requestId: 7 } } }
  const cancelled = { server: { id: 7, error: { code: 0, message: 'cancelled' } } }
  cases.expect('cancelled-during', await statusesOf(t, { client: CALL }, cancel, cancelled))
  cases.expect(
    'cancelled-after',
    await statusesOf(t, { client: CALL }, { server: answer(text('done')) }, cancel),
  )
  const late = await outcomesOf(t, [{ client: CALL }], { isRecorded: false })
  cases.expect(
    'not-recorded',
    late.map(({ status }) => status),
  )
  cases.assertCovered()
})

test('only a final result without an error is ok', async (t) => {
  for (const [what, message, status] of [
    ['nothing else', answer({}), 'ok'],
    ['final', answer({ resultType: 'complete', content: [] }), 'ok'],
    ['an error of null', { id: 7, result: {}, error: null }, 'ok'],
    ['an unknown kind of answer', answer({ resultType: 'later', content: [] }), 'unknown'],
    ['a kind that is not a text', answer({ resultType: 1 }), 'unknown'],
    ['no object', answer(null), 'unknown'],
    ['a text', answer('done'), 'unknown'],
    ['isError that is not a boolean', answer({ content: [], isError: 'false' }), 'unknown'],
    ['both', { id: 7, result: {}, error: { code: 1, message: 'x' } }, 'unknown'],
    ['a result, and an error that is false', { id: 7, result: {}, error: false }, 'unknown'],
    ['an error in a result of a kind', answer({ resultType: 'later', isError: true }), 'error'],
    ['a time-out of HTTP', { id: 7, error: { code: 504, message: 'x' } }, 'unknown'],
    ['no JSON-RPC', '{"id":7,"result":{"content":[]}}', 'unknown'],
  ] as const)
    assert.deepEqual(await answered(t, message), [status], what)
})

test('a duplicate name makes the outcome unknown only in members that decide the outcome', async (t) => {
  const raw = (rest: string) => `{"jsonrpc":"2.0","id":7,${rest}}`
  for (const [rest, status] of [
    ['"result":{"isError":true,"isError":false}', 'unknown'],
    ['"result":{"isError":false,"isError":true}', 'unknown'],
    ['"result":{"isError":true,"is\\u0045rror":false}', 'unknown'],
    ['"result":{"resultType":"later","resultType":"complete"}', 'unknown'],
    ['"result":{"isError":true},"result":{"content":[]}', 'unknown'],
    ['"result":{"task":{"taskId":"t1"},"task":null,"content":[]}', 'unknown'],
    ['"error":{"code":1,"message":"x"},"error":null,"result":{}', 'unknown'],
    ['"error":{"code":408,"code":1,"message":"x"}', 'unknown'],
    ['"result":{"content":[{"a":1,"a":2}]}', 'ok'],
    ['"result":{"content":[],"content":[],"n":12345678901234567890}', 'ok'],
    ['"result":{"isError":true,"structuredContent":{"isError":true,"isError":false}}', 'error'],
    ['"error":{"code":1,"message":"x","message":"y"}', 'error'],
  ] as const)
    assert.deepEqual(await answered(t, raw(rest)), [status], rest)
  const twice = raw('"result":{"task":{"taskId":"t0"},"task":{"taskId":"t1"}}')
  const done = { jsonrpc: '2.0', method: 'notifications/tasks', params: { ...TASK, status: 'failed' } }
  assert.deepEqual(await statusesOf(t, { client: CALL, server: twice }, { server: done }), ['unknown'])
  const begun = { client: CALL, server: answer({ task: TASK }) }
  const asked = (method: string) => ({ client: { id: 8, method, params: { taskId: 't1' } } })
  for (const [method, result] of [
    ['tasks/result', '{"isError":true,"isError":false}'],
    ['tasks/get', '{"taskId":"t1","status":"completed","result":{"isError":true,"isError":false}}'],
    ['tasks/get', '{"taskId":"t1","status":"failed","status":"completed","result":{}}'],
    ['tasks/get', '{"taskId":"t1","status":"completed","status":"failed"}'],
  ] as const) {
    const server = `{"jsonrpc":"2.0","id":8,"result":${result}}`
    assert.deepEqual(await statusesOf(t, begun, { ...asked(method), server }), ['unknown'], result)
  }
})

test('two concurrent requests with one id have the outcome unknown; consecutive requests have their own', async (t) => {
  const other = { client: { id: 7, method: 'ping' } }
  const [call, ok, no] = [
    { client: CALL },
    { server: answer(text('done')) },
    { server: answer({ isError: true }) },
  ]
  for (const [what, turns, statuses] of [
    ['the second is answered first', [call, call, no, ok], ['unknown', 'unknown']],
    ['one answer for two', [call, call, ok], ['unknown', 'unknown']],
    ['another request', [call, other, { server: answer({}) }, no], ['unknown']],
    ['another request before', [other, call, ok], ['unknown']],
    ['another request that was answered', [other, { server: answer({}) }, call, ok], ['ok']],
    ['one after the other', [call, ok, call, no], ['ok', 'error']],
    ['two answers to one', [call, no, ok], ['error']],
  ] as const)
    assert.deepEqual(await statusesOf(t, ...turns), statuses, what)
})

test('a call as a task gets the task’s outcome once known', async (t) => {
  const begin = [{ client: CALL }, { server: answer({ task: TASK }) }]
  const own = [{ client: CALL }, { server: answer({ resultType: 'task', ...TASK }) }]
  const asks = (method: string, result: object, params: object = { taskId: 't1' }) => [
    { client: { id: 8, method: `tasks/${method}`, params } },
    { server: { id: 8, ...result } },
  ]
  const failed = text('the payment failed', { isError: true })
  const told = (params: object, method = 'notifications/tasks/status') => [{ server: { method, params } }]
  for (const [what, turns, status] of [
    ['its result', [...begin, ...asks('result', { result: text('paid') })], 'ok'],
    ['its result is an error', [...begin, ...asks('result', { result: failed })], 'error'],
    [
      'the question about its result fails',
      [...begin, ...asks('result', { error: { code: -32_602, message: 'gone' } })],
      'unknown',
    ],
    ['it works', [...begin, ...asks('get', { result: TASK })], 'unknown'],
    [
      'it is completed, and nobody asks for the result',
      [...begin, ...asks('get', { result: { ...TASK, status: 'completed' } })],
      'unknown',
    ],
    [
      'completed, and its result is an error',
      [
        ...begin,
        ...asks('get', { result: { ...TASK, status: 'completed' } }),
        ...asks('result', { result: failed }),
      ],
      'error',
    ],
    ['it failed', [...begin, ...asks('get', { result: { ...TASK, status: 'failed' } })], 'error'],
    ['a notification says that it failed', [...begin, ...told({ ...TASK, status: 'failed' })], 'error'],
    [
      'a notification about another',
      [...begin, ...told({ ...TASK, taskId: 't2', status: 'failed' })],
      'unknown',
    ],
    [
      'it is cancelled',
      [...begin, ...asks('cancel', { result: { ...TASK, status: 'cancelled' } })],
      'unknown',
    ],
    [
      'a question about another',
      [...begin, ...asks('result', { result: failed }, { taskId: 't2' })],
      'unknown',
    ],
    [
      'its result is a question',
      [...begin, ...asks('result', { result: { resultType: 'input_required' } })],
      'unknown',
    ],
    [
      'of the extension: its result',
      [...own, ...asks('get', { result: { ...TASK, status: 'completed', result: text('paid') } })],
      'ok',
    ],
    [
      'of the extension: an error',
      [...own, ...asks('get', { result: { ...TASK, status: 'completed', result: failed } })],
      'error',
    ],
    [
      'of the extension: told',
      [
        ...own,
        ...told({ ...TASK, status: 'failed', error: { code: 1, message: 'x' } }, 'notifications/tasks'),
      ],
      'error',
    ],
  ] as const)
    assert.deepEqual(await statusesOf(t, ...turns), [status], what)
  const [outcome] = await outcomesOf(t, [...begin, ...asks('result', { result: failed })])
  assert.ok(outcome!.resultDigest, 'the digest is that of the result of the task')
})

test('a cancelled call that is never answered gets its outcome after a timeout', async (t) => {
  const { directory } = temporaryFiles(t)
  const open = new OpenCalls(directory)
  t.after(() => open.close())
  const options = {
    directory,
    open,
    include: false,
    failClosed: false,
    server: null,
    command: 'server',
    sha256,
  }
  const calls = new Calls({ ...options, say: () => {} })
  const message = (value: object) => ({ text: JSON.stringify(value), value, inexact: null })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  calls.fromClient(message(CALL))
  calls.fromClient(message({ method: 'notifications/cancelled', params: { requestId: 7 } }))
  t.mock.timers.tick(PROXY_CANCELLED_MS)
  // A late answer to the first call must not count as the answer to the second call.
  calls.fromClient(message(CALL))
  calls.fromServer(message(answer(text('done'))))
  calls.end('the test is over')
  const names = readdirSync(join(directory, 'inbox')).toSorted()
  const texts = names.map((name) => readFileSync(join(directory, 'inbox', name), 'utf8'))
  assert.equal(texts.filter((each) => each.includes('"errorType":"cancelled"')).length, 1)
  assert.equal(texts.filter((each) => each.includes('"errorType":"same_id"')).length, 1)
  assert.equal(names.length, 4)
})
