import { DAYS, FIRST_DAY_MS, type LargeLedger, REFERENCES, TRACE_IDS } from './search-fill.ts'

type Query = () => {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
}

const DAY_MS = 86_400_000
const RECORD = { type: 'order/1', payload: { tool: 'purchase_order.create', quantity: 7 } }
const WARM_UP = 5

/** Maps a name to a query of the ledger. A query for a common value differs each time. */
export function makeQueries(ledger: LargeLedger): ReadonlyMap<string, Query> {
  const { keys, types, clients, samples } = ledger
  let last = 0
  const sample = () => samples[last++ % samples.length]!
  const day = (n: number) => new Date(FIRST_DAY_MS + n * DAY_MS).toISOString()
  const get =
    (path: string): Query =>
    () => ({ method: 'GET', path })
  const list = (query: object): Query => get(`/v1/records?${new URLSearchParams({ ...query })}`)
  const hour = () => new Date(Date.now() - 60_000).toISOString()
  return new Map<string, Query>([
    ['get', () => ({ method: 'GET', path: `/v1/records/${sample().id}` })],
    ['entries of one', () => ({ method: 'GET', path: `/v1/records/${sample().id}/entries` })],
    ['proof', () => ({ method: 'GET', path: `/v1/records/${sample().id}/proof` })],
    ['tree', () => ({ method: 'GET', path: `/v1/records/${ledger.parent}/tree` })],
    ['list', list({})],
    ['list, 200', list({ limit: '200' })],
    ['list, oldest first', list({ order: 'asc' })],
    ['reference, common', list({ reference: REFERENCES.common })],
    ['reference, rare', list({ reference: REFERENCES.rare })],
    ['parent', list({ parent: ledger.parent })],
    ['traceId, common', list({ traceId: TRACE_IDS.common })],
    ['traceId, rare', list({ traceId: TRACE_IDS.rare })],
    ['onBehalfOf, common', list({ onBehalfOf: clients.common })],
    ['onBehalfOf, rare', list({ onBehalfOf: clients.rare })],
    ['actor, common', list({ actor: keys.common.agent })],
    ['actor, rare', list({ actor: keys.rare.agent })],
    ['type, common', list({ type: types.common })],
    ['type, rare', list({ type: types.rare })],
    ['type, none', list({ type: 'nothing/1' })],
    ['state, notarized', list({ state: 'RECORDED' })],
    ['state, gated', list({ state: 'CREATED' })],
    ['performer, common', list({ performer: clients.common })],
    ['performer, rare', list({ performer: clients.rare })],
    ['principal', list({ principal: keys.common.agent })],
    ['occurred, a day', list({ occurredAfter: day(99), occurredBefore: day(100) })],
    ['occurred, a month', list({ occurredAfter: day(99), occurredBefore: day(129) })],
    ['occurred, all', list({ occurredBefore: day(DAYS) })],
    ['recorded, the last minute', () => list({ recordedAfter: hour() })()],
    ['recorded, long ago', list({ recordedBefore: day(0) })],
    ['type and actor, common', list({ type: types.common, actor: keys.common.agent })],
    ['type rare, actor common', list({ type: types.rare, actor: keys.common.agent })],
    ['type common, actor rare', list({ type: types.common, actor: keys.rare.agent })],
    ['onBehalfOf rare, type common', list({ onBehalfOf: clients.rare, type: types.common })],
    ['onBehalfOf common, type rare', list({ onBehalfOf: clients.common, type: types.rare })],
    ['onBehalfOf and traceId, common', list({ onBehalfOf: clients.common, traceId: TRACE_IDS.common })],
    ['actor common, traceId rare', list({ actor: keys.common.agent, traceId: TRACE_IDS.rare })],
    [
      'occurred and type, common',
      list({ occurredAfter: day(99), occurredBefore: day(100), type: types.common }),
    ],
    ['performer and state', list({ performer: clients.common, state: 'CREATED' })],
    ['principal and state', list({ principal: keys.common.agent, state: 'CREATED' })],
    ['recorded and type, common', () => list({ recordedAfter: hour(), type: types.common })()],
    ['notarize', () => ({ method: 'POST', path: '/v1/records', body: RECORD })],
    [
      'notarize 1,000',
      () => ({ method: 'POST', path: '/v1/records/batch', body: { records: Array(1_000).fill(RECORD) } }),
    ],
  ])
}

type Measured = {
  readonly p50: number
  readonly p99: number
  readonly items: number
  readonly isWhole: boolean
}

export async function measureQueries(
  small: LargeLedger,
  large: LargeLedger,
  name: string,
  repeats: number,
): Promise<[Measured, Measured]> {
  const asked = [small, large].map((ledger) => ({
    ledger,
    question: makeQueries(ledger).get(name)!,
    times: [] as number[],
    items: 0,
    isWhole: true,
  }))
  for (let i = -WARM_UP; i < repeats; i++) {
    for (const one of asked) {
      const { ms, answer } = await ask(one.ledger, one.question)
      if (i >= 0) one.times.push(ms)
      const page = answer.children ?? answer
      one.items = page.data?.length ?? 1
      one.isWhole = (page.nextCursor ?? null) === null
    }
  }
  const [a, b] = asked.map(({ times, items, isWhole }) => {
    const sorted = times.sort((x, y) => x - y)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
    return { p50: at(0.5), p99: at(0.99), items, isWhole }
  })
  return [a!, b!]
}

// biome-ignore lint/suspicious/noExplicitAny: answers of our own server
async function ask({ target, keys }: LargeLedger, question: Query): Promise<{ ms: number; answer: any }> {
  const { method, path, body } = question()
  const startedAt = performance.now()
  const answer = await fetch(`http://${target.host}:${target.port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${keys.common.bearer}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
  return { ms: performance.now() - startedAt, answer: JSON.parse(text) }
}
