import { randomBytes } from 'node:crypto'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Journal, type JournalLine } from './journal.ts'

type ClientPlan = {
  /** Base URLs. A client takes them in turn, so a retry goes to another process where there is one. */
  readonly targets: readonly string[]
  /** Client n writes to ledger n modulo their number. */
  readonly ledgers: readonly { readonly ledger: string; readonly bearer: string }[]
  readonly clients: number
  readonly batchItems: number
  /** Longest pause of a client between two requests; absent: none. */
  readonly pauseMsMax?: number
  /** Where each client keeps its own file. */
  readonly journalDir: string
}

export type RunningClients = {
  readonly acknowledgedRecords: number
  /** How attempts ended, by status and code: `201`, `201 replayed`, `503 outcome_unknown`, `ECONNRESET`. */
  readonly attempts: Readonly<Record<string, number>>
  /** All clients have ended; rejects when one has failed. */
  ended(): Promise<unknown>
  /** No new requests; those with an idempotency key are retried until answered. */
  finish(): Promise<void>
  /** No new requests and no retries: as when the machine is gone. */
  abandon(): Promise<void>
}

const ANSWER_MS_MAX = 30_000
const RETRY_PAUSE_MS = 25
/** In the end: a retry that is not answered in so long a time in which no other is either is a finding, not a delay. */
const FINISH_QUIET_MS_MAX = 45_000
const FINISH_LOOK_EVERY_MS = 500
const FILLER = 'a purchase order was created and confirmed by the supplier; '.repeat(4)

/** Answers that say that nothing was written. */
const NOTHING_WRITTEN = new Set(['503 overloaded', '503 unavailable', '503 clock_skew', 'ECONNREFUSED'])

/**
 * Clients in a closed loop, a quarter each: single records and batches, with an idempotency key and without. With a
 * key a request is retried until it is answered; without one it is sent once, whatever happens.
 */
export function startClients(plan: ClientPlan): RunningClients {
  const state: State = {
    plan,
    stopping: false,
    abandoned: new AbortController(),
    run: randomBytes(4).toString('hex'),
    attempts: {},
    acknowledgedRecords: 0,
    concludedAtMs: 0,
  }
  const running = Array.from({ length: plan.clients }, (_, client) => runClient(state, client))
  const all = Promise.all(running)
  all.catch(() => {}) // reported by finish or abandon
  return {
    get acknowledgedRecords() {
      return state.acknowledgedRecords
    },
    attempts: state.attempts,
    ended: () => all,
    async finish() {
      state.stopping = true
      state.concludedAtMs = performance.now()
      const timer = setInterval(() => {
        if (performance.now() - state.concludedAtMs > FINISH_QUIET_MS_MAX) state.abandoned.abort()
      }, FINISH_LOOK_EVERY_MS)
      await all.finally(() => clearInterval(timer))
    },
    async abandon() {
      state.stopping = true
      state.abandoned.abort()
      await all
    },
  }
}

type State = {
  readonly plan: ClientPlan
  /** Makes the names of intents unique among runs on one ledger. */
  readonly run: string
  stopping: boolean
  readonly abandoned: AbortController
  readonly attempts: Record<string, number>
  acknowledgedRecords: number
  /** When the last request of any client was concluded. */
  concludedAtMs: number
}

type Intent = {
  readonly name: string
  readonly path: string
  readonly body: string
  readonly items: number
  readonly headers: Record<string, string>
  readonly hasKey: boolean
}

async function runClient(state: State, client: number): Promise<void> {
  const { plan } = state
  const { ledger, bearer } = plan.ledgers[client % plan.ledgers.length]!
  const kind = Math.floor(client / plan.ledgers.length) % 4
  const journal = new Journal(plan.journalDir, client)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  try {
    for (let n = 0; !state.stopping; n++) {
      const intent = makeIntent(`${state.run}-${client}-${n}`, kind, bearer, plan.batchItems)
      const { outcome, ids, seq, replayed } = await submit(state, agent, intent, client + n)
      const { name, items, hasKey } = intent
      journal.write({ intent: name, ledger, items, hasKey, outcome, ids, seq, replayed })
      state.acknowledgedRecords += ids.length
      state.concludedAtMs = performance.now()
      if (plan.pauseMsMax) await sleep(Math.random() * plan.pauseMsMax)
    }
  } finally {
    agent.destroy()
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
    headers: {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      ...(hasKey && { 'idempotency-key': name }),
    },
    hasKey,
  }
}

type Conclusion = Pick<JournalLine, 'outcome' | 'ids' | 'seq' | 'replayed'>
const NOT_ACKED = { ids: [], seq: -1, replayed: false } as const

async function submit(state: State, agent: http.Agent, intent: Intent, turn: number): Promise<Conclusion> {
  const { targets } = state.plan
  for (let attempt = 0; ; attempt++) {
    const answer = await post(
      targets[(turn + attempt) % targets.length]!,
      agent,
      intent,
      state.abandoned.signal,
    )
    state.attempts[answer.label] = (state.attempts[answer.label] ?? 0) + 1
    if (answer.conclusion) return answer.conclusion
    if (/^4/.test(answer.label)) throw new Error(`${intent.path} answered ${answer.label}: ${answer.text}`)
    const nothingWritten = NOTHING_WRITTEN.has(answer.label)
    if (!intent.hasKey) await sleep(RETRY_PAUSE_MS) // a server that is away is not asked in a busy loop
    if (!intent.hasKey && nothingWritten) return { outcome: 'refused', ...NOT_ACKED }
    if (!intent.hasKey || state.abandoned.signal.aborted) return { outcome: 'unknown', ...NOT_ACKED }
    await sleep(RETRY_PAUSE_MS)
  }
}

type PostAnswer = { readonly label: string; readonly text: string; readonly conclusion: Conclusion | null }

/** Never throws for what a server does: `label` says how it ended. */
function post(target: string, agent: http.Agent, intent: Intent, signal: AbortSignal): Promise<PostAnswer> {
  return new Promise((resolve) => {
    const failed = (label: string) => resolve({ label, text: '', conclusion: null })
    if (signal.aborted) return failed('abandoned')
    const request = http.request(
      `${target}${intent.path}`,
      { method: 'POST', agent, headers: intent.headers, signal, timeout: ANSWER_MS_MAX },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('error', (error: NodeJS.ErrnoException) => failed(error.code ?? 'error'))
        response.on('end', () => resolve(readAnswer(response, text)))
      },
    )
    request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'no_answer' })))
    request.on('error', (error: NodeJS.ErrnoException) => failed(error.code ?? error.message))
    request.end(intent.body)
  })
}

function readAnswer(response: http.IncomingMessage, text: string): PostAnswer {
  const replayed = response.headers['idempotency-replayed'] === 'true'
  if (response.statusCode !== 201) {
    const code = /"code":"(\w+)"/.exec(text)?.[1] ?? ''
    return { label: `${response.statusCode} ${code}`, text, conclusion: null }
  }
  const answer = JSON.parse(text) as { id?: string; entry: { seq: number }; records?: { id: string }[] }
  const ids = answer.records?.map((record) => record.id) ?? [answer.id!]
  return {
    label: replayed ? '201 replayed' : '201',
    text,
    conclusion: { outcome: 'acked', ids, seq: answer.entry.seq, replayed },
  }
}
