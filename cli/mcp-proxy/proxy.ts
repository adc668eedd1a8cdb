import { createHash, type Hash } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { JSON_RPC_CODES } from '../../src/json-rpc-codes.ts'
import { type CutLine, type Fragment, LineCutter, NEWLINE } from '../../src/mcp/line-cutter.ts'
import { withoutMark } from '../../src/proof/bytes.ts'
import { elementsOf, type Message, readMessage, valueAt } from '../calls/message.ts'
import { ambiguityOf, usesTools } from './ambiguity.ts'
import type { BegunCall, Calls } from './calls.ts'
import { answeredIdOf, isMessage, keyOf, type RequestId } from './json-rpc.ts'
import { PROXY_MESSAGE_BYTES_MAX } from './limits.ts'
import { strayText } from './stray.ts'
import type { Downstream, NoAnswer, Upstream, UpstreamEnd } from './upstream.ts'
import { write } from './write.ts'

export type ProxyOptions = {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly calls: Calls
  /**
   * Resolves to true if the ledger has the action of a call, otherwise to false. With null, calls are forwarded as soon
   * as their action is in the outbox.
   */
  readonly isRecorded: ((begun: BegunCall, signal: AbortSignal) => Promise<boolean>) | null
  /** Called with each line of the server's standard output that is not a message. */
  readonly stray: (line: Buffer) => void
  readonly say: (message: string) => void
}

/**
 * Forwards messages between a client and a server, byte for byte and in order. There are two exceptions:
 *
 * - If `isRecorded` is set and a client message cannot be recorded, the client gets an error and the server does not
 *   get the message.
 * - A line of the server that is not an MCP message goes to `stray`, because some clients stop at such a line.
 */
export class McpProxy {
  readonly #options: ProxyOptions
  readonly #fromServer = new LineCutter(PROXY_MESSAGE_BYTES_MAX)
  readonly #fromClient = new LineCutter(PROXY_MESSAGE_BYTES_MAX)
  /** Answers of the proxy itself. They wait until the server's current line has ended. */
  readonly #answers: string[] = []
  #hash: Hash = createHash('sha256')
  #bytes = 0
  /** True while a long line of the server is being forwarded. */
  #isLongPassed = false
  /** Aborted when messages can no longer be forwarded. */
  readonly #over = new AbortController()

  constructor(options: ProxyOptions) {
    this.#options = options
  }

  /** Runs until the server has ended. Returns how it ended. */
  async run(open: (downstream: Downstream) => Upstream, stopped: Promise<unknown>): Promise<UpstreamEnd> {
    const { stdin, stdout, calls, say } = this.#options
    // Errors are ignored: the client no longer reads, but the server's answers are still recorded.
    stdout.on('error', () => {})
    const upstream = open({
      receive: (bytes) => this.#receive(bytes),
      noAnswer: (id, reason) => this.#sendNoAnswer(id, reason),
      say,
    })
    stopped.then(() => {
      this.#over.abort()
      upstream.stop()
    })
    const forwarded = this.#forward(upstream).finally(() => upstream.end())
    const ended = await upstream.ended
    for (const piece of this.#fromServer.end()) await this.#deliver(piece)
    const isOver = this.#over.signal
    this.#over.abort()
    calls.end(`${ended.why} before it answered`)
    stdin.destroy()
    await forwarded.catch((error) => {
      if (!isOver.aborted) throw error
    })
    return ended
  }

  async #forward(upstream: Upstream): Promise<void> {
    try {
      for await (const chunk of this.#options.stdin)
        for (const piece of this.#fromClient.cut(Buffer.from(chunk))) await this.#pass(piece, upstream)
      for (const piece of this.#fromClient.end()) await this.#pass(piece, upstream)
    } catch (error) {
      // This error is expected, because the proxy ends this stream together with the server.
      if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
    }
  }

  async #pass(piece: CutLine, upstream: Upstream): Promise<void> {
    const why = piece.fragment === null ? await this.#passLine(piece.bytes) : this.#passPart(piece)
    if (why === null) await upstream.send(piece.bytes)
  }

  /** Forwards or refuses a line. Returns the reason if the line is not forwarded, otherwise null. */
  async #passLine(bytes: Buffer): Promise<string | null> {
    const messages = readClientLine(bytes)
    const { isRecorded } = this.#options
    if (messages === null) {
      if (isRecorded !== null) return this.#refuse([null], [], 'it is not JSON')
      this.#tryUnread('it is not JSON', sha256Of(bytes), bytes.length)
      return null
    }
    const inexact = messages.find((message) => message.inexact !== null)?.inexact
    if (inexact !== undefined && isRecorded !== null)
      return this.#refuse(messages.flatMap(requestIdsOf), [], `servers may read it differently: ${inexact}`)
    return this.#begin(messages, bytes)
  }

  async #begin(messages: readonly Message[], bytes: Buffer): Promise<string | null> {
    const { calls, isRecorded, say } = this.#options
    const begun: BegunCall[] = []
    const records = messages.map((message) => () => calls.fromClient(message))
    // If a server may find more in this line than the recorded calls contain, the digest of the whole line is recorded
    // too.
    const why = messages.find(({ inexact }) => inexact !== null)?.inexact ?? whyUnread(messages)
    if (why !== null) records.push(() => calls.unread(why, sha256Of(bytes), bytes.length))
    for (const record of records) {
      try {
        const one = record()
        if (one !== null) begun.push(one)
      } catch (error) {
        const { message } = error as Error
        if (isRecorded !== null) return this.#refuse(messages.flatMap(requestIdsOf), begun, message)
        say(`a message is forwarded, but could not be recorded: ${message}`)
      }
    }
    if (isRecorded === null) return null
    const { signal } = this.#over
    const recorded = await Promise.all(begun.map((one) => isRecorded(one, signal)))
    if (!recorded.includes(false)) return null
    const late = signal.aborted ? 'the proxy ended' : 'the ledger did not record it in time'
    return this.#refuse(messages.flatMap(requestIdsOf), begun, late)
  }

