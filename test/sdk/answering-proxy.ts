import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Test } from '../helpers/app.ts'

/**
 * A fault of a write: the bytes that the client receives, and how the connection ends. `forwards` is true if the server
 * receives the request before the fault.
 */
export type AnswerFault = {
  readonly forwards: boolean
  readonly answer: string
  readonly end: 'close' | 'reset'
}

export type AnsweringProxy = {
  readonly url: string
  /**
   * Applies the faults to the next `times` requests: each fault once, then the last fault to the remaining requests.
   */
  fail(faults: AnswerFault | readonly AnswerFault[], times: number): void
  /** Idempotency keys of the writes since the last `fail`. */
  readonly keys: (string | null)[]
}

const HEAD_END = '\r\n\r\n'

/** Starts a proxy that forwards requests. It can also answer instead of the server, with any bytes. */
export async function startAnsweringProxy(t: Test, target: string): Promise<AnsweringProxy> {
  const sockets = new Set<Socket>()
  let faults: readonly AnswerFault[] = []
  let left = 0
  const keys: (string | null)[] = []
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
    let seen = Buffer.alloc(0)
    socket.on('data', (piece) => {
      seen = Buffer.concat([seen, piece])
      const request = parseRequest(seen)
      if (request === null) return
      seen = Buffer.alloc(0)
      handle(socket, request).catch(() => socket.destroy())
    })
  })
  async function handle(socket: Socket, request: Request): Promise<void> {
    keys.push(request.headers.get('idempotency-key'))
    const met = left-- > 0 ? (faults[keys.length - 1] ?? faults.at(-1)!) : null
    if (met && !met.forwards) return end(socket, met)
    const { method, path, headers, body } = request
    const answer = await fetch(new URL(path, target), { method, headers, body, redirect: 'manual' })
    const text = await answer.text()
    if (met) return end(socket, met)
    const head = `HTTP/1.1 ${answer.status} X\r\ncontent-type: ${answer.headers.get('content-type')}`
    socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close${HEAD_END}${text}`)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((closed) => server.close(closed))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    fail(next, times) {
      faults = [next].flat()
      left = times
      keys.length = 0
    },
  }
}

function end(socket: Socket, { answer, end }: AnswerFault): void {
  const bytes = Buffer.from(answer, 'latin1')
  if (end === 'close') socket.end(bytes)
  else socket.write(bytes, () => socket.resetAndDestroy())
}

type Request = {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: Buffer<ArrayBuffer>
}

function parseRequest(seen: Buffer): Request | null {
  const headEnd = seen.indexOf(HEAD_END)
  if (headEnd < 0) return null
  const [first, ...lines] = seen.subarray(0, headEnd).toString('latin1').split('\r\n')
  const [method, path] = first!.split(' ') as [string, string]
  const headers = new Headers(lines.map((line): [string, string] => line.split(/: */, 2) as [string, string]))
  const bytes = Number(headers.get('content-length') ?? 0)
  for (const name of ['host', 'connection', 'content-length', 'transfer-encoding', 'expect'])
    headers.delete(name)
  const body = seen.subarray(headEnd + HEAD_END.length)
  return body.length < bytes ? null : { method, path, headers, body: Buffer.from(body) }
}
