import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RateLimits } from '../../src/ledgers/rate-limits.ts'
import { utf8Decode } from '../../src/proof/bytes.ts'
import { ADD_CHECKPOINT_BYTES_MAX } from '../../src/proof/limits.ts'
import { SourceError } from '../../src/verify/source.ts'
import {
  WITNESS_CONNECTIONS_MAX,
  WITNESS_REQUEST_MS_MAX,
  WITNESS_REQUESTS_BURST,
  WITNESS_REQUESTS_PER_SECOND,
} from './limits.ts'
import type { WitnessState } from './state.ts'
import { TOO_MANY, type Witness, type WitnessAnswer } from './witness.ts'

const ALL = {
  name: 'all',
  id: '',
  limit: { requestsPerSecond: WITNESS_REQUESTS_PER_SECOND, burst: WITNESS_REQUESTS_BURST },
}

type ServeDeps = {
  readonly witness: Witness
  readonly state: WitnessState
  readonly warn: (message: string) => void
}

/** Serves the two requests of C2SP tlog-witness. Throws SourceError if the address is not available. */
export async function serve(
  deps: ServeDeps,
  { host, port }: { host: string; port: number },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const limits = new RateLimits(() => performance.now())
  const server = createServer(
    { requestTimeout: WITNESS_REQUEST_MS_MAX, headersTimeout: WITNESS_REQUEST_MS_MAX },
    (request, response) => {
      answer(deps, limits, request)
        .catch((error: Error) => {
          deps.warn(`a request failed: ${error.message}`)
          return { status: 500, body: 'internal error: nothing was cosigned\n' }
        })
        .then((answered) => send(response, answered))
    },
  )
  server.maxConnections = WITNESS_CONNECTIONS_MAX
  await listen(server, host, port)
  const { address, port: bound, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}

async function answer(
  { witness, state }: ServeDeps,
  limits: RateLimits,
  request: IncomingMessage,
): Promise<WitnessAnswer> {
  const { method, url = '/' } = request
  if (!limits.charge([ALL]).allowed) return TOO_MANY
  const hash = /^\/([0-9a-f]{64})\/checkpoint$/.exec(url)?.[1]
  if (hash !== undefined) {
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'only GET is allowed\n' }
    const note = state.findNote(hash)
    return note === null
      ? { status: 404, body: 'this witness has cosigned no checkpoint of this log\n' }
      : { status: 200, body: note }
  }
  if (url !== '/add-checkpoint') return { status: 404, body: 'not found; the path is /add-checkpoint\n' }
  if (method !== 'POST') return { status: 405, body: 'only POST is allowed\n' }
  const body = await readBody(request)
  if (body === null)
    return { status: 413, body: `the body has more than ${ADD_CHECKPOINT_BYTES_MAX} bytes\n` }
  const text = decode(body)
  return text === null ? { status: 400, body: 'the body is not UTF-8\n' } : witness.addCheckpoint(text)
}

/** Decodes UTF-8. Returns null if the body is not UTF-8. */
function decode(body: Buffer): string | null {
  try {
    return utf8Decode(body)
  } catch {
    return null
  }
}

/** Reads the body of a request. Returns null if the body is too long. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > ADD_CHECKPOINT_BYTES_MAX) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function send(response: ServerResponse, { status, body, isSize = false }: WitnessAnswer): void {
  const type = isSize ? 'text/x.tlog.size' : 'text/plain; charset=utf-8'
  const more = status === 429 || status === 503 ? { 'retry-after': '1' } : {}
  // The connection is closed after 413, because the rest of the body is not read.
  const close = status === 413 ? { connection: 'close' } : {}
  response.writeHead(status, { 'content-type': type, ...more, ...close }).end(body)
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new SourceError('unavailable', `${host}:${port} cannot be used to listen (${error.code})`)),
    )
    server.listen(port, host, resolve)
  })
}
