import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { Test } from '../../helpers/app.ts'
import { until } from '../../helpers/wait.ts'
import { bytesIn, type Message, messagesIn, numberIn, readMessage, textIn } from './protobuf.ts'

/** A span with the members of opentelemetry/proto/trace/v1/trace.proto. */
export type ReceivedSpan = {
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  readonly traceId: string
  readonly spanId: string
  /** Id of the parent span; empty if the span is the root of its trace. */
  readonly parentId: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly isError: boolean
  readonly traceState: string
  readonly resource: Readonly<Record<string, unknown>>
}

type Answer = (response: ServerResponse) => void

/**
 * Starts an OTLP collector on loopback that stores all spans. By default it answers 200. If `answer` is an empty
 * function, the collector never answers.
 */
export async function startCollector(t: Test, answer: Answer = (response) => response.writeHead(200).end()) {
  const spans: ReceivedSpan[] = []
  const requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const sent = Buffer.concat(chunks)
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
      requests.push({ path: request.url!, headers: request.headers })
      spans.push(...readSpans(body))
      collector.answer(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const collector = {
    url,
    /** Environment that makes a server or worker send its spans here. */
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: url },
    spans,
    requests,
    /** A test may replace this function, which changes the answers from then on. */
    answer,
    async received(name: string, count = 1): Promise<ReceivedSpan[]> {
      const named = () => spans.filter((span) => span.name === name)
      await until(() => named().length >= count)
      return named()
    },
    async ofTrace(traceId: string, count: number): Promise<ReceivedSpan[]> {
      const found = () => spans.filter((span) => span.traceId === traceId)
      await until(() => found().length >= count)
      return found()
    },
  }
  t.after(() => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return collector
}

export function newCaller(flags = '01') {
  const traceId = randomBytes(16).toString('hex')
  const spanId = randomBytes(8).toString('hex')
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } }
}

export type Collector = Awaited<ReturnType<typeof startCollector>>

export function readSpans(body: Buffer): ReceivedSpan[] {
  return messagesIn(readMessage(body), 1).flatMap((ofResource) => {
    const resource = attributesIn(messagesIn(ofResource, 1)[0]!, 1)
    return messagesIn(ofResource, 2).flatMap((ofScope) =>
      messagesIn(ofScope, 2).map((span) => readSpan(span, resource)),
    )
  })
}

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const
const ERROR = 2n

function readSpan(span: Message, resource: ReceivedSpan['resource']): ReceivedSpan {
  const [status] = messagesIn(span, 15)
  return {
    name: textIn(span, 5),
    kind: KINDS[Number(numberIn(span, 6))]!,
    traceId: bytesIn(span, 1).toString('hex'),
    spanId: bytesIn(span, 2).toString('hex'),
    parentId: bytesIn(span, 4).toString('hex'),
    startedAtMs: Number(numberIn(span, 7)) / 1e6,
    endedAtMs: Number(numberIn(span, 8)) / 1e6,
    attributes: attributesIn(span, 9),
    links: messagesIn(span, 13).map((link) => ({
      traceId: bytesIn(link, 1).toString('hex'),
      spanId: bytesIn(link, 2).toString('hex'),
    })),
    isError: status !== undefined && numberIn(status, 3) === ERROR,
    traceState: textIn(span, 3),
    resource,
  }
}

function attributesIn(message: Message, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messagesIn(message, field).map((pair) => [textIn(pair, 1), anyValueIn(messagesIn(pair, 2)[0]!)]),
  )
}

function anyValueIn(value: Message): unknown {
  if (value.has(2)) return numberIn(value, 2) === 1n
  if (value.has(3)) return Number(BigInt.asIntN(64, numberIn(value, 3)))
  if (value.has(4)) {
    const bits = Buffer.alloc(8)
    bits.writeBigUInt64LE(numberIn(value, 4))
    return bits.readDoubleLE()
  }
  return textIn(value, 1)
}
