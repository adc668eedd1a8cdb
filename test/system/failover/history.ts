import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { buildEnvironment, findGo } from '../../../tools/go-tool.ts'
import { DELIVERY, PAYLOAD } from '../../helpers/gated-app.ts'
import type { Ledger } from '../deployment/deployment.ts'
import { Abandoned, persist } from '../faults/persist.ts'

/** An operation in the format of linearizability/main.go. */
type Operation = {
  readonly of: string
  readonly op: 'append' | 'read' | 'size' | 'step' | 'version'
  readonly key?: number
  readonly at?: number
  /** Result of the operation; null if it is unknown whether the operation happened. */
  readonly result: number | null
}

type Answer = { readonly status: number; readonly body: Record<string, unknown> }
type Appended = { readonly key: number; readonly id: string; readonly at: number }
type Gated = { readonly id: string }
type State = {
  readonly urls: readonly string[]
  readonly bearer: string
  readonly performer: { readonly id: string; readonly bearer: string }
  readonly base: number
  readonly file: number
  readonly appended: Appended[]
  readonly gated: Gated[]
  keys: number
  requests: number
  operations: number
  stopping: boolean
  abandoned: boolean
}

const CLIENTS = 6
const PAUSE_MS_MAX = 150
const PERSIST_MS = 120_000
/**
 * Share of requests without an idempotency key. If such a request gets no answer, the client does not repeat it, as if
 * the client's process had ended. It stays unknown whether the server executed the request.
 */
const KEYLESS_SHARE = 0.1
const AGAIN_SHARE = 0.1
const GATED_KEPT_MAX = 4

export type RunningHistory = {
  readonly operations: number
  ended(): Promise<unknown>
  finish(): Promise<void>
  abandon(): Promise<void>
}

/**
 * Starts clients of one ledger that has no other writers, and of gated records in another ledger. Each client logs
 * its requests and answers with the times of both: appends with keys, repeated appends, reads by id, the size, and
 * steps for which several clients race.
 */
export async function startHistory(
  urls: readonly string[],
  ledgers: { readonly list: Ledger; readonly gated: Ledger },
  file: string,
): Promise<RunningHistory> {
  const ask = (bearer: string, path: string, body?: object) => send(urls[0]!, bearer, path, body)
  await ask(ledgers.gated.bearer, '/v1/types', DELIVERY)
  const agent = await ask(ledgers.gated.bearer, '/v1/agents', { name: 'racer' })
  const scopes = ['records:write', 'records:read:own']
  const key = await ask(ledgers.gated.bearer, '/v1/keys', { name: 'racer', agent: agent.body['id'], scopes })
  const { body } = await ask(ledgers.list.bearer, '/v1/ledger')
  const state: State = {
    urls,
    bearer: ledgers.list.bearer,
    performer: { id: agent.body['id'] as string, bearer: key.body['key'] as string },
    base: body['size'] as number,
    file: openSync(file, 'w'),
    appended: [],
    gated: [],
    keys: 0,
    requests: 0,
    operations: 0,
    stopping: false,
    abandoned: false,
  }
  const principal = ledgers.gated.bearer
  const running = Array.from({ length: CLIENTS }, (_, client) => runClient(state, principal, client))
  const all = Promise.all(running)
  all.catch(() => {}) // The error is reported by `finish` or `ended`.
  const stop = async () => {
    state.stopping = true
    await all.finally(() => closeSync(state.file))
  }
  return {
    get operations() {
      return state.operations
    },
    ended: () => all,
    finish: stop,
    async abandon() {
      state.abandoned = true
      if (!state.stopping) await stop().catch(() => {})
    },
  }
}

async function runClient(state: State, principal: string, client: number): Promise<void> {
  const kinds = [append, append, read, size, race, version] as const
  try {
    while (!state.stopping) {
      const kind = kinds[Math.floor(Math.random() * kinds.length)]!
      await kind(state, client, principal)
      await sleep(Math.random() * PAUSE_MS_MAX)
    }
  } catch (error) {
    if (!(error instanceof Abandoned)) throw error
  }
}

/**
 * Logs the operation that `work` did. Reads without an answer are left out, because they changed nothing and show
 * nothing.
 */
async function note(state: State, client: number, work: () => Promise<Operation | null>): Promise<void> {
  const call = process.hrtime.bigint()
  const operation = await work()
  if (operation === null) return
  const { result, ...rest } = operation
  const end = result === null ? 0 : Number(process.hrtime.bigint() - BEGAN)
  const line = {
    client,
    call: Number(call - BEGAN),
    return: end,
    key: 0,
    at: 0,
    result: result ?? 0,
    ...rest,
  }
  writeSync(state.file, `${JSON.stringify(line)}\n`)
  state.operations++
}
const BEGAN = process.hrtime.bigint()

