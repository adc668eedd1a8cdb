import type { Tallystick } from '../sdk/client.ts'
import type { LedgerRecord } from '../sdk/generated/api.ts'
import { isAction } from './activities.ts'
import { CLOCKS_APART_MS_MAX, RUN_READS_MAX, RUN_RECORDS_MAX, SCAN_ROWS } from './limits.ts'

/* Reads runs: records connected by `parent`, or by their trace. */

/** Records of a run that were read so far. The list grows while the run is read. */
export type Run = {
  readonly records: readonly LedgerRecord[]
  /** Returns whether all records below a record were read. */
  readonly isRead: (id: string) => boolean
  readonly state: 'reading' | 'whole' | 'cut'
}

type Show = (run: Run) => void

/** Reads the whole run of a record, from the run's root. `show`: called with the records read so far. */
export async function readRun(
  client: Tallystick,
  id: string,
  show: Show,
  signal: AbortSignal,
): Promise<void> {
  const { record, ancestors } = await client.records.tree(id, { limit: 1 }, { signal })
  const found = new RunCollector(ancestors[0] ?? record, show)
  const isWhole = await readChain(client, found, signal)
  if (!isWhole) await readBelow(client, found, signal)
  found.showAs(found.isFull ? 'cut' : 'whole', isWhole)
}

/** Collects the records of a run. */
class RunCollector {
  readonly root: LedgerRecord
  readonly records: LedgerRecord[]
  readonly read = new Set<string>()
  isFull = false
  readonly #ids: Set<string>
  readonly #show: Show

  constructor(root: LedgerRecord, show: Show) {
    this.root = root
    this.records = [root]
    this.#ids = new Set([root.id])
    this.#show = show
  }

  /**
   * Adds the records that belong to the run. `taken`: number of these records. `fresh`: those of them that were not
   * added before.
   */
  add(records: readonly LedgerRecord[]): { readonly taken: number; readonly fresh: readonly LedgerRecord[] } {
    let taken = 0
    const fresh: LedgerRecord[] = []
    for (const record of records) {
      if (record.parent === null || !this.#ids.has(record.parent)) continue
      taken++
      if (this.#ids.has(record.id)) continue
      this.isFull ||= this.records.length >= RUN_RECORDS_MAX
      if (this.isFull) break
      this.#ids.add(record.id)
      this.records.push(record)
      fresh.push(record)
    }
    if (fresh.length > 0) this.showAs('reading')
    return { taken, fresh }
  }

  showAs(state: Run['state'], isWhole = false): void {
    this.#show({ records: this.records, isRead: (id) => isWhole || this.read.has(id), state })
  }
}

/**
 * Reads the chain from the root of the run. Stops when most records belong to other runs. Returns true if it reached
 * the end of the ledger, because the run is then complete.
 */
async function readChain(client: Tallystick, found: RunCollector, signal: AbortSignal): Promise<boolean> {
  const { root } = found
  const recordedAfter = new Date(Date.parse(root.recordedAt) - CLOCKS_APART_MS_MAX).toISOString()
  const query = { recordedAfter, order: 'asc', limit: SCAN_ROWS } as const
  let isBehindRoot = false
  for await (const { data, nextCursor } of client.records.list(query, { signal }).pages()) {
    const at: number = isBehindRoot ? -1 : data.findIndex(({ id }) => id === root.id)
    isBehindRoot ||= at >= 0
    const behind = isBehindRoot ? data.slice(at + 1) : []
    const { taken } = found.add(behind)
    if (found.isFull || !isBehindRoot) return false
    if (nextCursor === null) return true
    if (taken < behind.length / 2) return false
  }
  return false
}

/** Reads the records below each record. Actions come first, because their outcomes are not known yet. */
async function readBelow(client: Tallystick, found: RunCollector, signal: AbortSignal): Promise<void> {
  let level: readonly LedgerRecord[] = [...found.records]
  while (level.length > 0 && !found.isFull) {
    const next: LedgerRecord[] = []
    const parents = [...level.filter(isAction), ...level.filter((one) => !isAction(one))]
    const readNext = async () => {
      for (let parent = parents.shift(); parent !== undefined; parent = parents.shift()) {
        const list = client.records.list({ parent: parent.id, order: 'asc', limit: SCAN_ROWS }, { signal })
        for await (const { data } of list.pages()) {
          next.push(...found.add(data).fresh)
          if (found.isFull) return
        }
        found.read.add(parent.id)
      }
    }
    await Promise.all(Array.from({ length: RUN_READS_MAX }, readNext))
    level = next
  }
}

export async function readTrace(
  client: Tallystick,
  traceId: string,
  show: Show,
  signal: AbortSignal,
): Promise<void> {
  const records: LedgerRecord[] = []
  let isCut = false
  const list = client.records.list({ traceId, order: 'asc', limit: SCAN_ROWS }, { signal })
  for await (const { data } of list.pages()) {
    const room = data.slice(0, RUN_RECORDS_MAX - records.length)
    records.push(...room)
    isCut = room.length < data.length
    if (isCut) break
    show({ records, isRead: () => false, state: 'reading' })
  }
  show({ records, isRead: () => !isCut, state: isCut ? 'cut' : 'whole' })
}
