import { BATCH_PARENTS_MAX, BATCH_TYPES_MAX } from '../../src/proof/request-limits.ts'
import type { MeasuredItem } from './items.ts'
import type { Limits } from './options.ts'
import type { SpooledBatch } from './spool.ts'

/**
 * Maximum size of a batch in bytes. The server accepts 4 MiB, but many proxies only 1 MiB. 1000 typical records have
 * half of this size.
 */
const BATCH_BYTES_MAX = 1_000_000

/** A batch that is not settled yet. `settled` resolves when every record is recorded or refused. */
export type Pending = {
  readonly spooled: SpooledBatch
  readonly settled: Promise<void>
  readonly settle: () => void
}

/** The batch to which records are added, until it is sent or full. */
export type Open = Pending & {
  readonly types: Set<string>
  readonly parents: Set<string>
  records: number
  bytes: number
  /** True if the batch must be sent as soon as possible. */
  due: boolean
  timer: ReturnType<typeof setTimeout>
}

export function fits(open: Open, item: MeasuredItem, { recordsPerBatchMax }: Limits): boolean {
  return (
    open.records < recordsPerBatchMax &&
    open.bytes + open.records + item.bytes <= BATCH_BYTES_MAX &&
    (open.types.has(item.type) || open.types.size < BATCH_TYPES_MAX) &&
    (item.parent === undefined || open.parents.has(item.parent) || open.parents.size < BATCH_PARENTS_MAX)
  )
}

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