async function append(state: State, client: number): Promise<void> {
  const again = Math.random() < AGAIN_SHARE ? pick(state.appended) : undefined
  const key = again?.key ?? ++state.keys
  const body = { type: 'generic/1', payload: { key } }
  const withKey = again !== undefined || Math.random() >= KEYLESS_SHARE
  await note(state, client, async () => {
    const answer = withKey
      ? await patient(state, state.bearer, '/v1/records', body, { 'idempotency-key': `history-${key}` })
      : await once(state, state.bearer, '/v1/records', body)
    if (answer === 'nothing') return null
    if (answer === 'unknown') return { of: 'ledger', op: 'append', key, result: null }
    const at = (answer.body['entry'] as { seq: number }).seq - state.base
    if (withKey && !again) state.appended.push({ key, id: answer.body['id'] as string, at })
    return { of: 'ledger', op: 'append', key, result: at }
  })
}

async function read(state: State, client: number): Promise<void> {
  const appended = pick(state.appended)
  if (!appended) return
  await note(state, client, async () => {
    const { status, body } = await patient(state, state.bearer, `/v1/records/${appended.id}`)
    const result = status === 404 ? -1 : (body['payload'] as { key: number }).key
    return { of: 'ledger', op: 'read', at: appended.at, result }
  })
}

async function size(state: State, client: number): Promise<void> {
  await note(state, client, async () => {
    const { body } = await patient(state, state.bearer, '/v1/ledger')
    return { of: 'ledger', op: 'size', result: (body['size'] as number) - state.base }
  })
}

/**
 * Creates a record if there are too few. Then several clients take the same step of a record, or different steps for
 * the same version.
 */
async function race(state: State, client: number, principal: string): Promise<void> {
  if (state.gated.length < GATED_KEPT_MAX) {
    const body = { type: 'delivery/1', payload: PAYLOAD, performer: state.performer.id }
    const made = await patient(state, principal, '/v1/records', body, {
      'idempotency-key': `race-${randomUUID()}`,
    })
    state.gated.push({ id: made.body['id'] as string })
  }
  const { id } = pick(state.gated)!
  const [bearer, step, body] =
    Math.random() < 0.5
      ? ([state.performer.bearer, 'activate', {}] as const)
      : ([principal, 'cancel', { reason: 'withdrawn' }] as const)
  await note(state, client, async () => {
    const headers = { 'if-match': '"1"', 'idempotency-key': `${step}-${randomUUID()}` }
    const { status } = await patient(state, bearer, `/v1/records/${id}/${step}`, body, headers)
    return { of: id, op: 'step', at: 1, result: status < 300 ? 1 : 0 }
  })
  if (Math.random() < 0.2) state.gated.splice(0, 1)
}

async function version(state: State, client: number, principal: string): Promise<void> {
  const record = pick(state.gated)
  if (!record) return
  await note(state, client, async () => {
    const { body } = await patient(state, principal, `/v1/records/${record.id}`)
    return { of: record.id, op: 'version', result: body['version'] as number }
  })
}

const REFUSED = new Set([404, 409, 412])

async function patient(
  state: State,
  bearer: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const url = () => state.urls[state.requests++ % state.urls.length]!
  const answer = await persist(() => send(url(), bearer, path, body, headers), { msMax: PERSIST_MS, state })
  if (answer.status < 300 || REFUSED.has(answer.status)) return answer
  throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
}

const NOTHING_WRITTEN = new Set(['overloaded', 'unavailable', 'ledger_closed'])

async function once(
  state: State,
  bearer: string,
  path: string,
  body: object,
): Promise<Answer | 'nothing' | 'unknown'> {
  const url = state.urls[state.requests++ % state.urls.length]!
  const answer = await send(url, bearer, path, body).catch(() => null)
  if (answer === null) return 'unknown'
  if (answer.status === 503) return NOTHING_WRITTEN.has(answer.body['code'] as string) ? 'nothing' : 'unknown'
  return answer
}

async function send(
  url: string,
  bearer: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${bearer}`,
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

function pick<T>(from: readonly T[]): T | undefined {
  return from[Math.floor(Math.random() * from.length)]
}

export type Verdict = { readonly output: string; readonly isLinearizable: boolean }

/**
 * Returns porcupine's verdict on the history. `control` is porcupine's verdict on the history with one altered read.
 * The second verdict must be negative.
 */
export async function checkHistory(
  file: string,
): Promise<{ readonly verdict: Verdict; readonly control: Verdict }> {
  const checker = join(file, '..', 'linearizability')
  await promisify(execFile)(findGo(process.env), ['build', '-o', checker, '.'], {
    cwd: join(import.meta.dirname, 'linearizability'),
    env: buildEnvironment(process.env),
  })
  const check = async (...args: string[]): Promise<Verdict> => {
    const { stdout, code } = await promisify(execFile)(checker, [file, ...args]).then(
      ({ stdout }) => ({ stdout, code: 0 }),
      (error: { stdout: string; code: number }) => error,
    )
    return { output: stdout.trim(), isLinearizable: code === 0 }
  }
  return { verdict: await check(), control: await check('control') }
}
