import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** Opens a paused connection to a server on this machine. The connection reads nothing until the caller resumes it. */
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

/** A raw answer. `body` is without chunked framing. */
export type RawAnswer = {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/**
 * Parses consecutive answers. `rest` is an incomplete answer at the end. Throws for anything else, for example for
 * bytes that were written into the middle of an answer. Does not support answers to HEAD.
 */
export function readAnswers(bytes: string): { readonly answers: RawAnswer[]; readonly rest: string } {
  const answers: RawAnswer[] = []
  let rest = bytes
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return { answers, rest }
    const [statusLine, ...lines] = rest.slice(0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) [A-Z]/.exec(statusLine!)?.[1])
    if (Number.isNaN(status)) throw new Error(`no answer begins with ${JSON.stringify(rest.slice(0, 200))}`)
    const headers = new Map(lines.map((line) => splitHeader(line)))
    const read = readBody(rest.slice(end + 4), status, headers)
    if (read === null) return { answers, rest }
    rest = read.rest
    if (status >= 200) answers.push({ status, headers, body: read.body })
  }
}

function splitHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(': ')
  if (colon < 1) throw new Error(`no header: ${JSON.stringify(line)}`)
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
}

function readBody(
  bytes: string,
  status: number,
  headers: ReadonlyMap<string, string>,
): { readonly body: string; readonly rest: string } | null {
  if (status < 200 || status === 204 || status === 304) return { body: '', rest: bytes }
  if (headers.get('transfer-encoding') !== 'chunked') {
    const length = Number(headers.get('content-length') ?? Number.NaN)
    if (Number.isNaN(length)) throw new Error(`an answer ${status} without a length`)
    return bytes.length < length ? null : { body: bytes.slice(0, length), rest: bytes.slice(length) }
  }
  let body = ''
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) return null
    const text = bytes.slice(at, end)
    if (!/^[0-9a-f]+$/i.test(text)) throw new Error(`no chunk begins with ${JSON.stringify(text)}`)
    const length = Number.parseInt(text, 16)
    at = end + 2 + length + 2
    if (bytes.length < at) return null
    body += bytes.slice(end + 2, end + 2 + length)
    if (length === 0) return { body, rest: bytes.slice(at) }
  }
}
