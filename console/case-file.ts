import { announceExport } from '../sdk/announce.ts'
import { TallystickError } from '../sdk/errors.ts'
import { CASE_FILE_PART_CHARS } from './limits.ts'
import type { Session } from './session.ts'

const DAY_MS = 86_400_000

/**
 * Period and filters of a case file. `from` and `to` are days in UTC, and the period includes both days. Empty filters
 * are ignored.
 */
export type CaseFileRequest = {
  readonly from: string
  readonly to: string
  readonly agent: string
  readonly type: string
  readonly trace: string
  readonly documents: boolean
}

/** A finished case file. `content`: the bytes, which the browser stores in memory or on disk. */
export type CaseFile = { readonly name: string; readonly content: Blob; readonly isAnnounced: boolean }

/**
 * Makes the bundle of a period (docs/formats/bundles.md), like `tallystick bundle --from --to`. `onEntries`: called
 * with the number of entries read so far. Throws TallystickError for a period without entries.
 */
export async function makeCaseFile(
  { client, ledger }: Session,
  { from, to, documents, ...filters }: CaseFileRequest,
  onEntries: (entries: number) => void,
  signal: AbortSignal,
): Promise<CaseFile> {
  const [newest] = await client.checkpoints.list({ limit: 1 }, { signal }).toArray(1)
  if (!newest) throw new TallystickError('the ledger has no checkpoint yet: try again in a few seconds')
  const { size } = newest
  const first = await client.entries.firstSince(Date.parse(from), size, { signal })
  const last = (await client.entries.firstSince(Date.parse(to) + DAY_MS, size, { signal })) - 1
  if (first > last) throw new TallystickError('the ledger has no entry in that period')
  const filter = Object.fromEntries(
    Object.entries(filters).filter(([, value]) => value.trim() !== ''),
  ) as Partial<typeof filters>
  const range = { from: first, to: last }
  const isAnnounced = await announceExport(client, { of: filter, ...range, documents }, { signal })
  const request = { size, documents, tool: 'tallystick console', signal }
  const lines =
    Object.keys(filter).length > 0
      ? client.bundles.filter({ ...range, ...filter }, request)
      : client.bundles.range(first, last, request)
  return { name: `${ledger.id}-${from}-${to}.bundle`, content: await gather(lines, onEntries), isAnnounced }
}

/** Collects lines in a file. The parts are Blobs, because a browser can store Blobs outside the page's memory. */
async function gather(lines: AsyncIterable<string>, onEntries: (entries: number) => void): Promise<Blob> {
  const parts: Blob[] = []
  let part = ''
  let entries = 0
  for await (const line of lines) {
    part += line
    entries++
    if (part.length < CASE_FILE_PART_CHARS) continue
    parts.push(new Blob([part]))
    part = ''
    onEntries(entries)
  }
  return new Blob([...parts, part])
}
