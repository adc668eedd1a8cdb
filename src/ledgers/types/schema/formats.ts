import { isIPv4, isIPv6 } from 'node:net'
import { isPointer } from './json-pointer.ts'

/**
 * Maps a format to its check, by the RFCs that JSON Schema names (2020-12 validation, §7.3). The time of each check is
 * proportional to the length of the text, because no pattern here can match the same part of a text in two ways.
 */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  'date-time': isDateTime,
  time: isTime,
  duration: isDuration,
  email: isEmail,
  hostname: isHostname,
  ipv4: isIPv4,
  // An IPv6 address of RFC 4291 has no zone (`%`).
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  uri: isUri,
  uuid: (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text),
  'json-pointer': isPointer,
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Checks a full-date of RFC 3339. */
function isDate(text: string): boolean {
  const [year, month, day] = (DATE.exec(text) ?? []).slice(1).map(Number) as [number?, number?, number?]
  if (year === undefined || month! < 1 || month! > 12 || day! < 1) return false
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day! <= (month === 2 && !isLeapYear ? 28 : MONTH_DAYS[month! - 1]!)
}

const TIME = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|([+-])(\d{2}):(\d{2}))$/i
const DAY_MINUTES = 24 * 60

/** Checks a full-time of RFC 3339. The second 60 is valid only at the end of a day in UTC. */
function isTime(text: string): boolean {
  const match = TIME.exec(text)
  if (!match) return false
  const [hour, minute, second] = match.slice(1, 4).map(Number) as [number, number, number]
  const [offsetHour, offsetMinute] = [Number(match[5] ?? 0), Number(match[6] ?? 0)]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false
  if (second < 60) return true
  const offset = (match[4] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute)
  return (hour * 60 + minute - offset + DAY_MINUTES) % DAY_MINUTES === DAY_MINUTES - 1
}

function isDateTime(text: string): boolean {
  return /^[Tt]$/.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11))
}

const DURATION =
  /^P(?!$)(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)$/

/** Checks a duration of RFC 3339, appendix A. */
function isDuration(text: string): boolean {
  return DURATION.test(text)
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const HOSTNAME_CHARS_MAX = 253

/** Checks a host name of RFC 1123 §2.1. */
function isHostname(text: string): boolean {
  return text.length <= HOSTNAME_CHARS_MAX && text.split('.').every((label) => LABEL.test(label))
}

const ATOM = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+$/i
const QUOTED = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/
const LOCAL_CHARS_MAX = 64

/** Checks a Mailbox of RFC 5321 §4.1.2. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const domain = text.slice(at + 1)
  if (at < 1 || local.length > LOCAL_CHARS_MAX) return false
  if (!QUOTED.test(local) && !local.split('.').every((atom) => ATOM.test(atom))) return false
  return isHostname(domain) || isAddressLiteral(domain)
}

function isAddressLiteral(domain: string): boolean {
  if (!domain.startsWith('[') || !domain.endsWith(']')) return false
  const address = domain.slice(1, -1)
  return isIPv4(address) || (/^ipv6:/i.test(address) && FORMATS['ipv6']!(address.slice(5)))
}

const URI = /^[a-z][a-z0-9+.-]*:(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is
const AUTHORITY = /^(?:([^@[\]]*)@)?(\[[^[\]@]*\]|[^@:[\]]*)(?::\d*)?$/
const URI_TEXT = /^(?:[a-z0-9._~!$&'()*+,;=:@/?-]|%[0-9a-f]{2})*$/i

/** Checks a URI of RFC 3986, which must have a scheme. */
function isUri(text: string): boolean {
  const parts = URI.exec(text)
  if (!parts) return false
  const [, authority, path, query = '', fragment = ''] = parts
  return isAuthority(authority) && [path!, query, fragment].every((part) => URI_TEXT.test(part))
}

function isAuthority(authority: string | undefined): boolean {
  if (authority === undefined) return true
  const match = AUTHORITY.exec(authority)
  if (!match) return false
  const [, user = '', host] = match
  if (!URI_TEXT.test(user)) return false
  if (!host!.startsWith('[')) return URI_TEXT.test(host!)
  const literal = host!.slice(1, -1)
  return FORMATS['ipv6']!(literal) || /^v[0-9a-f]+\.[a-z0-9._~!$&'()*+,;=:-]+$/i.test(literal)
}
