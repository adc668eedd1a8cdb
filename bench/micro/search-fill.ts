import type { Target } from '../load/connection.ts'
import { post } from '../load/post.ts'
import { type Random, randomFrom } from '../load/random.ts'

/** A ledger to search. Each property of its records has a common value and a rare value. */
export type LargeLedger = {
  readonly target: Target
  readonly ledger: string
  readonly keys: Readonly<Record<'common' | 'rare', { readonly bearer: string; readonly agent: string }>>
  readonly types: Readonly<Record<'common' | 'rare', string>>
  readonly clients: Readonly<Record<'common' | 'rare', string>>
  /** Records that are spread over the whole ledger. */
  readonly samples: { readonly id: string }[]
  parent: string
  records: number
}

export const TRACE_IDS = { common: 'c0'.repeat(16), rare: 'fa'.repeat(16) }
export const REFERENCES = { common: 'erp:order/1', rare: 'erp:order/2' }
/** Start of the records' `occurredAt`, which grows with the ledger. */
export const FIRST_DAY_MS = Date.parse('2026-01-01T00:00:00Z')
export const DAYS = 300
const DAY_MS = 86_400_000

const BATCH_ITEMS = 1_000
const BATCHES_IN_FLIGHT = 3
const SAMPLES_PER_BATCH = 2
const SAMPLES_MAX = 2_000
/** One batch in 5,000 has rare values. At least one batch has them. */
const RARE_BATCHES = 5_000
const TRACED_BATCHES = 10
const REFERRING_RECORDS = 300
const GATED_RECORDS = 300

export async function makeLargeLedger(target: Target, operatorKey: string): Promise<LargeLedger> {
  const made = await post(target, operatorKey, '/v1/ledgers', { name: 'large' })
  const first = { bearer: made.key.key as string, agent: made.agent.id as string }
  const scopes = ['agents:act', 'records:read', 'records:write']
  const key = await post(target, first.bearer, '/v1/keys', { name: 'rare', scopes })
  const clients = { common: '', rare: '' }
  for (const name of ['common', 'rare'] as const)
    clients[name] = (await post(target, first.bearer, '/v1/agents', { name: `${name} client` })).id
  for (const name of ['order', 'exception'])
    await post(target, first.bearer, '/v1/types', { name, version: 1, payloadSchema: { type: 'object' } })
  return {
    target,
    ledger: made.ledger.id,
    keys: { common: first, rare: { bearer: key.key, agent: key.agent.id ?? key.agent } },
    types: { common: 'order/1', rare: 'exception/1' },
    clients,
    samples: [],
    parent: '',
    records: 0,
  }
}

/** Writes `records` in batches, some with references or a parent, and a few gated records one by one. */
export async function fillLedger(ledger: LargeLedger, records: number): Promise<void> {
  const batches = Math.ceil(records / BATCH_ITEMS)
  const random = randomFrom(records)
  let next = 0
  const keepSending = async () => {
    while (next < batches) await sendBatch(ledger, next++, batches, random)
  }
  await Promise.all(Array.from({ length: BATCHES_IN_FLIGHT }, keepSending))
  const { target, keys, clients } = ledger
  for (let i = 0; i < REFERRING_RECORDS; i++) {
    const references = [i === 150 ? REFERENCES.rare : REFERENCES.common]
    const body = {
      type: 'order/1',
      payload: { i },
      references,
      ...(ledger.parent && { parent: ledger.parent }),
    }
    const record = await post(target, keys.common.bearer, '/v1/records', body)
    if (i === 0) ledger.parent = record.id
  }
  for (let i = 0; i < GATED_RECORDS; i++) {
    const performer = i === 150 ? clients.rare : clients.common
    await post(target, keys.common.bearer, '/v1/records', { type: 'task/1', payload: { i }, performer })
  }
  ledger.records = batches * BATCH_ITEMS + REFERRING_RECORDS + GATED_RECORDS
}

async function sendBatch(ledger: LargeLedger, n: number, batches: number, random: Random): Promise<void> {
  const { target, keys, types, clients } = ledger
  const isRare = n % RARE_BATCHES === Math.min(batches >> 1, RARE_BATCHES >> 1)
  const traceId = isRare ? TRACE_IDS.rare : n % TRACED_BATCHES === 0 ? TRACE_IDS.common : null
  const day = FIRST_DAY_MS + Math.floor((n * DAYS) / batches) * DAY_MS
  const records = Array.from({ length: BATCH_ITEMS }, (_, i) => ({
    type: isRare && i < 10 ? types.rare : i % 3 === 0 ? 'generic/1' : types.common,
    payload: { call: random.hex(8), tool: 'purchase_order.create', quantity: i, note: random.words(90) },
    ...(i % 4 === 0 && { occurredAt: new Date(day + i * 60_000).toISOString() }),
    ...(isRare && i < 20 ? { onBehalfOf: clients.rare } : i % 2 === 0 && { onBehalfOf: clients.common }),
  }))
  const { bearer } = isRare ? keys.rare : keys.common
  const headers = traceId === null ? {} : { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }
  const answer = await post(target, bearer, '/v1/records/batch', { records }, headers)
  const step = Math.max(1, Math.floor((batches * SAMPLES_PER_BATCH) / SAMPLES_MAX))
  if (n % step === 0)
    for (let i = 0; i < SAMPLES_PER_BATCH; i++)
      ledger.samples.push(answer.records[random.integer(0, BATCH_ITEMS - 1)])
}
