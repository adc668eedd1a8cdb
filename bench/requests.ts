import { type Random, randomFrom } from './random.ts'

/** Request that a connection sends again and again, each time with other contents. */
export type RequestShape = {
  readonly host: string
  /** Keys of the ledgers that are written to, in turn. */
  readonly bearers: readonly string[]
  readonly kind: 'record' | 'batch' | 'get'
  /** Paths that `get` asks for in turn. */
  readonly paths?: readonly string[]
  /** Members of each record beside its payload; absent: a record of no type. */
  readonly members?: { readonly type: string; readonly [name: string]: unknown }
  /** Records in a request: 1, or the batch's size. */
  readonly items: number
  /** About how many bytes of JSON a payload has; at least 300. */
  readonly payloadBytes: number
  /** An Idempotency-Key, never used twice, on every request. */
  readonly idempotencyKeys: boolean
  /** The same seed sends the same bytes; call ids must differ between runs on one ledger only if keys are on. */
  readonly seed: number
  readonly expectedStatus: number
}

/** `next()` is valid until the next call: one buffer is filled in place, one request in flight. */
export type Requests = { next(): Buffer }

const TEMPLATES_PER_CONNECTION = 16
/** A batch varies within itself, and is large. */
const TEMPLATES_PER_BATCH_CONNECTION = 2
const COUNTER_DIGITS = 12
/** Where a counter is written, so that no two requests are the same. */
export const COUNTER_MARK = '#'.repeat(COUNTER_DIGITS)

/**
 * Requests of one connection. Bodies are made beforehand, from the seed. For each request the client then writes only a
 * counter over the marks (call ids, idempotency key), so that no two requests carry the same payload.
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

function makeReads({ host, bearers, paths }: RequestShape, connection: number): Requests {
  const requests = paths!.map((path) =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${bearers[0]}\r\n\r\n`),
  )
  // Connections begin apart, so that no two ask the same at a time.
  let turn = connection * 7
  return { next: () => requests[turn++ % requests.length]! }
}

type Template = { readonly bytes: Buffer; readonly marks: readonly number[] }

function makeTemplate(shape: RequestShape, bearer: string, random: Random): Template {
  const items = Array.from({ length: shape.items }, () => makeItem(shape, random))
  const body = Buffer.from(shape.kind === 'batch' ? `{"records":[${items.join(',')}]}` : items[0]!)
  const head = [
    `POST ${shape.kind === 'batch' ? '/v1/records/batch' : '/v1/records'} HTTP/1.1`,
    `Host: ${shape.host}`,
    `Authorization: Bearer ${bearer}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...(shape.idempotencyKeys ? [`Idempotency-Key: bench-${shape.seed.toString(36)}-${COUNTER_MARK}`] : []),
    '',
    '',
  ].join('\r\n')
  const bytes = Buffer.concat([Buffer.from(head), body])
  return { bytes, marks: findMarks(bytes, COUNTER_MARK) }
}

function makeItem(shape: RequestShape, random: Random): string {
  const members = JSON.stringify(shape.members ?? { type: 'generic/1' })
  return `${members.slice(0, -1)},"payload":${makePayload(shape.payloadBytes, random)}}`
}

export function makePayload(bytes: number, random: Random): string {
  return JSON.stringify(makeOrder(bytes, random))
}

/** One tool call of a purchasing agent: nested members, integers, decimals, a little text beyond ASCII. */
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

export function findMarks(bytes: Buffer, mark: string): number[] {
  const marks: number[] = []
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) marks.push(at)
  return marks
}

export function writeDigits(bytes: Buffer, at: number, value: number): void {
  let rest = value
  for (let i = at + COUNTER_DIGITS - 1; i >= at; i--) {
    const tenth = Math.floor(rest / 10)
    bytes[i] = 48 + rest - tenth * 10
    rest = tenth
  }
}
