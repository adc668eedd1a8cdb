import type pg from 'pg'
import { findDepth, listAncestors, listEntriesOfRecord } from '../db/read-lineage.ts'
import { findRecord } from '../db/read-records.ts'
import { type Place, searchRecords } from '../db/search-records.ts'
import { toUuid } from '../db/uuid.ts'
import { ApiError } from '../errors.ts'
import { PAGE_BYTES_MAX, PARENT_DEPTH_MAX } from '../limits.ts'
import { isId, parseId } from '../proof/ids.ts'
import { isVisible, renderRow } from './read.ts'

type Pools = { readonly readPool: pg.Pool; readonly searchPool: pg.Pool }

/** Which record of which ledger, for a caller who sees the records of `ownAgent` only, or all: null. */
type About = {
  readonly ledgerId: Uint8Array
  readonly recordId: Uint8Array
  readonly ownAgent: Uint8Array | null
}

export type ParentRecord = { readonly record: string; readonly recordId: Uint8Array }

/** The record that a new one names as its parent. Throws ApiError unless it is there, and not too deep already. */
export async function resolveParent(
  readPool: pg.Pool,
  ledgerId: Uint8Array,
  record: string | undefined,
): Promise<ParentRecord | null> {
  if (record === undefined) return null
  const recordId = isId('rec', record) ? parseId('rec', record) : null
  const depth = recordId && (await findDepth(readPool, ledgerId, recordId))
  if (recordId === null || depth === null)
    throw new ApiError('unknown_parent', `the ledger has no record ${record}`)
  if (depth >= PARENT_DEPTH_MAX)
    throw new ApiError(
      'parent_too_deep',
      `${record} is ${depth} records deep: at most ${PARENT_DEPTH_MAX} are taken`,
    )
  return { record, recordId }
}

/** The record, its ancestors from the first one on, and a page of its children, newest first; null: no such record. */
export async function findTree(
  { readPool, searchPool }: Pools,
  { ledgerId, recordId, ownAgent }: About,
  page: { after: Place | null; limit: number },
) {
  const row = await findRecord(readPool, ledgerId, recordId)
  if (!row || !isVisible(row, ownAgent)) return null
  const ancestors = row.parent_id === null ? [] : await listAncestors(readPool, ledgerId, recordId)
  const filters = { parent: toUuid(recordId), ...(ownAgent && { ownAgent: toUuid(ownAgent) }) }
  const children = await searchRecords(searchPool, ledgerId, { filters, order: 'desc', ...page })
  const render = (of: typeof row) => renderRow(ledgerId, of)
  return {
    record: render(row),
    ancestors: ancestors
      .filter((ancestor) => isVisible(ancestor, ownAgent))
      .reverse()
      .map(render),
    children: children.rows.map(render),
    next: children.next,
  }
}

/** Entries of the record's own chain after `afterSeq`, oldest first; null: no such record. */
export async function listRecordEntries(
  readPool: pg.Pool,
  { ledgerId, recordId, ownAgent }: About,
  page: { afterSeq: number; limit: number },
) {
  const row = await findRecord(readPool, ledgerId, recordId)
  if (!row || !isVisible(row, ownAgent)) return null
  const rows = await listEntriesOfRecord(readPool, ledgerId, recordId, { ...page, bytesMax: PAGE_BYTES_MAX })
  const entries = rows.map((entry) => ({
    seq: Number(entry.seq),
    kind: entry.kind,
    recordedAt: entry.recorded_at.toISOString(),
    leaf: entry.leaf.toString('hex'),
    chain: entry.chain.toString('hex'),
    envelope: entry.envelope.toString('base64'),
  }))
  const last = entries.at(-1)
  return { entries, nextSeq: last === undefined || last.seq >= Number(row.seq) ? null : last.seq }
}
