import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A connection to a server on this machine that reads nothing unless it is told to. */
export function openSocket(t: TestContext, port: number): Socket {
  const socket = connect(port, '127.0.0.1').pause()
  socket.on('error', () => {})
  t.after(() => void socket.destroy())
  return socket
}

export function requestText(
  method: string,
  path: string,
  key: string,
  headers: readonly string[] = [],
): string {
  return [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${key}`,
    ...headers,
    '\r\n',
  ].join('\r\n')
}
