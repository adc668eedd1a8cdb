import { fork } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { type LatencySummary, makeLatencies, summarize } from '../cli/preflight/latencies.ts'

/** A simulated endpoint. Endpoint n has the path `/n`. */
type ReceiverEndpoint = {
  readonly secret: string
  readonly answerMs: number
}

export type Received = {
  readonly requests: number
  /** Number of events. An event counts once per endpoint, however often it arrives. */
  readonly events: number
  readonly signaturesChecked: number
  readonly signaturesBad: number
  /** Arrivals since the window started. There is one element for each group of endpoints. */
  readonly windows: readonly ReceivedWindow[]
}

type ReceivedWindow = {
  readonly requests: number
  /** Wall clock time of the first arrival, or null if nothing arrived. */
  readonly firstAtMs: number | null
  readonly lastAtMs: number | null
  /**
   * Time from the event's timestamp (when its entry was recorded) to its arrival, in nanoseconds. The precision is one
   * millisecond.
   */
  readonly lag: LatencySummary
}

/** Command to the receiver. `lags`: returns the milliseconds of each delivery in the window, in order of arrival. */
type Command =
  | { readonly kind: 'add'; readonly endpoints: readonly ReceiverEndpoint[] }
  | { readonly kind: 'begin' }
  | { readonly kind: 'read'; readonly windows: readonly (readonly number[])[] }
  | { readonly kind: 'lags' }

/** One in 32 deliveries has its v1 signature checked. */
const CHECKED_EVERY = 32

export type WebhookReceiver = {
  readonly pid: number
  readonly port: number
  /** Returns the number of the first added endpoint. */
  add(endpoints: readonly ReceiverEndpoint[]): Promise<number>
  begin(): Promise<void>
  /** `windows`: groups of endpoints. The result has one window for each group. */
  read(windows: readonly (readonly number[])[]): Promise<Received>
  stop(): void
}

/** Starts a receiver in a separate process. It uses raw sockets, to leave CPU to the worker. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const child = fork(new URL(import.meta.url), ['webhook-receiver'], { execArgv: [] })
  const [port] = (await once(child, 'message')) as [number]
  const call = async <Result>(command: Command): Promise<Result> => {
    child.send(command)
    const [result] = (await once(child, 'message')) as [Result]
    return result
  }
  return {
    pid: child.pid!,
    port,
    add: (endpoints) => call({ kind: 'add', endpoints }),
    begin: () => call({ kind: 'begin' }),
    read: (windows) => call({ kind: 'read', windows }),
    stop: () => void child.kill(),
  }
}

type Endpoint = ReceiverEndpoint & { readonly seqs: Set<number> }
type Arrival = { readonly endpoint: number; readonly atMs: number; readonly lagMs: number }

class Receiver {
  readonly #endpoints: Endpoint[] = []
  #arrivals: Arrival[] = []
  #requests = 0
  #checked = 0
  #bad = 0

  handle(command: Command): number | boolean | number[] | Received {
    if (command.kind === 'add') {
      const first = this.#endpoints.length
      this.#endpoints.push(...command.endpoints.map((one) => ({ ...one, seqs: new Set<number>() })))
      return first
    }
    if (command.kind === 'read') return this.#read(command.windows)
    if (command.kind === 'lags') return this.#arrivals.map(({ lagMs }) => lagMs)
    this.#arrivals = []
    return true
  }

  /**
   * Handles a delivery and returns the delay in ms before its answer. Events are told apart by `entry.seq` of the body,
   * which is enough because all events have the same type.
   */
  receive(path: string, head: string, body: Buffer): number {
    const atMs = Date.now()
    const number = Number(path.slice(1))
    const endpoint = this.#endpoints[number]!
    const text = body.toString()
    const [, timestamp] = /^\{"type":"[^"]*","timestamp":"([^"]*)"/.exec(text)!
    endpoint.seqs.add(Number(/"entry":\{"seq":(\d+)/.exec(text)![1]))
    this.#arrivals.push({ endpoint: number, atMs, lagMs: atMs - Date.parse(timestamp!) })
    if (this.#requests++ % CHECKED_EVERY === 0) {
      this.#checked++
      if (!isSigned(endpoint.secret, head, body)) this.#bad++
    }
    return endpoint.answerMs
  }

  #read(windows: readonly (readonly number[])[]): Received {
    return {
      requests: this.#requests,
      events: this.#endpoints.reduce((sum, { seqs }) => sum + seqs.size, 0),
      signaturesChecked: this.#checked,
      signaturesBad: this.#bad,
      windows: windows.map((endpoints) => {
        const arrivals = this.#arrivals.filter(({ endpoint }) => endpoints.includes(endpoint))
        const lag = makeLatencies()
        for (const { lagMs } of arrivals) lag.record(lagMs)
        return {
          requests: arrivals.length,
          firstAtMs: arrivals[0]?.atMs ?? null,
          lastAtMs: arrivals.at(-1)?.atMs ?? null,
          lag: summarize(lag),
        }
      }),
    }
  }
}

/** Returns whether the Standard Webhooks signature is valid. Checks it as any receiver does. */
function isSigned(secret: string, head: string, body: Buffer): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = Buffer.concat([
    Buffer.from(`${headerOf(head, 'webhook-id')}.${headerOf(head, 'webhook-timestamp')}.`),
    body,
  ])
  const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  return headerOf(head, 'webhook-signature').split(' ').includes(signature)
}

function headerOf(head: string, name: string): string {
  return new RegExp(`\r\n${name}: ([^\r]*)`, 'i').exec(head)?.[1] ?? ''
}

const ANSWER = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')

/** Serves one request at a time. The worker's connector does not pipeline requests. */
function serve(receiver: Receiver, socket: net.Socket): void {
  let waiting: Buffer[] = []
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    waiting.push(chunk as Buffer)
    const bytes = waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting)
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd < 0) return
    const head = bytes.toString('latin1', 0, headEnd)
    const bodyAt = headEnd + HEAD_END.length
    if (bytes.length < bodyAt + Number(headerOf(head, 'content-length'))) return
    waiting = []
    const [method, path] = head.split(' ', 2)
    const body = bytes.subarray(bodyAt)
    if (method === 'PUT') return void socket.write(obey(receiver, body))
    const answerMs = receiver.receive(path!, head, body)
    if (answerMs === 0) socket.write(ANSWER)
    else setTimeout(() => socket.write(ANSWER), answerMs)
  })
}

/** Handles a command that came as a PUT request, because a load script has no other channel to this process. */
function obey(receiver: Receiver, body: Buffer): string {
  const result = JSON.stringify(receiver.handle(JSON.parse(body.toString())))
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${result.length}\r\n\r\n${result}`
}

if (process.argv[2] === 'webhook-receiver' && process.send) {
  const receiver = new Receiver()
  const server = net.createServer({ noDelay: true }, (socket) => serve(receiver, socket))
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as net.AddressInfo).port))
  process.on('message', (command: Command) => process.send!(receiver.handle(command)))
  process.once('disconnect', () => process.exit())
}
