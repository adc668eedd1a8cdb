import { SpoolError } from '../errors.ts'
import type { Item } from '../notarizer/items.ts'
import type { Refused, Segment } from '../notarizer/spool.ts'

/*
 * A batch as a file: for each segment a line with its key, then a line for each record, with the text that is sent as it is.
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
 * The segments of a file. Its last line is dropped where it has no end: the power or the disk failed before that record was
 * taken. Throws SpoolError for anything else that was never written here. `everyLine`: JSON.parse has to agree.
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
      throw new SpoolError(`${path}: line ${i + 1} is none that a spool has written`)
    segment.items.push(item)
  }
  return segments.filter(({ items }) => items.length > 0)
}

/** The record's text is cut out, not parsed, so that the second request sends the same bytes as the first. */
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
