import type { Db } from '../../db/connect/client.ts'
import { PAGE_BYTES_MAX, PARENT_DEPTH_MAX } from '../../db/limits.ts'
import {
  Depths,
  listAncestors,
  listEntriesOfRecord,
  type RecordStepRow,
} from '../../db/records/read-lineage.ts'
import type { RecordPosition } from '../../db/records/search.ts'
import { searchRecords } from '../../db/records/search-records.ts'
import type { Searches } from '../../db/records/searches.ts'
import { ApiError } from '../../errors.ts'
import { isId, parseId, type Uuid } from '../../proof/ids.ts'
import { BATCH_PARENTS_MAX } from '../../proof/request-limits.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'
import { toBase64Url, toHex } from '../../signing/text-of-bytes.ts'
import { PARENT_CHUNKS_MAX } from '../limits.ts'
import { isVisible, type RenderDeps, renderRows } from '../read/read.ts'
import { quotePlain } from '../read/render.ts'

type LineageDeps = RenderDeps & { readonly readPool: Db; readonly searches: Searches }

/**
 * A record of a ledger, and who requests it. `ownAgent`: the only agent whose records the caller may see; null if the
 * caller may see all records.
 */
type RecordRef = {
  readonly ledgerId: Uuid
  readonly recordId: Uuid
  readonly ownAgent: Uuid | null
}

/** A parent record. `depth`: its level, counted from the first ancestor. A record without a parent has depth 1. */
export type ParentRecord = { readonly record: string; readonly recordId: Uuid; readonly depth: number }

/**
 * Returns the parent that a new record names. Throws ApiError if the parent does not exist or has too many ancestors.
 */
export async function resolveParent(
  readPool: Db,
  ledgerId: Uuid,
  record: string | undefined,
): Promise<ParentRecord | null> {
  if (record === undefined) return null
  return findParent(new Depths(readPool, ledgerId, PARENT_CHUNKS_MAX), record, {})
}

async function findParent(
  depths: Depths,
  record: string,
  members: Record<string, unknown>,
): Promise<ParentRecord> {
  const recordId = isId('rec', record) ? parseId('rec', record) : null
  const depth = recordId && (await depths.find(recordId))
  if (recordId === null || depth === null)
    throw new ApiError('unknown_parent', `the ledger has no record ${record}`, { members })
  if (depth === 'unknown') {
    const detail = `the ancestors of the parents are in more than ${PARENT_CHUNKS_MAX} chunks of batches: name fewer parents`
    throw new ApiError('parent_too_deep', detail, { members })
  }
  if (depth >= PARENT_DEPTH_MAX) {
    const detail = `${record} is at level ${depth} of its tree; at most ${PARENT_DEPTH_MAX} levels are allowed`
    throw new ApiError('parent_too_deep', detail, { members })
  }
  return { record, recordId, depth }
}

/**
 * Returns the parents that the items of a batch name. Maps each named id to its record. Throws ApiError for the first
 * invalid parent.
 */
export async function resolveParents(
  readPool: Db,
  ledgerId: Uuid,
  named: readonly (string | number | null)[],
): Promise<ReadonlyMap<string, ParentRecord>> {
  const depths = new Depths(readPool, ledgerId, PARENT_CHUNKS_MAX)
  const parents = new Map<string, ParentRecord>()
  for (const [index, record] of named.entries()) {
    if (typeof record !== 'string' || parents.has(record)) continue
    const members = { path: `/records/${index}/parent`, index }
    if (parents.size === BATCH_PARENTS_MAX) {
      const detail = `a batch can name at most ${BATCH_PARENTS_MAX} records outside it as parents`
      throw new ApiError('invalid_request', detail, { members })
    }
    parents.set(record, await findParent(depths, record, members))
  }
  return parents
}

/**
 * Returns the record, its ancestors from the first one on, and a page of its children, newest first. Returns null if
 * the record does not exist.
 */
export async function findTree(
  deps: LineageDeps,
  { ledgerId, recordId, ownAgent }: RecordRef,
  page: { after: RecordPosition | null; limit: number },
) {
  const { readPool, searches, lookups } = deps
  const row = await lookups.findRecord(ledgerId, recordId)
  if (!row || !isVisible(row, ownAgent)) return null
  const ancestors = row.parentId === null ? [] : await listAncestors(readPool, ledgerId, recordId)
  const filters = { parent: recordId, ...(ownAgent && { ownAgent }) }
  const children = await searchRecords(searches, ledgerId, { filters, order: 'desc', ...page })
  const above = ancestors.filter((ancestor) => isVisible(ancestor, ownAgent)).reverse()
  const [record, ...others] = await renderRows(deps, ledgerId, [row, ...above, ...children.rows])
  return {
    record: record!,
    ancestors: others.slice(0, above.length),
    children: others.slice(above.length),
    next: children.next,
  }
}

/**
 * Returns the record's own entries after `afterVersion` as JSON texts, oldest first. Returns null if the record does
 * not exist.
 */
export async function listRecordEntries(
  { readPool, lookups }: Pick<LineageDeps, 'readPool' | 'lookups'>,
  { ledgerId, recordId, ownAgent }: RecordRef,
  page: { afterVersion: number; limit: number },
): Promise<{ readonly entries: readonly string[]; readonly nextVersion: number | null } | null> {
  const row = await lookups.findRecord(ledgerId, recordId)
  if (!row || !isVisible(row, ownAgent)) return null
  const rows = await listEntriesOfRecord(readPool, ledgerId, recordId, { ...page, bytesMax: PAGE_BYTES_MAX })
  const last = rows.at(-1)
  const isWhole = last === undefined || last.version >= row.version
  return { entries: rows.map(renderEntryLine), nextVersion: isWhole ? null : last.version }
}

function renderEntryLine(row: RecordStepRow): string {
  return (
    `{"seq":${row.seq},"kind":"${row.kind}","recordedAt":"${row.recordedAt.toISOString()}",` +
    `"leaf":"${toHex(row.leaf)}","chain":"${toHex(row.chain)}","envelope":"${row.envelope.toString('base64')}","signedBy":"${row.signedBy}",` +
    `"document":${renderDocument(row)}}`
  )
}

function renderDocument({ document, subjectId, digest, salt, content, erasedSeq }: RecordStepRow): string {
  if (document === null) return 'null'
  const subject = formatDocumentSubject(document, subjectId!)
  return (
    `{"subject":"${subject}","digest":"${toHex(digest!)}","salt":${quotePlain(salt && toBase64Url(salt))},` +
    `"document":${content?.toString('utf8') ?? 'null'},"erasedBy":${erasedSeq ?? 'null'}}`
  )
}
