import { createMcpHandler } from '@modelcontextprotocol/server'
import { Tallystick } from '../../sdk/client.ts'
import type { McpDeps } from './deps.ts'
import { MCP_RETRIES_MAX } from './limits.ts'
import { makeMcpServer } from './make-server.ts'

/** The key that asks, and how the server itself is asked with it. */
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
 * Answers one message of streamable HTTP, and keeps nothing of it: any server of a deployment answers the next one. Clients of
 * 2026-07-28 say in each message who they are; older ones shake hands, and are answered in an event stream, which ends with
 * the answer. It is read to its end here, because no tool tells of its progress.
 */
export async function serveHttp(
  { baseUrl, apiKey, fetch, ...caller }: HttpCaller,
  request: Request,
  message: unknown,
): Promise<HttpAnswer> {
  const client = new Tallystick({ baseUrl, apiKey, fetch, retries: { retriesMax: MCP_RETRIES_MAX } })
  const deps: McpDeps = { ...caller, client, trust: {}, verifier: 'the server' }
  let fault: unknown = null
  const handler = createMcpHandler(() => makeMcpServer(deps), {
    // Nothing changes that a client could hear of: a stream would be held open for nothing.
    maxSubscriptions: 0,
    keepAliveMs: 0,
    onerror: (error) => {
      fault = error
    },
  })
  try {
    const response = await handler.fetch(request, { parsedBody: message })
    const body = Buffer.from(await response.arrayBuffer())
    if (response.status === 500) deps.report(fault)
    return { status: response.status, contentType: response.headers.get('content-type'), body }
  } finally {
    await handler.close()
  }
}
