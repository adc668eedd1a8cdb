import { randomUUID } from 'node:crypto'
import { type Loops, startLoops } from '../../../bench/load/loops.ts'
import { DELIVERY, FAILING, PASSING, PAYLOAD } from '../../helpers/gated-app.ts'
import type { Ledger } from '../deployment/deployment.ts'
import { Abandoned, persist } from './persist.ts'

export type GatedPlan = {
  readonly clients: number
  /**
   * Time in ms for which a request is repeated with its idempotency key, while its server is killed and comes back. By
   * default the first request must be answered.
   */
  readonly persistMs?: number
  readonly withOtherEnds?: boolean
}

type Parties = { readonly principal: string; readonly performer: string; readonly performerId: string }

type State = {
  readonly urls: readonly string[]
  readonly persistMs: number
  readonly ends: Record<string, number>
  requests: number
  /** Number of records that have left a state for which their client had waited. */
  moved: number
  movedAtMs: number
  stopping: boolean
  abandoned: boolean
}

export type RunningGatedClients = Loops & {
  readonly completed: number
  readonly ends: Readonly<Record<string, number>>
}

const WAIT_SECONDS = 5
/**
 * Maximum time in ms until a completion is verified. The test fails if a completion waits longer while many others are
 * verified, or if no completion is verified for long. Killed workers that come back get little CPU on a busy machine.
 */
const VERIFIED_MS_MAX = 30_000
const OVERTAKEN_MAX = 64
const STALLED_TIMES = 2
/**
 * Time in ms until the deadline of a record. It is longer than most outages. A creation without an answer until the
 * deadline is sent again with a later deadline.
 */
const DEADLINE_MS = 20_000
const DEADLINE_PASSED = /answered 400: .*\/deadline has passed/

/**
 * Starts clients in a closed loop. Each client acts for both parties of one record at a time, from creation to verdict.
 * The gate alternates between the principal and `auto`, and the rules alternately pass and fail. Every request must be
 * answered as expected.
 */
export async function startGatedClients(
  urls: readonly string[],
  ledgers: readonly Ledger[],
  { clients, persistMs = 0, withOtherEnds = false }: GatedPlan,
): Promise<RunningGatedClients> {
  const state: State = {
    urls,
    persistMs,
    ends: {},
    requests: 0,
    moved: 0,
    movedAtMs: 0,
    stopping: false,
    abandoned: false,
  }
  const parties = await Promise.all(ledgers.map((ledger) => makeParties(state, ledger)))
  const run = async (client: number) => {
    for (let n = client; !state.stopping; n++) {
      const end = endOf(withOtherEnds ? n : 0)
      const ended = await end(state, parties[client % parties.length]!, n)
      state.ends[ended] = (state.ends[ended] ?? 0) + 1
    }
  }
  return {
    ...startLoops(clients, run, state),
    get completed() {
      return Object.values(state.ends).reduce((sum, count) => sum + count, 0)
    },
    ends: state.ends,
  }
}

async function makeParties(state: State, { bearer }: Ledger): Promise<Parties> {
  await call(state, bearer, 'POST', '/v1/types', DELIVERY)
  const { id: agent } = await call(state, bearer, 'POST', '/v1/agents', { name: 'performer' })
  const scopes = ['records:write', 'records:read:own']
  const { key } = await call(state, bearer, 'POST', '/v1/keys', { name: 'performer', agent, scopes })
  return { principal: bearer, performer: key!, performerId: agent! }
}

type End = (state: State, parties: Parties, n: number) => Promise<string>

function endOf(n: number): End {
  if (n % 10 === 7) return letExpire
  return n % 10 === 8 ? cancel : takeThrough
}

async function takeThrough(state: State, parties: Parties, n: number): Promise<string> {
  const gate = n % 2 === 0 ? 'auto' : 'principal'
  const path = await create(state, parties, { gate })
  await call(state, parties.performer, 'POST', `${path}/activate`, {})
  const evidence = n % 3 === 0 ? FAILING : PASSING
  await call(state, parties.performer, 'POST', `${path}/completions`, { evidence })
  const verified = await waitWhile(state, parties, path, ['SUBMITTED'])
  if (gate === 'auto') return verified
  return (await call(state, parties.principal, 'POST', `${path}/verdict`, { verdict: 'accept' }))['state']!
}

/**
 * Lets a record expire. If an outage delays the record's creation past its deadline, the client creates it with a later
 * deadline.
 */
async function letExpire(state: State, parties: Parties): Promise<string> {
  for (let ms = DEADLINE_MS; ; ms *= 2) {
    const deadline = new Date(Date.now() + ms).toISOString()
    const path = await create(state, parties, { deadline }).catch((error: Error) => {
      if (!DEADLINE_PASSED.test(error.message)) throw error
    })
    if (path !== undefined) return waitWhile(state, parties, path, ['CREATED'], '1', ms)
  }
}

async function cancel(state: State, parties: Parties): Promise<string> {
  const path = await create(state, parties, {})
  return (await call(state, parties.principal, 'POST', `${path}/cancel`, { reason: 'withdrawn' }))['state']!
}

async function create(state: State, parties: Parties, terms: object): Promise<string> {
  const body = { type: 'delivery/1', payload: PAYLOAD, performer: parties.performerId, ...terms }
  const { id } = await call(state, parties.principal, 'POST', '/v1/records', body)
  return `/v1/records/${id}`
}

/**
 * Waits until the record has left the states. It uses requests that the server answers when the record changes. Returns
 * the record's new state.
 */
async function waitWhile(
  state: State,
  { principal }: Parties,
  path: string,
  states: readonly string[],
  version?: string,
  deadlineMs = 0,
): Promise<string> {
  const msMax = deadlineMs + VERIFIED_MS_MAX + state.persistMs
  const [beganAtMs, movedBefore] = [performance.now(), state.moved]
  const isStuck = () => {
    const nowMs = performance.now()
    const isOvertaken = nowMs - beganAtMs > msMax && state.moved - movedBefore > OVERTAKEN_MAX
    return isOvertaken || nowMs - Math.max(beganAtMs, state.movedAtMs) > STALLED_TIMES * msMax
  }
  const known: Record<string, string> = version ? { 'if-none-match': `"${version}"` } : {}
  while (!isStuck()) {
    const record = await call(state, principal, 'GET', `${path}?wait=${WAIT_SECONDS}`, undefined, known)
    const seen = record['state'] ?? states[0]!
    if (states.includes(seen)) continue
    state.moved++
    state.movedAtMs = performance.now()
    return seen
  }
  const [ms, others] = [Math.round(performance.now() - beganAtMs), state.moved - movedBefore]
  throw new Error(`${path} has stayed ${states.join(' or ')} for ${ms} ms, while ${others} others did not`)
}

type Answered = { readonly status: number; readonly body: Record<string, string> }

async function call(
  state: State,
  bearer: string,
  method: string,
  path: string,
  body?: object,
  more: Record<string, string> = {},
): Promise<Record<string, string>> {
  const headers = {
    authorization: `Bearer ${bearer}`,
    ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    ...more,
  }
  const send = async (): Promise<Answered> => {
    const url = state.urls[state.requests++ % state.urls.length]! + path
    const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }
  if (state.abandoned) throw new Abandoned()
  const answer = state.persistMs > 0 ? await persist(send, { msMax: state.persistMs, state }) : await send()
  if (answer.status < 300 || answer.status === 304) return answer.body
  throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
}
