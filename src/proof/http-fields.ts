/**
 * Parsers of HTTP fields that are lists, dates or tags (RFC 9110 §5.5 to §5.6). The server, the connector and the SDK
 * use only these parsers. The parsers never throw, because a sender may put anything into a field.
 */

/** An HTTP field as a library returns it: one text, one text for each line, or nothing. */
export type FieldValue = string | readonly string[] | null | undefined

/** An entity tag (RFC 9110 §8.8.3). `opaque` is the text between the quotes. */
export type EntityTag = { readonly weak: boolean; readonly opaque: string }

/**
 * Returns the elements of a list (RFC 9110 §5.6.1). A comma within a quoted string is part of its element. Empty
 * elements are left out.
 */
export function listOf(value: FieldValue): string[] {
  return linesOf(value)
    .flatMap(elementsOf)
    .map(trimSpaces)
    .filter((element) => element !== '')
}

/**
 * Splits a line at its commas, in one pass. A regular expression would take quadratic time on quoted strings that do
 * not end.
 */
function elementsOf(line: string): string[] {
  const elements: string[] = []
  let start = 0
  let quoted = false
  for (let at = 0; at < line.length; at++) {
    const character = line[at]
    if (character === '"') quoted = !quoted
    else if (quoted && character === '\\') at++
    else if (!quoted && character === ',') {
      elements.push(line.slice(start, at))
      start = at + 1
    }
  }
  return [...elements, line.slice(start)]
}

/**
 * Returns the type and subtype of Content-Type in lower case, without parameters (RFC 9110 §8.3.1). Returns '' if the
 * field is absent.
 */
export function mediaTypeOf(value: string | null | undefined): string {
  return trimSpaces((value ?? '').split(';', 1)[0]!).toLowerCase()
}

/**
 * Returns the weight, 0 to 1, that Accept gives a media type (RFC 9110 §12.5.1). 0 means that the type is not accepted.
 * If several ranges match, the most specific range counts. An absent field accepts everything. Parameters other than
 * `q` are ignored.
 */
export function acceptWeightOf(value: FieldValue, type: string): number {
  const ranges = listOf(value).map((range) => ({ range: mediaTypeOf(range), weight: weightOf(range) }))
  if (ranges.length === 0) return 1
  const [main] = type.split('/', 1)
  for (const range of [type, `${main}/*`, '*/*']) {
    const weights = ranges.filter((each) => each.range === range).map(({ weight }) => weight)
    if (weights.length > 0) return weights.reduce((a, b) => Math.max(a, b))
  }
  return 0
}

/** Returns the weight of a range. The weight is 1 if the range has no valid `q`. */
function weightOf(range: string): number {
  const [, weight] = /;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*(?:;|$)/i.exec(range) ?? []
  return weight === undefined ? 1 : Number(weight)
}

/**
 * Maps each directive of Cache-Control (RFC 9111 §5.2), in lower case, to its argument without quotes. The value is
 * null if the directive has no argument.
 */
export function cacheDirectivesOf(value: FieldValue): ReadonlyMap<string, string | null> {
  const directives = new Map<string, string | null>()
  for (const element of listOf(value)) {
    const equals = element.indexOf('=')
    const name = trimSpaces(equals < 0 ? element : element.slice(0, equals)).toLowerCase()
    if (!directives.has(name)) directives.set(name, equals < 0 ? null : unquote(element.slice(equals + 1)))
  }
  return directives
}

/**
 * Returns content codings in the order in which they were applied (RFC 9110 §8.4), in lower case. `x-gzip` and
 * `x-compress` become `gzip` and `compress`. `identity` is left out.
 */
export function contentCodingsOf(value: FieldValue): string[] {
  return listOf(value)
    .map((coding) => coding.toLowerCase().replace(/^x-(?=gzip$|compress$)/, ''))
    .filter((coding) => coding !== 'identity')
}

/**
 * Returns the tags of If-Match or If-None-Match (RFC 9110 §13.1). Elements that are not tags are left out. Returns
 * `any` if the field is `*`, and null if the field is absent.
 */
export function entityTagsOf(value: FieldValue): readonly EntityTag[] | 'any' | null {
  if (value === null || value === undefined) return null
  const elements = tagElementsOf(value)
  if (elements.includes('*')) return 'any'
  return elements.flatMap((element) => {
    const match = ENTITY_TAG.exec(element)
    return match ? [{ weak: match[1] !== undefined, opaque: match[2]! }] : []
  })
}

