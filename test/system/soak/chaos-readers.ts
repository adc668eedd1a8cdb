import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Loops, startLoops } from '../../../bench/load/loops.ts'
import { proof } from '../../../sdk/verify/proof.ts'
import { receipt } from '../../../sdk/verify/receipt.ts'
import type { Ledger } from '../deployment/deployment.ts'
import { Abandoned, persist } from '../faults/persist.ts'

export type ReaderPlan = {
  readonly urls: readonly string[]
  /** Ledger with the readers' own records. Only the readers write to it. */
  readonly own: Ledger
  /** Ledgers of other writers, which the readers list, search and follow. */
  readonly others: readonly Ledger[]
  readonly readers: number
  readonly pauseMsMax: number
}

export type RunningReaders = Loops & {
  readonly done: Readonly<Record<string, number>>
  readonly erased: ReadonlySet<string>
}

type State = {
  readonly plan: ReaderPlan
  readonly noteKey: string
  readonly done: Record<string, number>
  readonly erased: Set<string>
  requests: number
  stopping: boolean
  abandoned: boolean
}

/**
 * Maximum wait in ms for an answer, so that a hang fails the test. On a busy machine killed processes take half a
 * minute to come back.
 */
const ANSWER_MS_MAX = 300_000
const CHECKPOINT_MS_MAX = 600_000
const PAGE = 20
const ERASED_EVERY = 3
const EXPORTED_EVERY = 25

/**
 * Starts clients that write a record, get it, find it in a list and a search, and verify its proof and its receipt.
 * They erase every third record. From time to time they export their ledger, and read the records and events of other
 * ledgers. Each answer is checked.
 */
export async function startReaders(plan: ReaderPlan): Promise<RunningReaders> {
  const known = { plan, noteKey: '', done: {}, erased: new Set<string>(), requests: 0 }
  const state: State = { ...known, stopping: false, abandoned: false }
  const { noteVerifierKey } = (await ask(state, plan.own, 'ledger', '/v1/ledger')).json()
  const started: State = Object.assign(state, { noteKey: noteVerifierKey })
  const loops = startLoops(plan.readers, (reader) => read(started, reader), started)
  return { ...loops, done: state.done, erased: state.erased }
}

async function read(state: State, reader: number): Promise<void> {
  const { own, others, readers } = state.plan
  for (let n = reader; !state.stopping; n += readers) {
    const name: string = randomUUID()
    const record = await write(state, name)
    const found = (await ask(state, own, 'get', `/v1/records/${record}`)).json()
    assert.deepEqual(found.payload, { name })
    await findIn(state, own, 'list', '', record)
    await findIn(state, own, 'search', `&reference=chaos:${name}`, record)
    const proven = await ask(state, own, 'proof', `/v1/records/${record}/proof`, {
      until: 'checkpoint_pending',
    })
    await proof(proven.text(), { noteKey: state.noteKey, record: found })
    const path = `/v1/records/${record}/receipt?statement=true&wait=10`
    const receipts = await ask(state, own, 'receipt', path, { until: 'checkpoint_pending' })
    await receipt(receipts.bytes, { noteKey: state.noteKey, record: found })
    if (n % ERASED_EVERY === 0) await erase(state, record)
    if (n % EXPORTED_EVERY === 0) await exportAll(state)
    const other = others[n % others.length]!
    const page = (await ask(state, other, 'list of others', `/v1/records?limit=${PAGE}`)).json()
    assert.ok(page.data.length <= PAGE)
    await ask(state, other, 'events', `/v1/events?limit=${PAGE}`)
    await sleep(Math.random() * state.plan.pauseMsMax)
  }
}

async function write(state: State, name: string): Promise<string> {
  const body = { type: 'generic/1', payload: { name }, references: [`chaos:${name}`] }
  return (await ask(state, state.plan.own, 'write', '/v1/records', { method: 'POST', body })).json().id
}

async function findIn(state: State, ledger: Ledger, what: string, filter: string, id: string): Promise<void> {
  const { data } = (await ask(state, ledger, what, `/v1/records?limit=${PAGE}${filter}`)).json()
  assert.ok(
    data.some((record: { id: string }) => record.id === id),
    `${what}: ${id} is not found`,
  )
}

async function erase(state: State, id: string): Promise<void> {
  const body = { code: 'data_subject_request' }
  await ask(state, state.plan.own, 'erase', `/v1/records/${id}/payload`, { method: 'DELETE', body })
  state.erased.add(id)
  const { payload } = (await ask(state, state.plan.own, 'get erased', `/v1/records/${id}`)).json()
  assert.equal(payload, null, `${id} was erased, and is shown`)
}

/** Exports the ledger. An export that is cut off is repeated. An export that ends without error must be complete. */
async function exportAll(state: State): Promise<void> {
  const lines = (await ask(state, state.plan.own, 'export', '/v1/export')).text().trimEnd().split('\n')
  for (const line of lines) JSON.parse(line)
  assert.ok(lines.length > 1)
}

type Asked = {
  readonly method?: 'POST' | 'DELETE'
  readonly body?: object
  /** Code of a 409. The client repeats the request after this code, because the refusal is only temporary. */
  readonly until?: string
}

class Whole {
  readonly status: number
  readonly bytes: Uint8Array

  constructor(status: number, bytes: Uint8Array) {
    this.status = status
    this.bytes = bytes
  }

  text(): string {
    return Buffer.from(this.bytes).toString()
  }

  // biome-ignore lint/suspicious/noExplicitAny: what the API answers
  json(): any {
    return JSON.parse(this.text())
  }

  get body(): string {
    return this.text().slice(0, 500)
  }
}

async function ask(
  state: State,
  { bearer }: Ledger,
  what: string,
  path: string,
  { method, body, until }: Asked = {},
): Promise<Whole> {
  const headers = {
    authorization: `Bearer ${bearer}`,
    ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
  }
  const send = async () => {
    const url = state.plan.urls[state.requests++ % state.plan.urls.length]! + path
    const response = await fetch(url, {
      method: method ?? 'GET',
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return new Whole(response.status, await response.bytes())
  }
  for (const giveUpAt = Date.now() + CHECKPOINT_MS_MAX; ; ) {
    if (state.abandoned) throw new Abandoned()
    const answer = await persist(send, { msMax: ANSWER_MS_MAX, state })
    if (answer.status < 300) {
      state.done[what] = (state.done[what] ?? 0) + 1
      return answer
    }
    const isPending = answer.status === 409 && until !== undefined && answer.body.includes(`"${until}"`)
    if (!isPending || Date.now() > giveUpAt)
      throw new Error(`${what}: ${path} answered ${answer.status}: ${answer.body}`)
    await sleep(100)
  }
}
