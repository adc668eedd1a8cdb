import { fork } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'

const BODY = JSON.stringify({
  id: 'rec_01m8ten1x0e1xfmh8cvzvfr3zx',
  state: 'RECORDED',
  note: 'x'.repeat(600),
})
const ANSWER = Buffer.from(
  `HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
)

/**
 * Starts a server that answers every request with the same bytes. It shows what a load generator itself costs. Each
 * request must fit into one read.
 */
export async function startCannedServer(): Promise<{ port: number; close(): void }> {
  const child = fork(new URL(import.meta.url), ['canned-child'], { execArgv: [] })
  const [port] = (await once(child, 'message')) as [number]
  return { port, close: () => child.kill() }
}

if (process.argv[2] === 'canned-child' && process.send) {
  const server = net.createServer({ noDelay: true }, (socket) => {
    socket.on('data', () => socket.write(ANSWER))
    socket.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as net.AddressInfo).port))
  process.once('disconnect', () => process.exit())
}
