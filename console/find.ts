import type { Tallystick } from '../sdk/client.ts'
import { ApiError } from '../sdk/errors.ts'
import type { GetRecordsQuery, LedgerRecord } from '../sdk/generated/api.ts'
import { PAGE_ROWS, SCAN_RECORDS_MAX, SCAN_ROWS } from './limits.ts'

/*
 * Finds records by a text. The server has indexes only of whole references and of persons' labels. This module searches
 * all other members, record by record, newest first.
 */

/**
 * A found record. `where`: the member that contains the text, such as `payload.customer`, or null if the search has no
 * text.
 */
export type FoundRecord = { readonly record: LedgerRecord; readonly where: string | null }

export type Findings = {
  readonly found: readonly FoundRecord[]
  /** Number of records that were read in full. Records found by an index do not count. */
  readonly read: number
  /** Number of read records whose payload is erased or was never shared. Texts in such payloads cannot be found. */
  readonly withoutPayload: number
  /** `recordedAt` of the last record that was read. */
  readonly readTo: string | null
  /** Cursor of the records that are not read yet, or null if all records were read. */
  readonly next: string | null
}

const NOTHING: Findings = { found: [], read: 0, withoutPayload: 0, readTo: null, next: null }

/**
 * Yields all findings so far after each request. Ends when one page of records is found, after `SCAN_RECORDS_MAX`
 * records, or when all records were read. `from`: earlier findings with which the search continues.
 */
export async function* find(
  client: Tallystick,
  { text, filters }: { readonly text: string; readonly filters: Omit<GetRecordsQuery, 'cursor' | 'limit'> },
  from: Findings | null,
  signal: AbortSignal,
): AsyncGenerator<Findings, void, undefined> {
  const list = client.records.list({ ...filters, limit: text === '' ? PAGE_ROWS : SCAN_ROWS }, { signal })
  let now = from ?? NOTHING
  if (from === null && text !== '') {
    now = { ...NOTHING, found: await findByIndex(client, text, filters, signal) }
    yield now
  }
  const known = new Set(now.found.map(({ record }) => record.id))
  const enough = now.found.length + PAGE_ROWS
  const end = now.read + SCAN_RECORDS_MAX
  do {
    const { data, nextCursor } = await list.page(now.next ?? undefined)
    const found = data
      .filter(({ id }) => !known.has(id))
      .map((record) => ({ record, where: text === '' ? null : whereIs(record, text) }))
      .filter(({ where }) => text === '' || where !== null)
    now = {
      found: [...now.found, ...found],
      read: now.read + data.length,
      withoutPayload: now.withoutPayload + data.filter(({ payload }) => payload === null).length,
      readTo: data.at(-1)?.recordedAt ?? now.readTo,
      next: nextCursor,
    }
    yield now
  } while (now.next !== null && now.found.length < enough && now.read < end)
}

/**
 * Returns records that have the text as a reference. Without filters, also returns records of the person with that
 * label.
 */
async function findByIndex(
  client: Tallystick,
  text: string,
  filters: GetRecordsQuery,
  signal: AbortSignal,
): Promise<FoundRecord[]> {
  const hasFilters = Object.keys(filters).some((name) => name !== 'order')
  const [referring, ofPerson] = await Promise.all([
    filters.reference === undefined ? readReferring(client, text, filters, signal) : [],
    hasFilters ? [] : readOfPerson(client, text, signal),
  ])
  const records = new Map<string, FoundRecord>()
  for (const record of ofPerson) records.set(record.id, { record, where: 'label of the person' })
  for (const record of referring) records.set(record.id, { record, where: 'references' })
  const direction = filters.order === 'asc' ? -1 : 1
  return [...records.values()].sort(
    (one, other) => direction * other.record.recordedAt.localeCompare(one.record.recordedAt),
  )
}

async function readReferring(
  client: Tallystick,
  reference: string,
  filters: GetRecordsQuery,
  signal: AbortSignal,
): Promise<readonly LedgerRecord[]> {
  const list = client.records.list({ ...filters, reference, limit: PAGE_ROWS }, { signal })
  return (await list.page().catch(noneWhereRefused)).data
}

async function readOfPerson(
  client: Tallystick,
  label: string,
  signal: AbortSignal,
): Promise<readonly LedgerRecord[]> {
  const { data } = await client.subjects.find(label, { signal }).page().catch(noneWhereRefused)
  return Promise.all(data.slice(0, PAGE_ROWS).map(({ record }) => client.records.get(record, { signal })))
}

/**
 * Returns no records if the server's error means that the text is not a valid reference or label, or that the key may
 * not search. Throws every other error.
 */
function noneWhereRefused(error: unknown): { readonly data: [] } {
  if (error instanceof ApiError && [400, 403, 422].includes(error.status)) return { data: [] }
  throw error
}

/** Names of the members that are searched. The page shows this text. */
export const READ_MEMBERS = 'types, references, payloads, deliveries, reasons and metadata'

/**
 * Returns the path of the first member that contains the text, ignoring case. Returns null if no member contains the
 * text.
 */
export function whereIs(record: LedgerRecord, text: string): string | null {
  const wanted = plain(text)
  const { type, references, payload, metadata, gated } = record
  const reasons = [gated?.verdict, gated?.overturn, gated?.revision, gated?.cancellation]
  const members = {
    type,
    references,
    payload,
    delivered: gated?.completion?.evidence,
    reason: reasons.map((step) => step?.reason),
    metadata,
  }
  for (const [name, value] of Object.entries(members)) {
    const where = pathTo(value, wanted, name)
    if (where !== null) return where
  }
  return null
}

/** Normalizes a text for comparison: NFC, lower case. */
function plain(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/**
 * Returns the path of the value that contains the text. The path has no indexes of lists, because readers know members
 * by name.
 */
function pathTo(value: unknown, wanted: string, path: string): string | null {
  if (value === null || value === undefined) return null
  if (typeof value !== 'object') return plain(String(value)).includes(wanted) ? path : null
  for (const [name, member] of Object.entries(value)) {
    const isList = Array.isArray(value)
    const below = isList ? path : `${path}.${name}`
    if (!isList && plain(name).includes(wanted)) return below
    const where = pathTo(member, wanted, below)
    if (where !== null) return where
  }
  return null
}
