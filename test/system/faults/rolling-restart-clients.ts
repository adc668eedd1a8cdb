import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Loops, startLoops } from '../../../bench/load/loops.ts'
import type { Ledger } from '../deployment/deployment.ts'
import {
  type Connection,
  codeOf,
  openAgentConnection,
  openRawConnection,
  type Request,
} from './connections.ts'
import { Journal } from './journal.ts'

type ClientPlan = {
  readonly url: string
  readonly ledger: Ledger
  readonly clients: number
  readonly journalDir: string
}

export type RunningClients = Pick<Loops, 'finish'> & {
  readonly answered: number
  /** Results of requests, by status and code: `201`, `503 unavailable`, `ECONNRESET`. Each request was sent once. */
  readonly ends: Readonly<Record<string, number>>
}

/**
 * Maximum of the random pause in ms between two requests of every fourth client. The pause is long, so that the
 * client's connection is idle when a server starts to stop.
 */
const THINK_MS_MAX = 400
/**
 * Maximum of the random pause in ms between two requests of all clients except every fourth. Without the pause, a
 * machine at full load would cause failures.
 */
const PAUSE_MS_MAX = 20
const FILLER = 'a purchase order was created and confirmed by the supplier; '.repeat(4)

/**
 * Starts clients in a closed loop, each with a keep-alive connection. Half of the clients use Node's agent, the other
 * half raw sockets. Half of the clients notarize records, the other half get notarized records. No request is retried,
 * so every failure is counted.
 */
export function startRestartClients(plan: ClientPlan): RunningClients {
  const state: State = {
    plan,
    run: randomBytes(4).toString('hex'),
    ends: {},
    answered: 0,
    ids: [],
    stopping: false,
    abandoned: false,
  }
  return {
    ...startLoops(plan.clients, (client) => runClient(state, client), state),
    get answered() {
      return state.answered
    },
    ends: state.ends,
  }
}

type State = {
  readonly plan: ClientPlan
  /** Part of the names of intents. It makes the names unique among runs on one ledger. */
  readonly run: string
  readonly ends: Record<string, number>
  answered: number
  readonly ids: string[]
  stopping: boolean
  abandoned: boolean
}

async function runClient(state: State, client: number): Promise<void> {
  const { plan } = state
  const connection = client % 2 === 0 ? openByAgent(plan.url) : openRawConnection(plan.url)
  const writes = client % 4 < 2
  const journal = writes ? new Journal(plan.journalDir, client) : null
  const pauseMs = Math.floor(client / 4) % 4 === 3 ? THINK_MS_MAX : PAUSE_MS_MAX
  try {
    for (let n = 0; !state.stopping; n++) {
      const id = state.ids[Math.floor(Math.random() * state.ids.length)]
      const end =
        journal === null
          ? await get(connection, plan.ledger, id)
          : await notarize(state, connection, journal, `${state.run}-${client}-${n}`)
      if (end !== null) count(state, end)
      await sleep(Math.random() * pauseMs)
    }
  } finally {
    connection.close()
    journal?.close()
  }
}

function openByAgent(url: string): Connection {
  const { send, close } = openAgentConnection()
  return { send: (request) => send(url, request), close }
}

function count(state: State, end: string): void {
  state.ends[end] = (state.ends[end] ?? 0) + 1
  if (end.startsWith('2')) state.answered++
}

async function get(
  connection: Connection,
  { bearer }: Ledger,
  id: string | undefined,
): Promise<string | null> {
  if (id === undefined) return null
  const answer = await send(connection, { method: 'GET', path: `/v1/records/${id}`, bearer, body: '' })
  if (typeof answer === 'string') return answer
  if (answer.status === 200 && JSON.parse(answer.text).id !== id) return '200 of another record'
  return label(answer)
}

async function notarize(
  state: State,
  connection: Connection,
  journal: Journal,
  intent: string,
): Promise<string> {
  const { ledger, bearer } = state.plan.ledger
  const body = JSON.stringify({ type: 'generic/1', payload: { intent, item: 0, filler: FILLER } })
  const answer = await send(connection, { method: 'POST', path: '/v1/records', bearer, body })
  const line = { intent, ledger, items: 1, hasKey: false, replayed: false }
  if (typeof answer === 'string' || answer.status !== 201) {
    const outcome = answer === 'ECONNREFUSED' ? 'refused' : 'unknown'
    journal.write({ ...line, outcome, ids: [], seq: -1 })
    return typeof answer === 'string' ? answer : label(answer)
  }
  const made = JSON.parse(answer.text) as { id: string; entry: { seq: number } }
  journal.write({ ...line, outcome: 'acked', ids: [made.id], seq: made.entry.seq })
  state.ids.push(made.id)
  return '201'
}

function send(connection: Connection, request: Request): Promise<Ended> {
  return connection.send(request).catch(codeOf)
}

type Ended = Awaited<ReturnType<Connection['send']>> | string

function label({ status, text }: Exclude<Ended, string>): string {
  return status < 300 ? String(status) : `${status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`
}
