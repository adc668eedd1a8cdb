import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { parseWholeRequest, type WholeRequest } from './whole-request.ts'

/**
 * Decision about a request. `refusal`: bytes of the answer that refuses the request, ASCII only. null if Node is to
 * process the request. In that case `meet` returns `taken` for the request.
 */
type Decision<Taken> = { readonly refusal: string | null; readonly taken: Taken | null }
type Decide<Taken> = (request: WholeRequest, socket: Socket) => Decision<Taken>

type Connection = {
  /** Node's own listener, which passes the bytes to Node's parser. */
  readonly parse: (chunk: Buffer) => void
  /** True if Node's parser has no partial request and no answer is pending. */
  isBetween: boolean
  /** The last request that was passed to Node. null if that request did not come in one chunk. */
  given: WholeRequest | null
}

/**
 * Connections on which a request was refused. Further requests on such a connection may be refused by reading their
 * bytes, before Node makes objects of them. Everything else goes to Node unchanged: accepted requests, and bytes that
 * are not exactly one plain request.
 *
 * Both parsers must agree on where a request begins. Otherwise an attacker could hide a request from a proxy in front
 * of the server, and another client would get its answer. So bytes are parsed here only while Node's parser is known to
 * be between two requests.
 *
 * Node does not report its state, and may have half a request from earlier bytes. Node is between two requests if all
 * of this is true for the previous request:
 *
 * - The request was passed to Node in one chunk.
 * - Node found the same head and the whole body.
 * - Node has answered the request.
 */
export class RefusedConnections<Taken> {
  readonly #decide: Decide<Taken>
  readonly #connections = new WeakMap<Socket, Connection>()
  #taken: { readonly socket: Socket; readonly taken: Taken } | null = null

  constructor(decide: Decide<Taken>) {
    this.#decide = decide
  }

  /** Inspects all later bytes of the connection. */
  watch(socket: Socket): void {
    if (this.#connections.has(socket)) return
    const [parse, ...others] = socket.listeners('data') as Connection['parse'][]
    if (!parse || others.length > 0) return
    const connection = { parse, isBetween: false, given: null }
    this.#connections.set(socket, connection)
    socket.on('data', (chunk: Buffer) => this.#read(socket, connection, chunk))
    socket.removeListener('data', parse)
  }

  /**
   * MUST be called for each request that Node has parsed. Returns what was decided from the request's bytes, or null if
   * nothing was decided.
   */
  meet(request: IncomingMessage, response: ServerResponse): Taken | null {
    const connection = this.#connections.get(request.socket)
    if (!connection) return null
    const { given } = connection
    if (given !== null && given.head === headOf(request))
      response.once('close', () => {
        if (connection.given === given) connection.isBetween = request.complete
      })
    return this.#taken?.socket === request.socket ? this.#taken.taken : null
  }

  #read(socket: Socket, connection: Connection, chunk: Buffer): void {
    const whole = parseWholeRequest(chunk)
    const isKnown = connection.isBetween && whole !== null && socket.writableLength === 0
    const { refusal, taken } = isKnown ? this.#decide(whole, socket) : UNDECIDED
    if (refusal !== null) {
      socket.write(refusal, 'latin1')
      return
    }
    connection.isBetween = false
    connection.given = whole
    this.#taken = taken && { socket, taken }
    connection.parse(chunk)
    this.#taken = null
  }
}

const UNDECIDED: Decision<never> = { refusal: null, taken: null }

/**
 * Returns the head of a request as text. It equals the head that was sent if the client separated all names and values
 * in the usual way.
 */
function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) head += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`
  return `${head}\r\n`
}
