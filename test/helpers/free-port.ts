import { once } from 'node:events'
import { createServer } from 'node:net'

export async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return `${address.port}`
}
