import { setTimeout as sleep } from 'node:timers/promises'
import { DELIVERY, FAILING, PASSING, PAYLOAD } from '../../helpers/gated-app.ts'
import type { Ledger } from './deployment.ts'

type Parties = { readonly principal: string; readonly performer: string; readonly performerId: string }

export type RunningGatedClients = {
  /** Records that a client has seen to their end. */
  readonly completed: number
  /** No new records; those under way are taken to their end. */
  finish(): Promise<void>
  /** Stops where they are. */
  abandon(): Promise<void>
}

const LOOK_EVERY_MS = 20
/** Past this a completion that nobody verifies is a finding, not a delay. */
const VERIFIED_MS_MAX = 30_000

/**
 * Clients in a closed loop, each both parties of one record at a time, from its creation to its verdict. By turns the gate is
 * the principal's and `auto`, and the rules pass and fail. Every request must be answered as it should be.
 */
export async function startGatedClients(
  url: string,
  ledgers: readonly Ledger[],
  clients: number,
): Promise<RunningGatedClients> {
  const parties = await Promise.all(ledgers.map((ledger) => makeParties(url, ledger)))
  const state = { completed: 0, stopping: false, abandoned: false }
  const running = Array.from({ length: clients }, async (_, client) => {
    for (let n = client; !state.stopping; n++) {
      await takeThrough(url, parties[client % parties.length]!, n, state)
      if (!state.abandoned) state.completed++
    }
  })
  const all = Promise.all(running)
  all.catch(() => {}) // reported by finish
  return {
    get completed() {
      return state.completed
    },
    async finish() {
      state.stopping = true
      await all
    },
    async abandon() {
      state.stopping = true
      state.abandoned = true
      await all.catch(() => {})
    },
  }
}

async function makeParties(url: string, { bearer }: Ledger): Promise<Parties> {
  await call(url, bearer, 'POST', '/v1/types', DELIVERY)
  const { id: agent } = await call(url, bearer, 'POST', '/v1/agents', { name: 'performer' })
  const scopes = ['records:write', 'records:read:own']
  const { key } = await call(url, bearer, 'POST', '/v1/keys', { name: 'performer', agent, scopes })
  return { principal: bearer, performer: key!, performerId: agent! }
}

async function takeThrough(
  url: string,
  { principal, performer, performerId }: Parties,
  n: number,
  state: { readonly abandoned: boolean },
): Promise<void> {
  const gate = n % 2 === 0 ? 'auto' : 'principal'
  const body = { type: 'delivery/1', payload: PAYLOAD, performer: performerId, gate }
  const { id } = await call(url, principal, 'POST', '/v1/records', body)
  const path = `/v1/records/${id}`
  await call(url, performer, 'POST', `${path}/activate`, {})
  await call(url, performer, 'POST', `${path}/completions`, { evidence: n % 3 === 0 ? FAILING : PASSING })
  const giveUpAt = Date.now() + VERIFIED_MS_MAX
  for (;;) {
    if (state.abandoned) return
    if ((await call(url, principal, 'GET', path))['state'] !== 'SUBMITTED') break
    if (Date.now() > giveUpAt) throw new Error(`${id} was not verified within ${VERIFIED_MS_MAX} ms`)
    await sleep(LOOK_EVERY_MS)
  }
  if (gate === 'principal') await call(url, principal, 'POST', `${path}/verdict`, { verdict: 'accept' })
}

async function call(
  url: string,
  bearer: string,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, string>> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}
