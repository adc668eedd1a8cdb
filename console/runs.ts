import type { Tallystick } from '../sdk/client.ts'
import type { LedgerRecord } from '../sdk/generated/api.ts'
import { RUN_RECORDS_MAX, SCAN_ROWS } from './limits.ts'

/*
 * Runs: records that belong together by `parent`, or by their trace.
 */

/** A record with those below it. `isOpen`: an action of which no outcome was recorded. */
export type Branch = {
  readonly record: LedgerRecord
  readonly isOpen: boolean
  readonly below: readonly Branch[]
}

export type Run = {
  readonly branches: readonly Branch[]
  readonly records: number
  readonly isWhole: boolean
}

/** A run from its first record on, whichever of its records is named. */
export async function readRun(client: Tallystick, id: string, signal: AbortSignal): Promise<Run> {
  const { record, ancestors } = await client.records.tree(id, { limit: 1 }, { signal })
  const records = [ancestors[0] ?? record]
  let isWhole = true
  // Grows as it is read: children of children follow.
  for (const { id: parent } of records) {
    if (records.length >= RUN_RECORDS_MAX) {
      isWhole = false
      break
    }
    const children = client.records.list({ parent, order: 'asc', limit: SCAN_ROWS }, { signal })
    for await (const child of children) {
      if (records.length < RUN_RECORDS_MAX) records.push(child)
      else isWhole = false
      if (!isWhole) break
    }
  }
  return { branches: branchesOf(records), records: records.length, isWhole }
}

export async function readTrace(client: Tallystick, traceId: string, signal: AbortSignal): Promise<Run> {
  const list = client.records.list({ traceId, order: 'asc', limit: SCAN_ROWS }, { signal })
  const found = await list.toArray(RUN_RECORDS_MAX + 1)
  const records = found.slice(0, RUN_RECORDS_MAX)
  return { branches: branchesOf(records), records: records.length, isWhole: found.length <= RUN_RECORDS_MAX }
}

/** Records whose parent is not among them are at the top. */
export function branchesOf(records: readonly LedgerRecord[]): Branch[] {
  const byParent = new Map<string | null, LedgerRecord[]>()
  const ids = new Set(records.map(({ id }) => id))
  for (const record of records) {
    const parent = record.parent !== null && ids.has(record.parent) ? record.parent : null
    byParent.set(parent, [...(byParent.get(parent) ?? []), record])
  }
  const branch = (record: LedgerRecord): Branch => {
    const below = (byParent.get(record.id) ?? []).map(branch)
    return { record, isOpen: isAction(record) && !below.some(({ record }) => isOutcome(record)), below }
  }
  return (byParent.get(null) ?? []).map(branch)
}

export function isAction({ type }: LedgerRecord): boolean {
  return type === 'agent-action/1'
}

export function isOutcome({ type }: LedgerRecord): boolean {
  return type === 'agent-outcome/1'
}
