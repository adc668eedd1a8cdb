import { type Random, randomFrom } from './random.ts'

/** A request that a connection sends again and again, each time with different content. */
export type RequestShape = {
  readonly bearers: readonly string[]
  readonly kind: 'record' | 'batch' | 'get'
  /** Paths for `get`, round-robin. */
  readonly paths?: readonly string[]
  /** Members of each record in addition to its payload. By default, a record has no type. */
  readonly members?: { readonly type: string; readonly [name: string]: unknown }
  /** Number of records in a request: 1, or the size of the batch. */
  readonly items: number
  /** Approximate size of a payload's JSON in bytes, at least 300. */
  readonly payloadBytes: number
  /** If true, sends a unique Idempotency-Key with every request. */
  readonly idempotencyKeys: boolean
  /**
   * Seed of the content: the same seed gives the same bytes. With idempotency keys, two runs on one ledger need
   * different seeds.
   */
  readonly seed: number
}

/**
 * `next()` returns a buffer that is valid until the next call. One buffer is filled in place, because a connection has
 * one request in flight.
 */
export type Requests = { next(): Buffer }

const TEMPLATES_PER_CONNECTION = 16
/** Number of templates per connection that sends batches. Two are enough, because a batch has many different items. */
const TEMPLATES_PER_BATCH_CONNECTION = 2
const COUNTER_DIGITS = 12
const COUNTER_MARK = '#'.repeat(COUNTER_DIGITS)

/**
 * Makes the requests of one connection. Bodies are made beforehand, from the seed. Each request then only gets a
 * counter in its call ids and its idempotency key, so that no two requests have the same payload.
 */
export function makeRequests(shape: RequestShape, connection: number): Requests {
  if (shape.kind === 'get') return makeReads(shape, connection)
  const random = randomFrom(shape.seed * 100_003 + connection)
  const count = shape.kind === 'batch' ? TEMPLATES_PER_BATCH_CONNECTION : TEMPLATES_PER_CONNECTION
  const templates = Array.from({ length: count }, (_, i) => {
    const bearer = shape.bearers[(connection * count + i) % shape.bearers.length]!
    return makeTemplate(shape, bearer, random)
  })
  let counter = connection * 1_000_000_000
  let turn = 0
  return {
    next() {
      const template = templates[turn++ % count]!
      for (const at of template.marks) writeDigits(template.bytes, at, counter++)
      return template.bytes
    },
  }
}

/** Returns the status of a successful answer. */
export function expectedStatus({ kind }: Pick<RequestShape, 'kind'>): number {
  return kind === 'get' ? 200 : 201
}

function makeReads({ bearers, paths }: RequestShape, connection: number): Requests {
  const requests = paths!.map((path) => formatRequest(`GET ${path}`, bearers[0]!))
  // Connections start at different offsets, so that they do not all request the same path at the same time.
  let turn = connection * 7
  return { next: () => requests[turn++ % requests.length]! }
}

type Template = { readonly bytes: Buffer; readonly marks: readonly number[] }

function makeTemplate(shape: RequestShape, bearer: string, random: Random): Template {
  const items = Array.from({ length: shape.items }, () => makeItem(shape, random))
  const isBatch = shape.kind === 'batch'
  const bytes = formatRequest(`POST ${isBatch ? '/v1/records/batch' : '/v1/records'}`, bearer, {
    body: isBatch ? `{"records":[${items.join(',')}]}` : items[0]!,
    ...(shape.idempotencyKeys && { key: keyOf(shape) }),
  })
  return { bytes, marks: findMarks(bytes, COUNTER_MARK) }
}

function keyOf({ seed }: Pick<RequestShape, 'seed'>): string {
  return `bench-${seed.toString(36)}-${COUNTER_MARK}`
}

type Contents = {
  readonly body?: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly host?: string
}