  /** Handles a part of a message that is too long. Returns the reason if the part is not forwarded, otherwise null. */
  #passPart({ bytes, fragment }: CutLine): string | null {
    const why = `it has more than ${PROXY_MESSAGE_BYTES_MAX} bytes, the maximum`
    const { isLast, isRequest, id } = fragment!
    if (this.#options.isRecorded !== null)
      return isLast ? this.#refuse([isRequest ? id : null], [], why) : why
    this.#hash.update(bytes)
    this.#bytes += bytes.length
    if (isLast) {
      this.#tryUnread(why, this.#hash.digest('hex'), this.#bytes)
      this.#hash = createHash('sha256')
      this.#bytes = 0
    }
    return null
  }

  #tryUnread(why: string, sha256: string, length: number): void {
    try {
      this.#options.calls.unread(why, sha256, length)
    } catch (error) {
      this.#options.say(`a message could not be recorded: ${(error as Error).message}`)
    }
  }

  /** Answers the client's requests with an error, in place of the server. */
  #refuse(ids: readonly unknown[], begun: readonly BegunCall[], why: string): string {
    const { calls, say } = this.#options
    say(`a client's message was not forwarded: ${why}`)
    for (const one of begun) calls.refuse(one, why)
    const error = {
      code: JSON_RPC_CODES.notForwarded,
      message: `tallystick: not forwarded, because it cannot be recorded: ${why}`,
    }
    for (const id of new Set(ids)) this.#answers.push(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`)
    this.#answer()
    return why
  }

  #answer(): void {
    if (!this.#fromServer.isAtStart) return
    for (const answer of this.#answers.splice(0)) this.#options.stdout.write(answer)
  }

  async #receive(bytes: Buffer): Promise<void> {
    for (const piece of this.#fromServer.cut(bytes)) await this.#deliver(piece)
  }

  /** Forwards a server line if it is a message. Adds the line break if the last line lacks it. */
  async #deliver({ bytes, fragment }: CutLine): Promise<void> {
    if (fragment !== null) return this.#deliverPart(bytes, fragment)
    const messages = readLine(bytes)
    if (messages !== null && messages.length > 0 && messages.every(({ value }) => isMessage(value))) {
      const line = withoutMark(bytes)
      const written = write(this.#options.stdout, line.at(-1) === NEWLINE ? line : Buffer.concat([line, END]))
      this.#answer()
      await written
      for (const message of messages) this.#options.calls.fromServer(message)
    } else if (bytes.some((byte) => byte > SPACE)) await this.#refuseLine(bytes)
  }

  /**
   * Passes a line that is not a message to `stray`. If the line contains an answer with an id, the client gets an error
   * for that id.
   */
  async #refuseLine(bytes: Buffer): Promise<void> {
    this.#options.stray(bytes)
    const text = bytes.toString('utf8')
    for (const { value } of parseLine(text) ?? []) {
      const id = answeredIdOf(value)
      const why = 'the answer of the server is not a JSON-RPC 2.0 message in UTF-8'
      if (id !== undefined) await this.#sendNoAnswer(id, { why, sent: text, isRefused: false })
    }
  }

  /** Handles a piece of a line that is too long to parse. The piece is forwarded if the line begins like a message. */
  async #deliverPart(bytes: Buffer, { index, isLast, id, isRequest }: Fragment): Promise<void> {
    const { stdout, stray, calls, say } = this.#options
    if (index === 0) this.#isLongPassed = /^(?:\ufeff)?[ \t\r]*[{[]/.test(bytes.toString('utf8', 0, 1024))
    if (this.#isLongPassed) await write(stdout, bytes)
    else stray(bytes)
    if (!isLast) return
    this.#answer()
    if (!this.#isLongPassed) return
    const why = `an answer is longer than ${PROXY_MESSAGE_BYTES_MAX} bytes`
    say(`${why}: the outcome of its call is unknown`)
    if (id !== null && !isRequest) calls.noAnswer(id, { why, sent: null, isRefused: false })
  }

  /** Answers a request with an error if the server gives no answer. Without the error the client would wait forever. */
  async #sendNoAnswer(id: RequestId, reason: NoAnswer): Promise<void> {
    const { why, sent } = reason
    const text = sent === null ? why : `${why}: ${strayText(sent)}`
    const error = { code: JSON_RPC_CODES.noAnswer, message: `tallystick mcp-proxy: ${text}` }
    this.#answers.push(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`)
    this.#answer()
    this.#options.calls.noAnswer(id, reason)
  }
}

