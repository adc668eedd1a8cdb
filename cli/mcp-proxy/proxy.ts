import { createHash, type Hash } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { LineCutter, type Piece } from '../../src/mcp/line-cutter.ts'
import { type Message, readMessage, valueAt } from '../calls/message.ts'
import type { Begun, Calls } from './calls.ts'
import { PROXY_MESSAGE_BYTES_MAX } from './limits.ts'
import { write } from './process-upstream.ts'
import type { Ended, Receive, Upstream } from './upstream.ts'

export type ProxyOptions = {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly calls: Calls
  /** Absent: a call is forwarded as soon as its action is in the outbox. Whether the ledger has it. */
  readonly isRecorded: ((begun: Begun) => Promise<boolean>) | null
  readonly say: (message: string) => void
}

/**
 * Stands between a client and a server. All that one writes reaches the other byte for byte, in order; only with `isRecorded` some messages of
 * the client are answered here instead, because they cannot be recorded.
 */
export class McpProxy {
  readonly #options: ProxyOptions
  readonly #fromServer = new LineCutter(PROXY_MESSAGE_BYTES_MAX)
  readonly #fromClient = new LineCutter(PROXY_MESSAGE_BYTES_MAX)
  /** Answers of our own, which wait until the server's line has its end. */
  readonly #answers: string[] = []
  #hash: Hash = createHash('sha256')
  #bytes = 0

  constructor(options: ProxyOptions) {
    this.#options = options
  }

  /** Until the server has ended. */
  async run(open: (receive: Receive) => Upstream, stopped: Promise<unknown>): Promise<Ended> {
    const { stdin, stdout, calls } = this.#options
    // The client reads no more. The server's answers are recorded all the same.
    stdout.on('error', () => {})
    const upstream = open((bytes) => this.#receive(bytes))
    stopped.then(() => upstream.stop())
    let isOver = false
    const forwarded = this.#forward(upstream).finally(() => upstream.end())
    const ended = await upstream.ended
    isOver = true
    calls.end(`${ended.why} before it answered`)
    stdin.destroy()
    await forwarded.catch((error) => {
      if (!isOver) throw error
    })
    return ended
  }

  async #forward(upstream: Upstream): Promise<void> {
    try {
      for await (const chunk of this.#options.stdin)
        for (const piece of this.#fromClient.cut(Buffer.from(chunk))) await this.#pass(piece, upstream)
      for (const piece of this.#fromClient.end()) await this.#pass(piece, upstream)
    } catch (error) {
      // The stream was ended by us, with the server.
      if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
    }
  }

  async #pass(piece: Piece, upstream: Upstream): Promise<void> {
    const why = piece.part === null ? await this.#passLine(piece.bytes) : this.#passPart(piece)
    if (why === null) await upstream.send(piece.bytes)
  }

  /** Why the line is not forwarded; null: it is. */
  async #passLine(bytes: Buffer): Promise<string | null> {
    const messages = readClientLine(bytes)
    const { isRecorded } = this.#options
    if (messages === null) {
      if (isRecorded !== null) return this.#refuse([], [], 'it is no JSON')
      this.#tryUnread('it is no JSON', bytes)
      return null
    }
    const inexact = messages.find((message) => message.inexact !== null)?.inexact
    if (inexact !== undefined && isRecorded !== null)
      return this.#refuse(messages, [], `nobody knows how the server reads it: ${inexact}`)
    return this.#begin(messages, bytes)
  }

  async #begin(messages: readonly Message[], bytes: Buffer): Promise<string | null> {
    const { calls, isRecorded, say } = this.#options
    const begun: Begun[] = []
    let unread: string | null = null
    for (const message of messages) {
      try {
        const one = calls.fromClient(message)
        if (one !== null) begun.push(one)
        // The action of a call has the digest of its arguments alone, and not of all that a server may read in this line.
        if (one === null || message.inexact === SPLIT) unread ??= message.inexact
      } catch (error) {
        const why = (error as Error).message
        if (isRecorded !== null) return this.#refuse(messages, begun, why)
        say(`a call is forwarded that could not be recorded: ${why}`)
      }
    }
    if (unread !== null) this.#tryUnread(unread, bytes)
    if (isRecorded === null) return null
    const recorded = await Promise.all(begun.map((one) => isRecorded(one)))
    return recorded.includes(false)
      ? this.#refuse(messages, begun, 'the ledger did not record it in time')
      : null
  }

