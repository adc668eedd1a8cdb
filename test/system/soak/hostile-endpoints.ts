import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

const BEHAVIOURS: Readonly<Record<string, (socket: Socket) => void>> = {
  hang: () => {},
  'drip-headers': (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx-drip: ', 'x'),
  'drip-body': (socket) => drip(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n', 'x'),
  redirect: (socket) => socket.end('HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n'),
  '500': (socket) => socket.write('HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n'),
  '410': (socket) => socket.write('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n'),
  '429': (socket) => socket.write('HTTP/1.1 429 Slow\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n'),
  large: (socket) => pour(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n', 1_000_000_000),
  reset: (socket) => void socket.resetAndDestroy(),
}

export const HOSTILE = Object.keys(BEHAVIOURS)

const DRIP_EVERY_MS = 500
const POUR_BYTES = 64 * 1024

export type HostileEndpoints = {
  readonly port: number
  counts(): Promise<Record<string, number>>
  stop(): void
}

/** Starts the endpoints in a separate process, because their behaviour costs CPU too. */
export async function startHostileEndpoints(): Promise<HostileEndpoints> {
  const child = fork(new URL(import.meta.url), ['hostile-endpoints'], { execArgv: [] })
  const [port] = (await once(child, 'message')) as [number]
  return {
    port,
    async counts() {
      child.send('counts')
      const [counts] = (await once(child, 'message')) as [Record<string, number>]
      return counts
    },
    stop: () => void child.kill(),
  }
}

function drip(socket: Socket, head: string, byte: string): void {
  socket.write(head)
  const timer = setInterval(() => socket.write(byte), DRIP_EVERY_MS)
  socket.once('close', () => clearInterval(timer))
}

function pour(socket: Socket, head: string, bytes: number): void {
  const chunk = Buffer.alloc(POUR_BYTES, 'x')
  socket.write(head)
  let left = bytes
  const more = () => {
    while (left > 0 && !socket.destroyed) {
      left -= chunk.length
      if (!socket.write(chunk)) return void socket.once('drain', more)
    }
  }
  more()
}

if (process.argv[2] === 'hostile-endpoints' && process.send) {
  const counts: Record<string, number> = {}
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk) => {
      // A chunk without a path continues a request whose head came in an earlier chunk.
      const path = /^POST \/(\S+) /.exec(chunk.toString('latin1'))?.[1]
      if (path === undefined) return
      counts[path] = (counts[path] ?? 0) + 1
      BEHAVIOURS[path]!(socket)
    })
  })
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
  process.on('message', () => process.send!(counts))
  process.once('disconnect', () => process.exit())
}
