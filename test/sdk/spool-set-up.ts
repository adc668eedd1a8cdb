import { readdirSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'
import type { Problem } from '../../sdk/generated/api.ts'
import { type MeasuredItem, makeItem } from '../../sdk/notarizer/items.ts'
import type { Spool, SpooledBatch } from '../../sdk/notarizer/spool.ts'

export const KEY = '0123456789abcdef0123456789abcdef'

export function item(i: number, tag?: string): MeasuredItem {
  return makeItem({ i }, { tag }, 0)
}

/** Returns the names of the files in a spool, without its reserve. */
export function namesIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => !/^reserve\.\d$/.test(name))
    .sort()
}

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

/** Returns each segment's key, and the member `i` of the segment's items. */
export async function contents(batch: SpooledBatch): Promise<[string, number[]][]> {
  const segments = await batch.read()
  return segments.map(({ idempotencyKey, items }) => [
    idempotencyKey,
    items.map(({ text }) => (JSON.parse(text) as { payload: { i: number } }).payload.i),
  ])
}

export const PROBLEM: Problem = {
  type: 'https://tallystick.dev/errors/unknown_type',
  title: 'The ledger has no such type',
  status: 422,
  detail: 'no',
  code: 'unknown_type',
  requestId: `req_${'0'.repeat(32)}`,
  retryable: false,
}

/** Replaces a function of a module by a faulty one, until the returned function is called or the test ends. */
export function injectFault<Module extends object>(
  t: TestContext,
  module: Module,
  name: keyof Module,
  fault: (...args: never[]) => unknown,
): () => void {
  const mock = t.mock.method(module as Record<string, () => unknown>, name as string, fault)
  const mend = () => {
    mock.mock.restore()
    syncBuiltinESMExports()
  }
  syncBuiltinESMExports()
  t.after(mend)
  return mend
}

export const diskFull = () => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
