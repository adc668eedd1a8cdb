import { isIP } from 'node:net'
import { type Allowances, classifyAddress } from './allowances.ts'
import { OUTBOUND_URL_CHARS_MAX } from './limits.ts'

/**
 * The only permitted ports below 1024. The other ports belong to other protocols. Their servers might interpret a
 * posted text as commands.
 */
const PORTS_BELOW_1024: readonly number[] = [80, 443]

export type UrlRefusal = 'malformed' | 'scheme' | 'userinfo' | 'fragment' | 'port' | 'insecure' | 'address'

export type Target = {
  readonly url: URL
  /**
   * True if the URL is plain HTTP or has a port of another protocol. The name must then resolve to an allowed address.
   */
  readonly allowedOnly: boolean
}

/** Result of a check. `detail`: a sentence that says what to do, for the client that sent the URL. */
type CheckedUrl =
  | ({ readonly ok: true } & Target)
  | { readonly ok: false; readonly reason: UrlRefusal; readonly detail: string }

/**
 * Checks a URL without using the network. A name that passes may still resolve to a refused address.
 *
 * Must be called at registration and again before each request, because allowances change. `new URL` has already
 * normalised every spelling of an IP address (0x7f.1, 2130706433, [::ffff:7f00:1]).
 */
export function checkOutboundUrl(text: string, allowances: Allowances): CheckedUrl {
  if (text.length > OUTBOUND_URL_CHARS_MAX) {
    return refuse('malformed', `a URL can have at most ${OUTBOUND_URL_CHARS_MAX} characters`)
  }
  // `new URL` would drop these characters silently. The URL that is shown must be the URL that is called.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for them
  const url = /[\u0000-\u0020\u007f\\]/.test(text) ? null : URL.parse(text)
  if (url === null) return refuse('malformed', 'this is not a URL such as https://example.com/hook')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return refuse('scheme', `${url.protocol} is not supported: use https:`)
  }
  if (url.username !== '' || url.password !== '') {
    return refuse('userinfo', 'a URL must not contain a user or a password: deliveries are signed instead')
  }
  if (text.includes('#')) return refuse('fragment', 'leave out the fragment (#…): it is never sent')
  return checkHost(url, allowances)
}

function checkHost(url: URL, allowances: Allowances): CheckedUrl {
  const ip = ipOf(url.hostname)
  const standing = ip === null ? classifyName(url.hostname, allowances) : classifyAddress(ip, allowances)
  if (standing === 'refused') {
    return refuse('address', `${ip ?? url.hostname} is not a public address: ${OPERATOR_CAN_ALLOW}`)
  }
  const canBeAllowed = standing === 'allowed' || (ip === null && allowances.length > 0)
  const insecure = url.protocol === 'http:'
  if (insecure && !canBeAllowed) {
    return refuse(
      'insecure',
      `http: is only for addresses that the operator allows: use https:, or ${OPERATOR_CAN_ALLOW}`,
    )
  }
  const port = portOf(url)
  const otherProtocol = port < 1024 && !PORTS_BELOW_1024.includes(port)
  if (otherProtocol && !canBeAllowed) {
    return refuse('port', `port ${port} belongs to another protocol: use 443, 80, or a port from 1024 on`)
  }
  return { ok: true, url, allowedOnly: insecure || otherProtocol }
}

const OPERATOR_CAN_ALLOW = 'the operator can allow it with TALLYSTICK_OUTBOUND_ALLOW'

/**
 * Classifies a name without DNS. Only `localhost` names can be classified without DNS, because they always mean this
 * machine (RFC 6761).
 */
function classifyName(name: string, allowances: Allowances): 'unknown' | 'allowed' | 'refused' {
  if (!/(^|\.)localhost\.?$/.test(name)) return 'unknown'
  return ['127.0.0.1', '::1'].some((ip) => classifyAddress(ip, allowances) === 'allowed')
    ? 'allowed'
    : 'refused'
}

/** Returns the IP address in the host of a URL, or null if the host is a name. */
export function ipOf(hostname: string): string | null {
  const ip = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return isIP(ip) === 0 ? null : ip
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}

function refuse(reason: UrlRefusal, detail: string): CheckedUrl {
  return { ok: false, reason, detail }
}
