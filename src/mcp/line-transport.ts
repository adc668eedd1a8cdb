import { isUtf8 } from 'node:buffer'
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/server'
import { ProofError } from '../proof/error.ts'
import { parseJsonText, withoutBom } from '../proof/json/json-text.ts'
import type { JsonValue } from '../proof/json/json-value.ts'
import { INVALID_PARAMS, refusedInitialize } from './initialize.ts'
import {
  MCP_DRAIN_MS_MAX,
  MCP_LINE_BYTES_MAX,
  MCP_LINE_DEPTH_MAX,
  MCP_REQUESTS_AT_ONCE_MAX,
} from './limits.ts'
import { type CutLine, LineCutter, NEWLINE } from './line-cutter.ts'

type Id = string | number
const [PARSE_ERROR, INVALID_REQUEST] = [-32700, -32600]

/**
 * Transports JSON-RPC messages on standard input and output, one message per line. Unlike the SDK's transport:
 *
 * - It refuses JSON that a JavaScript value cannot represent exactly. The refusal contains the id of the request.
 * - It stops reading while too many requests are under way.
 * - It answers all requests that came before the input ended.
 */
export class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void

  readonly #input: NodeJS.ReadableStream
  readonly #output: NodeJS.WritableStream
  readonly #waiting = new Set<Id>()
  /** Cuts the input into lines. The additional byte is for the end of the line. */
  readonly #cutter = new LineCutter(MCP_LINE_BYTES_MAX + 1)
  /** Lines that were read while the maximum number of requests was under way. */
  #ready: string[] = []
  #hasEnded = false
  #isClosed = false

  constructor(input: NodeJS.ReadableStream, output: NodeJS.WritableStream) {
    this.#input = input
    this.#output = output
  }

  async start(): Promise<void> {
    this.#input.on('data', (bytes: Buffer) => this.#take(this.#cutter.cut(bytes)))
    this.#input.once('end', () => this.#end())
    this.#input.once('close', () => this.#end())
    this.#input.once('error', (error: Error) => {
      this.onerror?.(error)
      this.#end()
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#write(message)
    if ('id' in message && !('method' in message)) this.#settle(message.id)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#input.pause()
    this.onclose?.()
  }

  #take(pieces: Iterable<CutLine>): void {
    for (const { bytes, fragment } of pieces) {
      // A line that is too long is refused when its last fragment arrives. Of such a line, only the id is used.
      if (fragment === null) this.#takeLine(bytes.at(-1) === NEWLINE ? bytes.subarray(0, -1) : bytes)
      else if (fragment.isLast) this.#refuseLength(fragment.isRequest ? fragment.id : null)
    }
    this.#deliver()
  }

  #takeLine(line: Buffer): void {
    const text = withoutBom(line.toString('utf8'))
    if (line.length > MCP_LINE_BYTES_MAX) this.#refuseLength(idOf(text))
    else if (!isUtf8(line)) this.#refuse(null, PARSE_ERROR, 'the message contains bytes that are not UTF-8')
    else if (text.trim() !== '') this.#ready.push(text)
  }

  #refuseLength(id: Id | null): void {
    this.#refuse(
      id,
      INVALID_REQUEST,
      `a message may have at most ${MCP_LINE_BYTES_MAX} bytes: send less at once`,
    )
  }

  #deliver(): void {
    while (this.#ready.length > 0 && this.#waiting.size < MCP_REQUESTS_AT_ONCE_MAX)
      this.#read(this.#ready.shift()!)
    if (this.#ready.length > 0) this.#input.pause()
    else if (!this.#hasEnded) this.#input.resume()
  }

  #read(line: string): void {
    let message: JSONRPCMessage
    try {
      message = parseMessage(line)
    } catch (error) {
      if (!(error instanceof BadLine)) throw error
      this.#refuse(idOf(line), error.code, error.message)
      return
    }
    if (isJSONRPCRequest(message)) this.#waiting.add(message.id)
    // The server sends no answer to a cancelled request.
    else if ('method' in message && message.method === 'notifications/cancelled')
      this.#waiting.delete(message.params?.['requestId'] as Id)
    this.onmessage?.(message)
  }

  #settle(id: Id | undefined): void {
    if (id !== undefined) this.#waiting.delete(id)
    this.#deliver()
    this.#closeIfDone()
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    // The last line of the input may have no newline.
    this.#take(this.#cutter.end())
    setTimeout(() => void this.close(), MCP_DRAIN_MS_MAX).unref()
    this.#closeIfDone()
  }

  #closeIfDone(): void {
    if (this.#hasEnded && this.#waiting.size === 0 && this.#ready.length === 0) void this.close()
  }

  #refuse(id: Id | null, code: number, message: string): void {
    void this.#write({ jsonrpc: '2.0', id, error: { code, message } })
  }

  #write(message: object): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()))
    })
  }
}

/** Thrown for a line that is not a valid message. The sender gets an error with `code` and `message`. */
class BadLine extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

function parseMessage(line: string): JSONRPCMessage {
  const value = parseLine(line)
  if (Array.isArray(value))
    throw new BadLine(INVALID_REQUEST, 'batches are not supported: send one message per line')
  const message = readMessage(value)
  const refused = refusedInitialize(message)
  if (refused !== null) throw new BadLine(INVALID_PARAMS, refused)
  return message
}

function readMessage(value: JsonValue): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(value)
  } catch {
    throw new BadLine(INVALID_REQUEST, 'the message is not a JSON-RPC 2.0 request, notification or response')
  }
}

function parseLine(line: string): JsonValue {
  try {
    return parseJsonText(line, { depthMax: MCP_LINE_DEPTH_MAX })
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new BadLine(PARSE_ERROR, `the message is not accepted: ${error.message}`)
  }
}

/**
 * Returns the id of a refused message, or null. If the error has the id, the sender gets it as the answer to its
 * message and does not wait.
 */
function idOf(line: string): Id | null {
  try {
    const { id } = JSON.parse(line) as { id?: unknown }
    return typeof id === 'string' || typeof id === 'number' ? id : null
  } catch {
    return null
  }
}
