import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBundleHead } from '../../../src/proof/bundle/bundle-lines.ts'
import type { BundleFilter } from '../../../src/proof/bundle/is-filtered.ts'
import { isFiltered } from '../../../src/proof/bundle/is-filtered.ts'
import { bundleTexts, selectionOf, verifyTexts } from '../../helpers/test-bundle.ts'
import { makeChain, makeId, type TestLine } from '../../helpers/test-chain.ts'
import { makeGated } from '../../helpers/test-gated.ts'
import { refuses } from '../refuses.ts'

const TRACE = 'ab'.repeat(16)
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`

/**
 * Makes a ledger with a plain record, a record of the type `order/1` with a trace, a batch with one record of each of
 * these two sorts, and an accepted gated record.
 */
function makeLedger() {
  const chain = makeChain()
  const plain = chain.notarize()
  const traced = chain.notarize({ type: 'order/1', traceparent: TRACEPARENT })
  const batch = chain.notarizeBatch(2, { items: [{ type: 'order/1', traceparent: TRACEPARENT }, {}] })
  const gated = makeGated(chain)
  const created = gated.last()
  const steps = [created, gated.activate(), gated.submit(), gated.verify(), gated.judge()]
  return { chain, plain, traced, batch, gated, steps }
}

const ledger = makeLedger()
const { chain, plain, traced, batch, gated, steps } = ledger
const to = chain.lines.length - 1

function verify(filter: Partial<BundleFilter>, chosen: Parameters<typeof selectionOf>[2], size?: number) {
  const selection = { from: 0, to, ...filter }
  return verifyTexts(
    bundleTexts(selectionOf(chain, { selection }, chosen, size === undefined ? {} : { size })),
  )
}

const linesOf = (lines: readonly TestLine[]) => lines.map((line) => ({ line }))

test('verifies and counts the records of a filter by type, agent or trace', () => {
  const ofType = verify({ type: 'order/1' }, [{ line: traced }, { line: batch, items: [0] }])
  assert.deepEqual(
    [ofType.of, ofType.completeness, ofType.records],
    [{ selection: { from: 0, to, type: 'order/1' } }, 'selection', 2],
  )
  assert.equal(verify({ trace: TRACE }, [{ line: traced }, { line: batch, items: [0] }]).records, 2)
  assert.equal(verify({ type: 'task/1' }, linesOf(steps)).records, 1)
  assert.equal(verify({ type: 'task/1' }, linesOf(steps.slice(0, 2))).records, 1)
  assert.equal(verify({ agent: gated.performer }, linesOf(steps)).records, 1)
  assert.equal(verify({ type: 'nothing/1' }, []).records, 0)
})

test('refuses an entry that does not match the filter with entry_unrelated', () => {
  refuses('entry_unrelated', () => verify({ type: 'order/1' }, [{ line: plain }]))
  refuses('entry_unrelated', () => verify({ type: 'order/1' }, [{ line: batch, items: [0, 1] }]))
  refuses('entry_unrelated', () => verify({ agent: makeId('agt') }, linesOf(steps)))
  refuses('entry_unrelated', () => verify({ type: 'order/1', from: traced.seq + 1 }, [{ line: traced }]))
  refuses('entry_unrelated', () => verify({ type: 'order/1', to: traced.seq }, [{ line: batch, items: [0] }]))
})

test('refuses a gated record with a missing step, or a step without its record', () => {
  const [created, activated, ...others] = steps
  refuses(/./, () => verify({ type: 'task/1' }, linesOf([created!, ...others])))
  refuses(/./, () => verify({ type: 'task/1' }, linesOf([activated!])))
})

test('refuses a checkpoint that does not cover the period with checkpoint_too_old', () => {
  refuses('checkpoint_too_old', () => verify({ type: 'order/1' }, [{ line: traced }], to))
})

test('refuses a filter without conditions, or with `to` before `from`', () => {
  for (const selection of [
    { from: 0, to },
    { from: 2, to: 1, type: 'order/1' },
  ])
    refuses('bundle_syntax', () => parseBundleHead(bundleTexts(selectionOf(chain, { selection }, []))[0]!))
})

test('a record matches only if all conditions of the filter match', () => {
  const record = { type: 'order/1', agents: ['a', null], traceparent: TRACEPARENT }
  for (const filter of [
    {},
    { type: 'order/1' },
    { agent: 'a' },
    { trace: TRACE, agent: 'a', type: 'order/1' },
  ])
    assert.ok(isFiltered(filter, record))
  for (const filter of [
    { type: 'order/2' },
    { agent: 'b' },
    { trace: 'cd'.repeat(16) },
    { type: 'order/1', agent: 'b' },
  ])
    assert.ok(!isFiltered(filter, record))
  assert.ok(!isFiltered({ trace: TRACE }, { ...record, traceparent: undefined }))
})
