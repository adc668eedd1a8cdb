import { type MeasuredItem, makeItem } from '../../sdk/notarizer/items.ts'
import type { Spool, SpooledBatch } from '../../sdk/notarizer/spool.ts'

export const KEY = '0123456789abcdef0123456789abcdef'

export function item(i: number, tag?: string): MeasuredItem {
  return makeItem({ i }, { tag }, 0)
}

/** A batch of these items, which takes more. */
export function begin(spool: Spool, items: readonly MeasuredItem[], key = KEY): SpooledBatch {
  const batch = spool.begin(key, items[0]!, items[0]!.bytes)
  for (const one of items.slice(1)) batch.append(one, one.bytes)
  return batch
}

export function recoverAll(spool: Spool): readonly SpooledBatch[] {
  const { batches, errors } = spool.recover()
  if (errors.length > 0) throw errors[0]
  return batches
}

/** Key and the members `i` of each segment. */
export async function contents(batch: SpooledBatch): Promise<[string, number[]][]> {
  const segments = await batch.read()
  return segments.map(({ idempotencyKey, items }) => [
    idempotencyKey,
    items.map(({ text }) => (JSON.parse(text) as { payload: { i: number } }).payload.i),
  ])
}
