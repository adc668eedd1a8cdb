import { BATCH_PARENTS_MAX, BATCH_TYPES_MAX } from '../../src/proof/request-limits.ts'
import type { MeasuredItem } from './items.ts'
import type { Limits } from './options.ts'
import type { SpooledBatch } from './spool.ts'

/** The server takes 4 MiB, but what is put before servers often 1 MiB only. 1000 usual records have half of that. */
const BATCH_BYTES_MAX = 1_000_000

/** Begun, and not settled: `settled` when all of it is recorded or refused. */
export type Pending = {
  readonly spooled: SpooledBatch
  readonly settled: Promise<void>
  readonly settle: () => void
}

/** The batch that takes records, until it is sent or full. */
export type Open = Pending & {
  readonly types: Set<string>
  readonly parents: Set<string>
  records: number
  bytes: number
  /** To be sent as soon as it may. */
  due: boolean
  timer: ReturnType<typeof setTimeout>
}

/** Whether the batch may take this as well. */
export function fits(open: Open, item: MeasuredItem, { recordsPerBatchMax }: Limits): boolean {
  return (
    open.records < recordsPerBatchMax &&
    open.bytes + open.records + item.bytes <= BATCH_BYTES_MAX &&
    (open.types.has(item.type) || open.types.size < BATCH_TYPES_MAX) &&
    (item.parent === undefined || open.parents.has(item.parent) || open.parents.size < BATCH_PARENTS_MAX)
  )
}

/** Counts a record that the batch has taken. */
export function count(open: Open, { type, parent, bytes }: MeasuredItem): void {
  open.types.add(type)
  if (parent !== undefined) open.parents.add(parent)
  open.records++
  open.bytes += bytes
}

export function makePending(spooled: SpooledBatch): Pending {
  const { promise, resolve } = makeDeferred()
  return { spooled, settled: promise, settle: resolve }
}

export function makeDeferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