  /** Why a part of a message that is too long is not forwarded; null: it is. */
  #passPart({ bytes, part }: Piece): string | null {
    const why = `it has more than the ${PROXY_MESSAGE_BYTES_MAX} bytes that are read`
    if (this.#options.isRecorded !== null) return part!.isLast ? this.#refuse([], [], why) : why
    this.#hash.update(bytes)
    this.#bytes += bytes.length
    if (part!.isLast) {
      this.#sayUnread(why, this.#hash.digest('hex'), this.#bytes)
      this.#hash = createHash('sha256')
      this.#bytes = 0
    }
    return null
  }

  #tryUnread(why: string, bytes: Buffer): void {
    this.#sayUnread(why, createHash('sha256').update(bytes).digest('hex'), bytes.length)
  }

  #sayUnread(why: string, sha256: string, length: number): void {
    try {
      this.#options.calls.unread(why, sha256, length)
    } catch (error) {
      this.#options.say(`and that could not be recorded: ${(error as Error).message}`)
    }
  }

  /** Answers what the client asked, instead of the server. */
  #refuse(messages: readonly Message[], begun: readonly Begun[], why: string): string {
    const { calls, say } = this.#options
    say(`a message of the client was not forwarded: ${why}`)
    for (const one of begun) calls.refuse(one, why)
    const requests = messages.filter(({ value }) => valueAt(value, ['method']) !== undefined)
    const ids = requests.map(({ value }) => valueAt(value, ['id'])).filter((id) => id !== undefined)
    const error = {
      code: REFUSED_CODE,
      message: `tallystick: this is not done, because it cannot be recorded: ${why}`,
    }
    for (const id of messages.length === 0 ? [null] : ids)
      this.#answers.push(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`)
    this.#answer()
    return why
  }

  #answer(): void {
    if (!this.#fromServer.isAtStart) return
    for (const answer of this.#answers.splice(0)) this.#options.stdout.write(answer)
  }

  async #receive(bytes: Buffer): Promise<void> {
    const pieces = [...this.#fromServer.cut(bytes)]
    const written = write(this.#options.stdout, bytes)
    this.#answer()
    await written
    for (const { bytes: line, part } of pieces)
      if (part === null) for (const message of readLine(line) ?? []) this.#options.calls.fromServer(message)
      else if (part.isLast)
        this.#options.say(
          `an answer has more than the ${PROXY_MESSAGE_BYTES_MAX} bytes that are read: its call ends without a known outcome`,
        )
  }
}

/** As JSON-RPC has it for errors that servers define. */
const REFUSED_CODE = -32_090

const SPLIT = 'it has a carriage return inside, which a server may read as the end of a line'
const [CARRIAGE_RETURN, SPACE] = [0x0d, 0x20]

/**
 * JSON has a bare carriage return as space, and readers of text (Python's universal newlines, Node's readline) as the end of a line: within
 * one message that is read here they may find others.
 */
function readClientLine(bytes: Buffer): Message[] | null {
  const messages = readLine(bytes)
  const at = bytes.indexOf(CARRIAGE_RETURN)
  const isSplit = at >= 0 && bytes.subarray(at).some((byte) => byte > SPACE)
  return isSplit && messages !== null ? messages.map((each) => ({ ...each, inexact: SPLIT })) : messages
}

/** Messages of a line: one, or those of a list. None of an empty line; null: it is no JSON. */
function readLine(bytes: Buffer): Message[] | null {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).trim()
  } catch {
    return null
  }
  if (text === '') return []
  const message = readMessage(text)
  if (message === null) return null
  const { value, inexact } = message
  if (!Array.isArray(value)) return [message]
  // Old clients send several at once. Each is written again: JSON.parse shows all of it, or it is marked as inexact.
  return value.map((each) => ({ text: JSON.stringify(each), value: each, inexact }))
}
