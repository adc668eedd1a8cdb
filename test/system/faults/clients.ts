import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Loops, startLoops } from '../../../bench/load/loops.ts'
import { type AgentConnection, type Answer, codeOf, openAgentConnection } from './connections.ts'
import { Journal, type JournalLine } from './journal.ts'

type ClientPlan = {
  /** Base URLs that are used round-robin. If there are several, a retry goes to another process. */
  readonly targets: readonly string[]
  /** Client n writes to the ledger with index n modulo the number of ledgers. */
  readonly ledgers: readonly { readonly ledger: string; readonly bearer: string }[]
  readonly clients: number
  readonly batchItems: number
  readonly pauseMsMax?: number
  readonly journalDir: string
}

/**
 * `finish` retries requests with an idempotency key until they are answered. `abandon` retries no request, as if the
 * machine were lost.
 */
export type RunningClients = Loops & {
  readonly acknowledgedRecords: number
  /** Results of attempts, by status and code: `201`, `201 replayed`, `503 outcome_unknown`, `ECONNRESET`. */
  readonly attempts: Readonly<Record<string, number>>
}

const RETRY_PAUSE_MS = 25
/** Maximum time in ms without an answer to a retry at the end. After a longer time the test fails. */
const FINISH_QUIET_MS_MAX = 45_000
const FINISH_LOOK_EVERY_MS = 500
const FILLER = 'a purchase order was created and confirmed by the supplier; '.repeat(4)

const NOTHING_WRITTEN = new Set(['503 overloaded', '503 unavailable', '503 clock_skew', 'ECONNREFUSED'])

/**
 * Starts clients in a closed loop. There are four sorts of clients, each a quarter of all: single records with an
 * idempotency key, single records without a key, batches with a key, and batches without a key. A request with a key is
 * retried until it is answered. A request without a key is sent once.
 */
export function startClients(plan: ClientPlan): RunningClients {
  const state: State = {
    plan,
    stopping: false,
    abandoned: false,
    givenUp: new AbortController(),
    run: randomBytes(4).toString('hex'),
    attempts: {},
    acknowledgedRecords: 0,
    concludedAtMs: 0,
  }
  const loops = startLoops(plan.clients, (client) => runClient(state, client), state)
  return {
    get acknowledgedRecords() {
      return state.acknowledgedRecords
    },
    attempts: state.attempts,
    ended: loops.ended,
    async finish() {
      state.concludedAtMs = performance.now()
      const timer = setInterval(() => {
        if (performance.now() - state.concludedAtMs > FINISH_QUIET_MS_MAX) state.givenUp.abort()
      }, FINISH_LOOK_EVERY_MS)
      await loops.finish().finally(() => clearInterval(timer))
    },
    async abandon() {
      state.givenUp.abort()
      await loops.abandon()
      await loops.ended()
    },
  }
}

type State = {
  readonly plan: ClientPlan
  /** Part of the names of intents. It makes the names unique among runs on one ledger. */
  readonly run: string
  stopping: boolean
  abandoned: boolean
  readonly givenUp: AbortController
  readonly attempts: Record<string, number>
  acknowledgedRecords: number
  /** Time when a client last had the final answer to a request. */
  concludedAtMs: number
}

type Intent = {
  readonly name: string
  readonly path: string
  readonly body: string
  readonly items: number
  readonly bearer: string
  readonly headers: Readonly<Record<string, string>>
  readonly hasKey: boolean
}

async function runClient(state: State, client: number): Promise<void> {
  const { plan } = state
  const { ledger, bearer } = plan.ledgers[client % plan.ledgers.length]!
  const kind = Math.floor(client / plan.ledgers.length) % 4
  const journal = new Journal(plan.journalDir, client)
  const connection = openAgentConnection()
  try {
    for (let n = 0; !state.stopping; n++) {
      const intent = makeIntent(`${state.run}-${client}-${n}`, kind, bearer, plan.batchItems)
      const { outcome, ids, seq, replayed } = await submit(state, connection, intent, client + n)
      const { name, items, hasKey } = intent
      journal.write({ intent: name, ledger, items, hasKey, outcome, ids, seq, replayed })
      state.acknowledgedRecords += ids.length
      state.concludedAtMs = performance.now()
      if (plan.pauseMsMax) await sleep(Math.random() * plan.pauseMsMax)
    }
  } finally {
    connection.close()
    journal.close()
  }
}

function makeIntent(name: string, kind: number, bearer: string, batchItems: number): Intent {
  const isBatch = kind >= 2
  const hasKey = kind % 2 === 0
  const items = isBatch ? batchItems : 1
  const record = (item: number) => ({ type: 'generic/1', payload: { intent: name, item, filler: FILLER } })
  return {
    name,
    path: isBatch ? '/v1/records/batch' : '/v1/records',
    body: JSON.stringify(
      isBatch ? { records: Array.from({ length: items }, (_, i) => record(i)) } : record(0),
    ),
    items,
    bearer,
    headers: hasKey ? { 'idempotency-key': name } : {},
    hasKey,
  }
}

type Conclusion = Pick<JournalLine, 'outcome' | 'ids' | 'seq' | 'replayed'>
const NOT_ACKED = { ids: [], seq: -1, replayed: false } as const

async function submit(
  state: State,
  connection: AgentConnection,
  intent: Intent,
  turn: number,
): Promise<Conclusion> {
  const { targets } = state.plan
  for (let attempt = 0; ; attempt++) {
    const target = targets[(turn + attempt) % targets.length]!
    const answer = await post(target, connection, intent, state.givenUp.signal)
    state.attempts[answer.label] = (state.attempts[answer.label] ?? 0) + 1
    if (answer.conclusion) return answer.conclusion
    if (/^4/.test(answer.label)) throw new Error(`${intent.path} answered ${answer.label}: ${answer.text}`)
    const nothingWritten = NOTHING_WRITTEN.has(answer.label)
    if (!intent.hasKey) await sleep(RETRY_PAUSE_MS) // Without this pause, an unavailable server would cause a busy loop.
    if (!intent.hasKey && nothingWritten) return { outcome: 'refused', ...NOT_ACKED }
    if (!intent.hasKey || state.givenUp.signal.aborted) return { outcome: 'unknown', ...NOT_ACKED }
    await sleep(RETRY_PAUSE_MS)
  }
}

type PostAnswer = { readonly label: string; readonly text: string; readonly conclusion: Conclusion | null }

/** Sends a request. Does not throw for a server error, because `label` is the result. */
async function post(
  target: string,
  connection: AgentConnection,
  { path, body, bearer, headers }: Intent,
  signal: AbortSignal,
): Promise<PostAnswer> {
  try {
    return readAnswer(await connection.send(target, { method: 'POST', path, bearer, body, headers, signal }))
  } catch (error) {
    return { label: signal.aborted ? 'abandoned' : codeOf(error as Error), text: '', conclusion: null }
  }
}

function readAnswer({ status, headers, text }: Answer): PostAnswer {
  const replayed = headers['idempotency-replayed'] === 'true'
  if (status !== 201) {
    const code = /"code":"(\w+)"/.exec(text)?.[1] ?? ''
    return { label: `${status} ${code}`, text, conclusion: null }
  }
  const answer = JSON.parse(text) as { id?: string; entry: { seq: number }; records?: { id: string }[] }
  const ids = answer.records?.map((record) => record.id) ?? [answer.id!]
  return {
    label: replayed ? '201 replayed' : '201',
    text,
    conclusion: { outcome: 'acked', ids, seq: answer.entry.seq, replayed },
  }
}