/** Formats an HTTP/1.1 request whose first line starts with `line`: a method and a path. */
export function formatRequest(
  line: string,
  bearer: string,
  { body = '', key, headers = {}, host = 'localhost' }: Contents = {},
): Buffer {
  const head = [
    `${line} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${bearer}`,
    ...(body === '' ? [] : ['Content-Type: application/json']),
    ...(line.startsWith('GET ') ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    ...(key === undefined ? [] : [`Idempotency-Key: ${key}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ]
  return Buffer.from(head.join('\r\n') + body)
}

function makeItem(shape: RequestShape, random: Random): string {
  const members = JSON.stringify(shape.members ?? { type: 'generic/1' })
  return `${members.slice(0, -1)},"payload":${makePayload(shape.payloadBytes, random)}}`
}

export function makePayload(bytes: number, random: Random): string {
  return JSON.stringify(makeOrder(bytes, random))
}

/** Returns one tool call of a purchasing agent: nested members, integers, decimals, some text that is not ASCII. */
export function makeOrder(bytes: number, random: Random) {
  const order = {
    action: random.pick(['tool_call', 'handover', 'approval', 'lookup']),
    tool: random.pick(['purchase_order.create', 'invoice.match', 'supplier.search', 'delivery.confirm']),
    callId: `call_${random.hex(8)}_${COUNTER_MARK}`,
    session: `${random.hex(8)}-${random.hex(4)}-${random.hex(12)}`,
    input: {
      supplier: random.pick(['Nordwind GmbH', 'Zürcher & Söhne', 'Blue Harbor Ltd', 'Café Olé S.A.']),
      sku: `BX-${random.integer(1000, 9999)}`,
      quantity: random.integer(1, 500),
      unitPrice: { amount: `${random.integer(1, 900)}.${random.integer(10, 99)}`, currency: 'EUR' },
    },
    confidence: random.integer(1, 999) / 1000,
    latencyMs: random.integer(20, 4000),
    approved: random.integer(0, 1) === 1,
    note: '',
  }
  const missing = bytes - Buffer.byteLength(JSON.stringify(order))
  return { ...order, note: random.words(Math.max(0, missing)) }
}

function findMarks(bytes: Buffer, mark: string): number[] {
  const marks: number[] = []
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) marks.push(at)
  return marks
}

function writeDigits(bytes: Buffer, at: number, value: number): void {
  let rest = value
  for (let i = at + COUNTER_DIGITS - 1; i >= at; i--) {
    const tenth = Math.floor(rest / 10)
    bytes[i] = 48 + rest - tenth * 10
    rest = tenth
  }
}

/** Requests of a record's life, in order. `look` waits until the worker has verified the completion. */
export const LIFECYCLE_STEPS = ['create', 'activate', 'complete', 'look', 'judge'] as const
export type LifecycleStep = (typeof LIFECYCLE_STEPS)[number]

export type Gate = 'principal' | 'auto'

/** Describes the requests of all clients: orders of one principal, performed by one performer. */
export type LifecycleShape = {
  readonly type: string
  readonly principalBearer: string
  readonly performerBearer: string
  readonly performer: string
  readonly gate: Gate
  readonly deadline: string
  readonly payloadBytes: number
  /** If true, sends a unique Idempotency-Key with every write. */
  readonly idempotencyKeys: boolean
  readonly seed: number
}

/**
 * Requests of one client. Buffers are filled in place and are valid until the next call, because a client has one
 * request in flight.
 */
export type LifecycleRequests = {
  /** Moves on to the contents of the next record. */
  turn(): void
  of(step: LifecycleStep, record: string): Buffer
}

const ORDERS_PER_CLIENT = 16
const WAIT_SECONDS = 20
const RECORD_MARK = `rec_${'@'.repeat(26)}`

type StepTemplate = Template & { readonly records: readonly number[] }
type Order = Readonly<Record<LifecycleStep, StepTemplate>>

/**
 * Makes the requests of one client beforehand, from the seed. Each request then only gets the record's id and a
 * counter, so that no two records have the same payload or evidence.
 */
export function makeLifecycleRequests(shape: LifecycleShape, client: number): LifecycleRequests {
  const random = randomFrom(shape.seed * 100_003 + client)
  const orders = Array.from({ length: ORDERS_PER_CLIENT }, () => makeSteps(shape, random))
  let counter = client * 1_000_000_000
  return {
    turn: () => void counter++,
    of(step, record) {
      const { bytes, marks, records } = orders[counter % ORDERS_PER_CLIENT]![step]
      for (const at of marks) writeDigits(bytes, at, counter)
      for (const at of records) bytes.write(record, at, 'latin1')
      return bytes
    },
  }
}

function makeSteps(shape: LifecycleShape, random: Random): Order {
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
    makeStep(shape, step, bearer, line, body)
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

function makeStep(
  shape: LifecycleShape,
  step: LifecycleStep,
  bearer: string,
  line: string,
  body: object | undefined,
): StepTemplate {
  const bytes = formatRequest(line, bearer, {
    ...(body && { body: JSON.stringify(body) }),
    ...(shape.idempotencyKeys && step !== 'look' && { key: `${keyOf(shape)}-${step}` }),
  })
  return { bytes, marks: findMarks(bytes, COUNTER_MARK), records: findMarks(bytes, RECORD_MARK) }
}
