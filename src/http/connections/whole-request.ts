import { WHOLE_REQUEST_HEAD_BYTES_MAX } from '../limits.ts'

/** A request whose bytes arrived in one chunk that contains nothing else. */
export type WholeRequest = {
  readonly method: string
  readonly url: string
  readonly authorization: string | undefined
  readonly head: string
}

/**
 * Parses a plain request. Returns null if two parsers could read the bytes differently, or if the server must do more
 * than answer, for example for `Upgrade`. Node's parser then reads the request. In a plain request, each header has one
 * space before its value and no continued lines, and the body has one Content-Length.
 */
export function parseWholeRequest(chunk: Buffer): WholeRequest | null {
  const end = chunk.indexOf('\r\n\r\n')
  if (end < 0 || end > WHOLE_REQUEST_HEAD_BYTES_MAX) return null
  const head = chunk.toString('latin1', 0, end + 4)
  const [, method, url] = PLAIN_HEAD.exec(head) ?? []
  if (method === undefined || url === undefined || OTHER_FRAMING.test(head)) return null
  const [bytes = '0', ...others] = head.match(CONTENT_LENGTHS) ?? []
  if (others.length > 0 || !DIGITS.test(bytes) || chunk.length !== end + 4 + Number(bytes)) return null
  return { method, url, authorization: AUTHORIZATION.exec(head)?.[1], head }
}

const PLAIN_HEAD =
  /^(GET|POST) (\/[!-~]*) HTTP\/1\.1\r\n(?:[\w!#$%&'*+.^`|~-]+: [!-~](?:[ -~]*[!-~])?\r\n)+\r\n$/
const OTHER_FRAMING = /\n(?:(?:transfer-encoding|upgrade|expect|te|trailer):|connection:(?! keep-alive\r))/i
const CONTENT_LENGTHS = /(?<=\ncontent-length: )[^\r]*/gi
const DIGITS = /^\d{1,7}$/
const AUTHORIZATION = /\nauthorization: ([^\r]*)/i
