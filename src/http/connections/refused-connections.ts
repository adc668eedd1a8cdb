import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { parseWholeRequest, type WholeRequest } from './whole-request.ts'

/** `refusal`: bytes of the answer, ASCII only; null: the request goes to Node, and `taken` comes back from `meet`. */
type Decision<Taken> = { readonly refusal: string | null; readonly taken: Taken | null }
type Decide<Taken> = (request: WholeRequest, socket: Socket) => Decision<Taken>

type Connection = {
  /** Node's own listener, which parses. */
  readonly parse: (chunk: Buffer) => void
  /** Whether nothing of a request is in Node's parser, and nothing is to be answered. */
  isBetween: boolean
  /** Request that Node was given last, if it was whole. */
  given: WholeRequest | null
}

/**
 * Connections on which something was refused. Further requests on them are refused from their bytes, before Node makes objects of them.
 * Everything else is given to Node as it came: a request that is let in, and whatever is not one plain request by itself.
 *
 * Both readers must agree where a request begins: else somebody could hide one from a proxy before us, and another client would hear its
 * answer. So bytes are read here only while Node's parser is known to stand between two requests. It does after a request that it was
 * given whole, if it has found the same head in it, and all of its body, and has no answer left to give. (Node does not say where it
 * stands, and half a request may lie in it from the time before.)
 */
export class RefusedConnections<Taken> {
  readonly #decide: Decide<Taken>
  readonly #connections = new WeakMap<Socket, Connection>()
  /** The request that Node reads now. */
  #taken: { readonly socket: Socket; readonly taken: Taken } | null = null

  constructor(decide: Decide<Taken>) {
    this.#decide = decide
  }

  /** From now on the connection's bytes are looked at. */
  watch(socket: Socket): void {
    if (this.#connections.has(socket)) return
    const [parse, ...others] = socket.listeners('data') as Connection['parse'][]
    if (!parse || others.length > 0) return
    const connection = { parse, isBetween: false, given: null }
    this.#connections.set(socket, connection)
    socket.on('data', (chunk: Buffer) => this.#read(socket, connection, chunk))
    socket.removeListener('data', parse)
  }

  /** MUST be called for each request that Node has read. Returns what was decided about its bytes; null: nothing was. */
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

/** As it was sent, if each name and value had the usual space between them. */
function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) head += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`
  return `${head}\r\n`
}