/** Returns the ids of requests whose answer the client expects. An unknown id is null. */
function requestIdsOf({ value, inexact }: Message): unknown[] {
  const id = valueAt(value, ['id'])
  if (keyOf(id) !== null && answeredIdOf(value) === undefined) return [id]
  return inexact === null ? [] : [null]
}

/**
 * Returns null if the recorded calls of a line contain everything that a server will do because of the line. Otherwise
 * returns the reason why something may be missing.
 */
function whyUnread(messages: readonly Message[]): string | null {
  return messages.some(({ value }) => usesTools(value))
    ? 'it contains tool calls of a model, which the server runs itself'
    : null
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

const SPLIT = 'it contains a carriage return, which a server may read as the end of a line'
const [CARRIAGE_RETURN, SPACE] = [0x0d, 0x20]
const END = Buffer.from([NEWLINE])

/**
 * Returns the messages of a line like readLine, but marks a message as inexact if a server may understand it in another
 * way. One cause is a bare carriage return. It is white space in JSON, but text readers (Python's universal newlines,
 * Node's readline) end a line at it and may find other messages within the line.
 */
function readClientLine(bytes: Buffer): Message[] | null {
  const at = bytes.indexOf(CARRIAGE_RETURN)
  const isSplit = at >= 0 && bytes.subarray(at).some((byte) => byte > SPACE)
  const split = isSplit ? SPLIT : null
  return (
    readLine(bytes)?.map((each) => ({
      ...each,
      inexact: each.inexact ?? split ?? ambiguityOf(each.value),
    })) ?? null
  )
}

/**
 * Returns the messages of a line: one message, the messages of a list, or no message for an empty line. Returns null
 * if the line is not JSON in UTF-8.
 */
function readLine(bytes: Buffer): Message[] | null {
  try {
    return parseLine(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return null
  }
}

function parseLine(text: string): Message[] | null {
  if (/^[ \t\r\n]*$/.test(text)) return []
  const message = readMessage(text)
  if (message === null) return null
  // A list is accepted, because old clients send several messages in one list.
  return Array.isArray(message.value) ? elementsOf(message) : [message]
}
