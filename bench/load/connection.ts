import net from 'node:net'
import type { Requests } from './requests.ts'

export type Target = { readonly host: string; readonly port: number }

/** An answer of the server. `body` is null unless the sender set `keepBody`, or the status is unexpected. */
export type Answer = { readonly status: number; readonly body: string | null }

type Handlers = {
  onAnswer(answer: Answer): void
  /**
   * Called when the connection is lost; `code` is the reason. `wasInFlight`: true if a request had no answer yet, so
   * that its outcome is unknown.
   */
  onLost(wasInFlight: boolean, code: string): void
}

/** Maximum size of a response head in bytes. No head of our server is larger. */
const HEAD_BYTES_MAX = 16_384
const CONNECT_MS_MAX = 5_000

/**
 * Read buffer of all connections. libuv fills it and calls back before it reads for the next connection, so one
 * buffer is enough and reading allocates nothing.
 */
const READ_BUFFER = Buffer.allocUnsafe(65_536)

/**
 * One keep-alive HTTP/1.1 connection with one request in flight, on a raw socket. An HTTP client would cost more CPU
 * per request than the server under test. The connection reads only what this server sends: a status line, a
 * `content-length` and a body (no body after 304). Anything else closes the connection with a code.
 */
export class LoadConnection {
  inFlight = false
  dueAt = 0
  sentAt = 0
  readonly #target: Target
  readonly #requests: Requests
  readonly #handlers: Handlers
  #socket: net.Socket | null = null
  #keepBody = false
  #status = 0
  /** Number of bytes of the body that are not read yet. −1 until the head is complete. */
  #bodyBytesLeft = -1
  #head: Buffer | null = null
  #body: Buffer[] = []

  constructor(target: Target, requests: Requests, handlers: Handlers) {
    this.#target = target
    this.#requests = requests
    this.#handlers = handlers
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      let opened = false
      const socket: net.Socket = net.connect({
        ...this.#target,
        noDelay: true,
        onread: { buffer: READ_BUFFER, callback: (size) => this.#onRead(socket, size) },
      })
      const timer = setTimeout(() => socket.destroy(new Error('connect_timeout')), CONNECT_MS_MAX)
      let code = 'closed'
      socket.on('error', (error: NodeJS.ErrnoException) => {
        code = error.code ?? error.message
      })
      socket.on('connect', () => {
        clearTimeout(timer)
        opened = true
        this.#socket = socket
        resolve()
      })
      socket.on('close', () => {
        clearTimeout(timer)
        if (!opened) reject(new Error(`cannot connect to ${this.#target.host}:${this.#target.port}: ${code}`))
        if (this.#socket === socket) this.#lost(code)
      })
    })
  }

  /** Sends the next request. The caller must call it only on a free connection. */
  send(dueAt: number, sentAt: number, keepBody: boolean): void {
    this.inFlight = true
    this.dueAt = dueAt
    this.sentAt = sentAt
    this.#keepBody = keepBody
    this.#socket!.write(this.#requests.next())
  }

  close(): void {
    const socket = this.#socket
    this.#socket = null
    this.inFlight = false
    socket?.destroy()
  }

  #lost(code: string): void {
    const wasInFlight = this.inFlight
    this.close()
    this.#bodyBytesLeft = -1
    this.#head = null
    this.#body = []
    this.#handlers.onLost(wasInFlight, code)
  }

  #onRead(socket: net.Socket, size: number): boolean {
    if (this.#socket !== socket) return true
    const chunk = READ_BUFFER.subarray(0, size)
    const failure = this.#bodyBytesLeft < 0 ? this.#readHead(chunk) : this.#readBody(chunk)
    if (failure !== null) this.#lost(failure)
    return true
  }

  /** Parses the head of an answer. Returns the reason if the connection cannot be used any more, otherwise null. */
  #readHead(received: Buffer): string | null {
    const chunk = this.#head === null ? received : Buffer.concat([this.#head, received])
    const end = chunk.indexOf(HEAD_END)
    if (end < 0) {
      this.#head = Buffer.from(chunk)
      return chunk.length > HEAD_BYTES_MAX ? 'head_too_long' : null
    }
    this.#head = null
    this.#status = (chunk[9]! - DIGIT_0) * 100 + (chunk[10]! - DIGIT_0) * 10 + (chunk[11]! - DIGIT_0)
    this.#bodyBytesLeft = this.#status === 304 ? 0 : contentLength(chunk, end)
    if (this.#bodyBytesLeft < 0) return 'answer_without_length'
    if (!this.inFlight) return 'answer_to_nothing'
    this.#keepBody ||= this.#status >= 300
    return this.#readBody(chunk.subarray(end + HEAD_END.length))
  }

  #readBody(chunk: Buffer): string | null {
    this.#bodyBytesLeft -= chunk.length
    if (this.#keepBody) this.#body.push(Buffer.from(chunk))
    if (this.#bodyBytesLeft > 0) return null
    if (this.#bodyBytesLeft < 0) return 'answer_longer_than_said'
    this.#bodyBytesLeft = -1
    this.inFlight = false
    const body = this.#keepBody ? Buffer.concat(this.#body).toString() : null
    this.#body = []
    // The server answered before it had read the whole request. The buffer is still being sent, so it must not be
    // refilled.
    if (this.#socket!.writableLength > 0) return `answered_${this.#status}_before_it_was_read`
    this.#handlers.onAnswer({ status: this.#status, body })
    return null
  }
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH_NAME = Buffer.from('\r\ncontent-length: ')
const LENGTH_LINE = /\r\ncontent-length: *(\d+)\r\n/i
const DIGIT_0 = 48
const DIGIT_9 = 57

/** Returns the value of the header `content-length`, or −1 if the header is missing. */
function contentLength(head: Buffer, end: number): number {
  let at = head.indexOf(LENGTH_NAME)
  if (at < 0 || at > end) {
    const found = LENGTH_LINE.exec(head.toString('latin1', 0, end + 2))
    return found ? Number(found[1]) : -1
  }
  let length = 0
  for (at += LENGTH_NAME.length; head[at]! >= DIGIT_0 && head[at]! <= DIGIT_9; at++) {
    length = length * 10 + head[at]! - DIGIT_0
  }
  return length
}
