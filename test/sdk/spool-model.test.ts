import assert from 'node:assert/strict'
import { appendFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { openSpool } from '../../sdk/node/spool.ts'
import type { SpooledBatch } from '../../sdk/notarizer/spool.ts'
import { runs } from '../helpers/runs.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { begin, contents, item, recoverAll } from './spool-set-up.ts'

type Step =
  | { readonly kind: 'take' }
  | { readonly kind: 'seal' }
  | { readonly kind: 'sent' }
  | { readonly kind: 'refused'; readonly index: number }
  | { readonly kind: 'crash'; readonly torn: string }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: 'take' } as const) },
  { weight: 2, arbitrary: fc.constant({ kind: 'seal' } as const) },
  { weight: 2, arbitrary: fc.constant({ kind: 'sent' } as const) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('refused' as const), index: fc.nat(5) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('crash' as const),
      torn: fc.constantFrom(
        '',
        '{"record":{"type"',
        '{"record":{"type":"generic/1","payload":{"i":7}}}',
        '\0\0\0',
      ),
    }),
  },
)

/** An expected batch with its items and its key. The key is fixed once the batch was sent. */
type Expected = { key: string; items: number[]; batch: SpooledBatch }

const key = (n: number) => n.toString(16).padStart(32, '0')

test('after any steps and crashes a spool holds the unsent records, in order, under their keys', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
      await runSteps(temporaryFiles(t).directory, steps)
    }),
    { numRuns: runs(40) },
  )
})

async function runSteps(directory: string, steps: readonly Step[]): Promise<void> {
  let spool = await openSpool(directory)
  recoverAll(spool)
  let open: Expected | null = null
  const sealed: Expected[] = []
  let next = 0
  let keys = 0
  for (const step of steps) {
    const first = sealed[0]
    if (step.kind === 'take') {
      const taken = item(next, next % 3 === 0 ? `${next}` : undefined)
      if (open === null) open = { key: key(keys), items: [], batch: begin(spool, [taken], key(keys++)) }
      else open.batch.append(taken, taken.bytes)
      open.items.push(next++)
    } else if (step.kind === 'seal' && open !== null) {
      open.batch.seal()
      sealed.push(open)
      open = null
    } else if (step.kind === 'sent' && first !== undefined) {
      assert.deepEqual(await contents(first.batch), [[first.key, first.items]])
      await first.batch.remove()
      sealed.shift()
    } else if (step.kind === 'refused' && first !== undefined) {
      const [segment] = await first.batch.read()
      const index = step.index % first.items.length
      first.items.splice(index, 1)
      first.key = key(keys++)
      await first.batch.replace([{ idempotencyKey: first.key, items: segment!.items.toSpliced(index, 1) }])
      if (first.items.length === 0) {
        await first.batch.remove()
        sealed.shift()
      }
    } else if (step.kind === 'crash') {
      // The process ends while it writes a record. A seal or a close cannot be interrupted, because the kernel
      // completes it.
      if (open !== null) {
        appendFileSync(lastBatchFile(directory), step.torn)
        open.batch.seal()
        sealed.push(open)
        open = null
      }
      await Promise.allSettled(sealed.map(({ batch }) => batch.read()))
      await spool.close()
      spool = await openSpool(directory)
      const batches = recoverAll(spool)
      assert.equal(batches.length, sealed.length)
      for (const [i, batch] of batches.entries()) {
        sealed[i]!.batch = batch
        assert.equal(batch.records, sealed[i]!.items.length)
        assert.deepEqual(await contents(batch), [[sealed[i]!.key, sealed[i]!.items]])
      }
    }
  }
  if (open !== null) {
    open.batch.seal()
    sealed.push(open)
  }
  for (const { batch, key, items } of sealed) {
    assert.deepEqual(await contents(batch), [[key, items]])
    await batch.remove()
  }
  assert.equal(spool.usedBytes, 0, 'what is removed takes no room')
  await spool.close()
}

function lastBatchFile(directory: string): string {
  const names = readdirSync(directory).filter((name) => name.endsWith('.ndjson'))
  return join(directory, names.sort().at(-1)!)
}
