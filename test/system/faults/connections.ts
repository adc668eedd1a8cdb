import http, { type IncomingHttpHeaders } from 'node:http'
import net, { type Socket } from 'node:net'
import { formatRequest } from '../../../bench/load/requests.ts'

export type Request = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly bearer: string
  readonly body: string
}
export type Answer = { readonly status: number; readonly text: string; readonly headers: IncomingHttpHeaders }

/** A keep-alive connection with one request at a time. `send` rejects with a code if no complete answer arrives. */
export type Connection = {
  send(request: Request): Promise<Pick<Answer, 'status' | 'text'>>
  close(): void
}

/** A connection of a client that may switch servers. */
export type AgentConnection = {
  send(url: string, request: AgentRequest): Promise<Answer>
  close(): void
}

type AgentRequest = Request & {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

const ANSWER_MS_MAX = 30_000

/** Opens a connection with an agent of one socket, as most Node clients do. */
export function openAgentConnection(): AgentConnection {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  return {
    send: (url, { method, path, bearer, body, headers: more, signal }) =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${bearer}`,
          ...(body && { 'content-type': 'application/json' }),
          ...more,
        }
        const request = http.request(
          `${url}${path}`,
          { method, agent, headers, timeout: ANSWER_MS_MAX, ...(signal && { signal }) },
          (answer) => {
            let text = ''
            answer.setEncoding('utf8').on('data', (chunk: string) => {
              text += chunk
            })
            answer.on('error', reject)
            answer.on('end', () => resolve({ status: answer.statusCode!, text, headers: answer.headers }))
          },
        )
        request.on('timeout', () => request.destroy(coded('no_answer')))
        request.on('error', reject)
        request.end(body)
      }),
    close: () => agent.destroy(),
  }
}

export function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message
}

/**
 * Opens a connection as a simple client does. After an answer the client immediately sends the next request on the same
 * connection, unless the server has closed the connection or announced that it will. The client sends no request twice.
 */
export function openRawConnection(url: string): Connection {
  const { hostname: host, port } = new URL(url)
  let kept: Socket | null = null
  return {
    async send(request) {
      const open = kept !== null && !kept.destroyed && !kept.readableEnded
      const socket = open ? kept! : await connect(host, Number(port))
      const { method, path, bearer, body } = request
      const bytes = formatRequest(`${method} ${path}`, bearer, { body, host: `${host}:${port}` })
      const { answer, isKept } = await exchange(socket, bytes)
      kept = isKept ? socket : null
      if (isKept)
        socket.resume() // The socket must be read. Otherwise its end is not noticed.
      else socket.destroy()
      return answer
    },
    close: () => void kept?.destroy(),
  }
}

function connect(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port, noDelay: true })
    socket.once('connect', () => {
      socket.off('error', reject)
      socket.on('error', () => {}) // The event 'close' follows, and its handler does the work.
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

type Read = { readonly answer: Pick<Answer, 'status' | 'text'>; readonly isKept: boolean }

function exchange(socket: Socket, request: Buffer): Promise<Read> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      const answer = readAnswer(received)
      if (answer === null) return
      settle()
      if (Number.isNaN(answer.answer.status)) reject(coded('answer_without_length'))
      else resolve(answer)
    }
    const onLost = () => {
      settle()
      reject(coded(received.length === 0 ? 'closed_without_an_answer' : 'closed_within_an_answer'))
    }
    const settle = () => {
      clearTimeout(timer)
      socket.off('data', onData).off('close', onLost).off('end', onLost)
    }
    const timer = setTimeout(() => socket.destroy(), ANSWER_MS_MAX)
    socket.on('data', onData).once('close', onLost).once('end', onLost)
    socket.write(request)
  })
}

/** Returns the answer and the bytes behind it, or null if the answer is incomplete. */
function readAnswer(received: Buffer): Read | null {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return null
  const head = received.toString('latin1', 0, end)
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1])
  const body = received.subarray(end + 4)
  if (Number.isNaN(length)) return { answer: { status: Number.NaN, text: head }, isKept: false }
  if (body.length < length) return null
  return {
    answer: { status: Number(head.slice(9, 12)), text: body.toString('utf8') },
    isKept: !/\r\nconnection: *close/i.test(head),
  }
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code })
}
