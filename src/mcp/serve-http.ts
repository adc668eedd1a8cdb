import { createMcpHandler } from '@modelcontextprotocol/server'
import { Tallystick } from '../../sdk/client.ts'
import { SseParser } from '../../sdk/http/sse.ts'
import { acceptWeightOf, listOf, mediaTypeOf } from '../proof/http-fields.ts'
import type { McpDeps } from './deps.ts'
import { INVALID_PARAMS, refusedInitialize } from './initialize.ts'
import { MCP_ANSWER_BYTES_MAX, MCP_RETRIES_MAX } from './limits.ts'
import { makeMcpServer } from './make-server.ts'

/** The caller's key, and what is needed to call the server's own API with it. */
export type HttpCaller = Pick<McpDeps, 'key' | 'traceparent' | 'report'> & {
  readonly baseUrl: string
  readonly apiKey: string
  readonly fetch: typeof globalThis.fetch
}

export type HttpAnswer = {
  readonly status: number
  readonly contentType: string | null
  readonly body: Buffer
}

/**
 * Answers one message of streamable HTTP. No state is stored, so any server of a deployment can answer the next
 * message.
 *
 * A client of the version 2026-07-28 identifies itself in each message. An older client makes a handshake, and gets an
 * event stream that ends with the answer. The whole stream is read here before the answer is sent. This loses nothing,
 * because no tool reports progress.
 */
export async function serveHttp(
  { baseUrl, apiKey, fetch, ...caller }: HttpCaller,
  request: Request,
  message: object,
): Promise<HttpAnswer> {
  const refused = refusedInitialize(message)
  if (refused !== null) return answerOf({ code: INVALID_PARAMS, message: refused }, message)
  const client = new Tallystick({ baseUrl, apiKey, fetch, retries: { retriesMax: MCP_RETRIES_MAX } })
  const deps: McpDeps = { ...caller, client, trust: {}, verifier: 'the server' }
  const form = formOf(request.headers.get('accept'))
  let fault: unknown = null
  const handler = createMcpHandler(() => makeMcpServer(deps), {
    // Subscriptions are refused. Tools and resources never change, so the stream of a subscription would stay open
    // without any message.
    maxSubscriptions: 0,
    keepAliveMs: 0,
    responseMode: form === 'stream' ? 'sse' : 'auto',
    onerror: (error) => {
      fault = error
    },
  })
  if (form !== null) request.headers.set('accept', BOTH)
  try {
    const response = await handler.fetch(request, { parsedBody: message })
    const body = Buffer.from(await response.arrayBuffer())
    if (response.status === 500) deps.report(fault)
    const contentType = response.headers.get('content-type')
    const isStream = mediaTypeOf(contentType) === STREAM
    return isStream && form === 'json'
      ? { status: response.status, contentType: JSON_TYPE, body: answerIn(body) }
      : { status: response.status, contentType, body }
  } finally {
    await handler.close()
  }
}

function answerOf(error: { readonly code: number; readonly message: string }, asked: object): HttpAnswer {
  const answer = { jsonrpc: '2.0', id: 'id' in asked ? asked.id : null, error }
  return { status: 400, contentType: JSON_TYPE, body: Buffer.from(JSON.stringify(answer)) }
}

const [JSON_TYPE, STREAM] = ['application/json', 'text/event-stream']
const BOTH = `${JSON_TYPE}, ${STREAM}`

/**
 * Returns the form of the answer by the rules of HTTP for `Accept`. The SDK does not parse the header. It only searches
 * for the two media types in it.
 *
 * - `either`: the client names both forms.
 * - `json`: the client accepts JSON and does not name both forms. It may accept both by a wildcard.
 * - `stream`: the client accepts only a stream.
 * - null: the client accepts neither form.
 */
function formOf(accept: string | null): 'json' | 'stream' | 'either' | null {
  const [json, stream] = [JSON_TYPE, STREAM].map((type) => acceptWeightOf(accept, type) > 0)
  if (!json) return stream ? 'stream' : null
  const isNamed = [JSON_TYPE, STREAM].every((type) =>
    listOf(accept).some((each) => mediaTypeOf(each) === type),
  )
  return stream && isNamed ? 'either' : 'json'
}

/** Returns the last message of a stream. It is the only message, because tools send no progress. */
function answerIn(stream: Buffer): Buffer {
  const events = new SseParser(2 * MCP_ANSWER_BYTES_MAX + stream.length).push(stream)
  return Buffer.from(events.at(-1)?.data ?? '')
}
