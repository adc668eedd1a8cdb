import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify'
import { z } from 'zod'
import { ApiError } from '../../errors.ts'
import { Slots } from '../../load/slots.ts'
import { describeError } from '../../observe/log.ts'
import { watchStreams } from '../../observe/metrics/reading.ts'
import { reservationOf } from '../connections/reservation.ts'
import type { Deps } from '../deps.ts'
import { MCP_BODY_BYTES_MAX, MCP_CALLS_MAX, MCP_CALLS_PER_LEDGER_MAX } from '../limits.ts'
import { traceparentOf } from '../traceparent.ts'

/**
 * Serves the ledger to clients of MCP (docs/integrations/mcp.md). Has the same tools as `tallystick mcp`, over
 * streamable HTTP without sessions.
 *
 * This route makes no decisions itself. A tool calls this server's own routes with the caller's key, and these routes
 * check scopes, rate limits and ledgers. The calls are injected and do not come over a connection. No tool calls
 * `/mcp`.
 */
export function mcpRoutes(app: FastifyInstance, deps: Pick<Deps, 'publicUrl' | 'metrics'>): void {
  const slots = new Slots(MCP_CALLS_PER_LEDGER_MAX, MCP_CALLS_MAX)
  watchStreams(deps.metrics, 'mcp', slots)

  app.post(
    '/mcp',
    {
      config: {
        mcp: true,
        access: { scope: ['records:read', 'records:write', 'audit:read'], own: 'records:read:own' },
      },
      // This route is hidden in the API reference, because MCP has its own descriptions.
      schema: { summary: 'Send an MCP message', hide: true, body: message },
      bodyLimit: MCP_BODY_BYTES_MAX,
    },
    async (request, reply) => {
      refuseOtherSites(request, deps.publicUrl)
      const release = slots.take(request.caller.ledger)
      // The slot of the message is released, because the requests that a tool makes need slots of their own.
      reservationOf(request, reply).leave()
      try {
        // This code is loaded with the first MCP message. Loading takes 0.1 s and 15 MB, and most servers get no such
        // message.
        const { serveHttp } = await import('../../mcp/serve-http.ts')
        const answer = await serveHttp(
          callerOf(request),
          webRequest(request, abortedWith(reply)),
          request.body as object,
        )
        if (answer.contentType !== null) reply.header('content-type', answer.contentType)
        return reply.code(answer.status).send(answer.body.length > 0 ? answer.body : undefined)
      } finally {
        release()
      }
    },
  )

  function callerOf(request: FastifyRequest) {
    const { caller, headers, log } = request
    return {
      baseUrl: new URL(deps.publicUrl).origin,
      apiKey: headers.authorization!.slice('Bearer '.length),
      fetch: (url: unknown, init?: RequestInit) => injected(app, new URL(`${url}`), init!),
      key: { agent: caller.agent, scopes: [...caller.scopes] },
      traceparent: traceparentOf(request) ?? undefined,
      report: (error: unknown) => log.error({ error: describeError(error) }, 'an MCP call failed'),
    }
  }

  function webRequest({ headers }: FastifyRequest, signal: AbortSignal): Request {
    const headersSent = Object.entries(headers).filter(
      ([name]) => name === 'accept' || name.startsWith('mcp-'),
    )
    return new Request(new URL('/mcp', deps.publicUrl), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(Object.fromEntries(headersSent) as Record<string, string>),
      },
      signal,
    })
  }
}

const message = z.looseObject({}).describe('a message of JSON-RPC 2.0, not a batch')

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/**
 * Refuses requests from other web pages. A page in a browser can reach servers on the same machine, even under a host
 * name that belongs to the page (DNS rebinding). Browsers send `Origin` with every POST, so `Origin` must name this
 * server. A request over loopback must have a local `Host`. If the request came through a proxy, `Host` may also be the
 * public name.
 */
function refuseOtherSites({ headers, socket }: FastifyRequest, publicUrl: string): void {
  const { origin, host } = headers
  const ownNames = [...LOOPBACK, hostnameOf(publicUrl)]
  if (origin !== undefined && !ownNames.includes(hostnameOf(origin)))
    throw new ApiError('origin_refused', `pages of ${origin.slice(0, 200)} may not call this server`)
  const { localAddress } = socket as { localAddress?: string }
  if (localAddress === undefined || !/^(::ffff:)?127\.|^::1$/.test(localAddress)) return
  if (!ownNames.includes(hostnameOf(`http://${host}`)))
    throw new ApiError('origin_refused', `${String(host).slice(0, 200)} is not an address of this server`)
}

/** Returns the host name of a URL, or '' for an invalid URL such as `null`. */
function hostnameOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : ''
}

function abortedWith({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort()
  })
  return gone.signal
}

const WITHOUT_BODY = [204, 304]

/** Sends a request to this server without a connection. Parameters and result are those of fetch. */
async function injected(app: FastifyInstance, url: URL, init: RequestInit): Promise<Response> {
  const { statusCode, headers, rawPayload } = await app.inject({
    method: init.method as NonNullable<InjectOptions['method']>,
    url: url.pathname + url.search,
    // Each message makes a new client, which does not know the ledger sizes of earlier answers. So the client requires
    // the newest state.
    headers: { ...(init.headers as Record<string, string>), 'cache-control': 'no-cache' },
    ...(typeof init.body === 'string' && { payload: init.body }),
    ...(init.signal && { signal: init.signal }),
  })
  const told = Object.entries(headers).map(([name, value]): [string, string] => [name, `${value}`])
  const body = WITHOUT_BODY.includes(statusCode) ? null : new Uint8Array(rawPayload)
  return new Response(body, { status: statusCode, headers: told })
}
