import { SpoolError } from '../errors.ts'
import type { Item } from '../notarizer/items.ts'
import type { Refused, Segment } from '../notarizer/spool.ts'

/*
 * The format of a batch file. Each segment has one line with its key, followed by one line for each record. The line of
 * a record contains the exact text that is sent.
 *
 *     {"idempotencyKey":"0123456789abcdef0123456789abcdef"}
 *     {"record":{"type":"generic/1","payload":{…},"occurredAt":"…"}}
 *     {"tag":"order 7","record":{…}}
 *     {"handle":"call-1","record":{…}}
 *     {"parentHandle":"call-1","record":{…}}
 */

export function formatKey(idempotencyKey: string): string {
  return `{"idempotencyKey":${JSON.stringify(idempotencyKey)}}\n`
}

export function formatItem({ text, tag, handle, parentHandle }: Item): string {
  const named = tag === undefined ? '' : `"tag":${JSON.stringify(tag)},`
  const own = handle === undefined ? '' : `"handle":"${handle}",`
  const parent = parentHandle === undefined ? '' : `"parentHandle":"${parentHandle}",`
  return `{${named}${own}${parent}"record":${text}}\n`
}

export function formatSegments(segments: readonly Segment[]): string {
  return segments
    .map(({ idempotencyKey, items }) => formatKey(idempotencyKey) + items.map(formatItem).join(''))
    .join('')
}

export function formatRefused({ item, problem, idempotencyKey }: Refused, refusedAt: string): string {
  const why = JSON.stringify({
    refusedAt,
    idempotencyKey,
    problem,
    ...(item.tag !== undefined && { tag: item.tag }),
  })
  return `${why.slice(0, -1)},"record":${item.text}}\n`
}

const KEY_LINE = /^\{"idempotencyKey":"([0-9a-f]{32})"\}$/
const RECORD = '{"record":'
const NAMED =
  /^\{(?:"tag":("(?:[^"\\]|\\.)*"),)?(?:"handle":"([!#-[\]-~]{1,255})",)?(?:"parentHandle":"([!#-[\]-~]{1,255})",)?"record":/

/**
 * Returns the segments of a file. Ignores a last line without a newline: its write was interrupted, so its record was
 * never accepted. Throws SpoolError for any other line that does not have the format of a spool. With `is JSON`, each
 * record must also be valid JSON.
 */
export function parseSegments(path: string, text: string, everyLine: 'is JSON' | 'is as written'): Segment[] {
  const lines = text.split('\n')
  lines.pop()
  const segments: { idempotencyKey: string; items: Item[] }[] = []
  for (const [i, line] of lines.entries()) {
    const key = KEY_LINE.exec(line)?.[1]
    if (key !== undefined) {
      segments.push({ idempotencyKey: key, items: [] })
      continue
    }
    const item = parseItem(line)
    const segment = segments.at(-1)
    if (item === null || segment === undefined || (everyLine === 'is JSON' && !isRecord(line)))
      throw new SpoolError(`${path}: line ${i + 1} was not written by a spool`)
    segment.items.push(item)
  }
  return segments.filter(({ items }) => items.length > 0)
}

/** Parses the line of a record. The record's text is copied without parsing, so that a retry sends the same bytes. */
function parseItem(line: string): Item | null {
  if (!line.endsWith('}}')) return null
  if (line.startsWith(RECORD))
    return { text: line.slice(RECORD.length, -1), tag: undefined, handle: undefined, parentHandle: undefined }
  const found = NAMED.exec(line)
  if (found === null) return null
  const [about, tag, handle, parentHandle] = found
  const named = { tag: tag === undefined ? undefined : (JSON.parse(tag) as string), handle, parentHandle }
  return { text: line.slice(about.length, -1), ...named }
}

function isRecord(line: string): boolean {
  try {
    const { record } = JSON.parse(line) as { record: { type: unknown; payload: unknown } }
    return typeof record.type === 'string' && typeof record.payload === 'object'
  } catch {
    return false
  }
}
