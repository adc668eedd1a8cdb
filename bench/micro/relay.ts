import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP relay that counts the bytes it forwards. */
export type Relay = {
  readonly port: number
  sentBytes(): number
  receivedBytes(): number
  close(): void
}

export async function startRelay(host: string, port: number): Promise<Relay> {
  const counted = { sent: 0, received: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((here) => {
    const there = connect({ host, port })
    for (const socket of [here, there]) {
      sockets.add(socket.setNoDelay())
      socket
        .on('error', () => {})
        .once('close', () => {
          sockets.delete(socket)
          here.destroy()
          there.destroy()
        })
    }
    here.on('data', (bytes) => {
      counted.sent += bytes.length
    })
    there.on('data', (bytes) => {
      counted.received += bytes.length
    })
    here.pipe(there).pipe(here)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sentBytes: () => counted.sent,
    receivedBytes: () => counted.received,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
