import { randomFrom } from './random.ts'
import { COUNTER_MARK, findMarks, makeOrder, writeDigits } from './requests.ts'

/** The requests of a record's life, in order. `look`: waits until the worker has verified the completion. */
export const LIFECYCLE_STEPS = ['create', 'activate', 'complete', 'look', 'judge'] as const
export type LifecycleStep = (typeof LIFECYCLE_STEPS)[number]

export type Gate = 'principal' | 'auto'

/** Requests of the clients: orders of one principal, carried out by one performer. */
export type LifecycleShape = {
  readonly host: string
  readonly type: string
  /** API keys of the two parties. */
  readonly principalBearer: string
  readonly performerBearer: string
  /** The performer's agent, which the record names. */
  readonly performer: string
  readonly gate: Gate
  readonly deadline: string
  readonly payloadBytes: number
  /** An Idempotency-Key, never used twice, on every write. */
  readonly idempotencyKeys: boolean
  readonly seed: number
}

/** Buffers are filled in place and are valid until the next call: a client has one request in flight. */
export type LifecycleRequests = {
  /** The next record's contents. */
  turn(): void
  of(step: LifecycleStep, record: string): Buffer
}

const ORDERS_PER_CLIENT = 16
/** The server's own limit. */
const WAIT_SECONDS = 20
const RECORD_MARK = `rec_${'@'.repeat(26)}`

type Template = {
  readonly bytes: Buffer
  readonly counters: readonly number[]
  readonly records: readonly number[]
}
type Order = Readonly<Record<LifecycleStep, Template>>

/**
 * Requests of one client, made beforehand from the seed. For each the client then writes only the record's id and a
 * counter over the marks, so that no two records carry the same payload or evidence.
 */
export function makeLifecycleRequests(shape: LifecycleShape, client: number): LifecycleRequests {
  const random = randomFrom(shape.seed * 100_003 + client)
  const orders = Array.from({ length: ORDERS_PER_CLIENT }, () => makeTemplates(shape, random))
  let counter = client * 1_000_000_000
  return {
    turn: () => void counter++,
    of(step, record) {
      const { bytes, counters, records } = orders[counter % ORDERS_PER_CLIENT]![step]
      for (const at of counters) writeDigits(bytes, at, counter)
      for (const at of records) bytes.write(record, at, 'latin1')
      return bytes
    },
  }
}

function makeTemplates(shape: LifecycleShape, random: ReturnType<typeof randomFrom>): Order {
  const { type, performer, gate, deadline, principalBearer, performerBearer } = shape
  const order = makeOrder(shape.payloadBytes, random)
  const evidence = {
    deliveryNote: `dn_${random.hex(8)}_${COUNTER_MARK}`,
    quantity: order.input.quantity,
    unitPrice: order.input.unitPrice,
    carrier: random.pick(['Post', 'Kuehne', 'Own fleet']),
    sealIntact: true,
    note: random.words(120),
  }
  const path = `/v1/records/${RECORD_MARK}`
  const request = (step: LifecycleStep, bearer: string, line: string, body?: object) =>
    makeTemplate(shape, step, bearer, line, body)
  return {
    create: request('create', principalBearer, 'POST /v1/records', {
      type,
      payload: order,
      performer,
      gate,
      deadline,
    }),
    activate: request('activate', performerBearer, `POST ${path}/activate`),
    complete: request('complete', performerBearer, `POST ${path}/completions`, { evidence }),
    look: request('look', principalBearer, `GET ${path}?wait=${WAIT_SECONDS}`),
    judge: request('judge', principalBearer, `POST ${path}/verdict`, { verdict: 'accept' }),
  }
}

function makeTemplate(
  { host, idempotencyKeys, seed }: LifecycleShape,
  step: LifecycleStep,
  bearer: string,
  line: string,
  body: object | undefined,
): Template {
  const text = body === undefined ? '' : JSON.stringify(body)
  const isWrite = step !== 'look'
  const head = [
    `${line} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${bearer}`,
    ...(text === '' ? [] : ['Content-Type: application/json']),
    ...(isWrite ? [`Content-Length: ${Buffer.byteLength(text)}`] : []),
    ...(isWrite && idempotencyKeys
      ? [`Idempotency-Key: bench-${seed.toString(36)}-${COUNTER_MARK}-${step}`]
      : []),
    '',
    '',
  ].join('\r\n')
  const bytes = Buffer.from(head + text)
  return { bytes, counters: findMarks(bytes, COUNTER_MARK), records: findMarks(bytes, RECORD_MARK) }
}