/**
 * Returns true if the field is `*` or has a tag with this opaque text. The comparison is weak (RFC 9110 §8.8.3.2), as
 * If-None-Match requires.
 */
export function noneMatchHits(value: FieldValue, opaque: string): boolean {
  const tags = entityTagsOf(value)
  return tags === 'any' || (tags?.some((tag) => tag.opaque === opaque) ?? false)
}

/**
 * Returns the wait in ms that Retry-After demands (RFC 9110 §10.2.3), from 0 to `RETRY_AFTER_MS_MAX`. Returns null if
 * the field is absent or invalid. If there are several lines, the longest wait counts.
 */
export function retryAfterMsOf(value: FieldValue, nowMs: number): number | null {
  const waits = linesOf(value)
    .flatMap((line) => (/^[\d.\s,]*$/.test(line) ? line.split(',') : [line]))
    .map((text) => waitOf(trimSpaces(text), nowMs))
    .filter((wait) => wait !== null)
  return waits.length === 0 ? null : Math.min(RETRY_AFTER_MS_MAX, Math.max(...waits))
}

/** Longest wait in ms that `retryAfterMsOf` returns. Each caller has a shorter limit of its own. */
export const RETRY_AFTER_MS_MAX = 365 * 24 * 60 * 60 * 1000

/**
 * Returns the time of an HTTP-date, in ms since 1970. Accepts all three forms of RFC 9110 §5.6.7. Returns null for any
 * other text.
 */
export function httpDateMsOf(text: string, nowMs: number): number | null {
  const match = IMF_FIXDATE.exec(text) ?? RFC_850_DATE.exec(text) ?? ASCTIME_DATE.exec(text)
  if (!match) return null
  const { day, month, year, hour, minute, second } = match.groups as Record<string, string>
  const monthIndex = MONTHS.indexOf(month!)
  const fullYear = year!.length === 2 ? centuryOf(Number(year), nowMs) : Number(year)
  // A leap second becomes the previous second, because Date has no leap seconds.
  const at = new Date(0)
  at.setUTCFullYear(fullYear, monthIndex, Number(day))
  at.setUTCHours(Number(hour), Number(minute), Math.min(59, Number(second)))
  const isReal =
    monthIndex >= 0 &&
    at.getUTCDate() === Number(day) &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) <= 60
  return isReal ? at.getTime() : null
}

function waitOf(text: string, nowMs: number): number | null {
  // A number with a fraction is not a valid delay-seconds, but servers send it and its meaning is clear.
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000)
  const atMs = httpDateMsOf(text, nowMs)
  return atMs === null ? null : Math.max(0, atMs - nowMs)
}

/**
 * Returns the full year of a two-digit year. If the year seems to be more than 50 years in the future, it is in the
 * past (RFC 9110 §5.6.7).
 */
function centuryOf(twoDigits: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear()
  const year = now - (now % 100) + twoDigits
  return year > now + 50 ? year - 100 : year
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const TIME = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})'
/** Example: Sun, 06 Nov 1994 08:49:37 GMT */
const IMF_FIXDATE = new RegExp(
  `^[A-Z][a-z]{2}, (?<day>\\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME} GMT$`,
)
/** Example: Sunday, 06-Nov-94 08:49:37 GMT */
const RFC_850_DATE = new RegExp(
  `^[A-Z][a-z]{5,8}, (?<day>\\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\\d{2}) ${TIME} GMT$`,
)
/** Example: Sun Nov  6 08:49:37 1994 */
const ASCTIME_DATE = new RegExp(
  `^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`,
)

const ENTITY_TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/

/** Splits like `listOf`, except that a backslash in an entity tag is an ordinary character (RFC 9110 §8.8.3). */
function tagElementsOf(value: FieldValue): string[] {
  return linesOf(value).flatMap((line) => [...line.matchAll(/(?:W\/)?"[^"]*"|[^\s,]+/g)].map(([tag]) => tag))
}

function linesOf(value: FieldValue): readonly string[] {
  if (value === null || value === undefined) return []
  return typeof value === 'string' ? [value] : value
}

function unquote(text: string): string {
  const trimmed = trimSpaces(text)
  return /^".*"$/s.test(trimmed) ? trimmed.slice(1, -1).replace(/\\(.)/gs, '$1') : trimmed
}

/**
 * Trims the optional white space of HTTP: spaces and tabs (RFC 9110 §5.6.3). A regular expression would take quadratic
 * time on spaces within the text.
 */
function trimSpaces(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text[start])) start++
  while (end > start && isSpace(text[end - 1])) end--
  return text.slice(start, end)
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}
