import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { Admission, type RequestKind } from '../../src/load/admission.ts'
import { UNPROVEN } from '../../src/load/unproven.ts'

const FEW = {
  underWayMax: 6,
  reads: { max: 16, waitMs: 1_000 },
  burstMax: 2,
  burstPerSecond: 1,
  unproven: { underWayMax: 2, burstMax: 3, burstPerSecond: 0 },
  perSliceMax: 2,
  sliceBytesMax: 100,
}

type Step = {
  readonly what: 'comes' | 'leaves' | 'time passes'
  readonly kind: RequestKind
  readonly owner: string
}

const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom('comes', 'comes', 'leaves', 'time passes'),
    kind: fc.constantFrom('reads', 'writes'),
    owner: fc.constantFrom('a', 'b', 'c', UNPROVEN),
  }),
  { maxLength: 200 },
)

test('unproven callers never change the decisions about proven owners', () => {
  fc.assert(
    fc.property(steps, (steps) => {
      const isProven = ({ what, owner }: Step) => what === 'time passes' || owner !== UNPROVEN
      const decided = decide(steps).filter((_, i) => isProven(steps[i]!))
      assert.deepEqual(decided, decide(steps.filter(isProven)))
    }),
  )
})

test('admits a proven owner within an equal share of the slots, whatever else arrives', () => {
  fc.assert(fc.property(steps, (steps) => void decide(steps)))
})

test('all unproven callers are one owner, with few slots for reads and writes together', () => {
  const admission = new Admission(() => 0, FEW)
  const kinds: RequestKind[] = ['reads', 'writes', 'reads', 'writes', 'reads', 'writes', 'reads']
  const taken = kinds.map((kind) => {
    const isTaken = admission.admits(kind, UNPROVEN)
    if (isTaken) admission.enter(kind, UNPROVEN)
    return isTaken
  })
  assert.deepEqual(taken, [true, true, true, true, true, false, false], 'two places, and a burst of three')
  assert.deepEqual([admission.refused, admission.refusedUnproven], [2, 2])
})

test('unproven writes start in round-robin as one owner, and do not count as waiting', async () => {
  const admission = new Admission(() => 0, FEW)
  const begun: string[] = []
  for (let i = 0; i < 5; i++) admission.begin('writes', 1, UNPROVEN, () => begun.push('unproven'))
  for (const owner of ['a', 'b']) admission.begin('writes', 1, owner, () => begun.push(owner))
  assert.equal(admission.waiting('writes'), 2)
  await nextTurn()
  await nextTurn()
  assert.deepEqual(begun, ['unproven', 'a', 'b', 'unproven'])
  assert.equal(admission.waiting('writes'), 0)
})

/** Returns for each step whether the request was admitted; null if the step is not a request. */
function decide(steps: readonly Step[]): (boolean | null)[] {
  let nowMs = 0
  const admission = new Admission(() => nowMs, FEW)
  const underWay = { reads: new Map<string, number>(), writes: new Map<string, number>() }
  return steps.map(({ what, kind, owner }) => {
    const own = underWay[kind].get(owner) ?? 0
    if (what === 'time passes') nowMs += 300
    if (what === 'leaves' && own > 0) {
      admission.leave(kind, owner)
      if (own > 1) underWay[kind].set(owner, own - 1)
      else underWay[kind].delete(owner)
    }
    if (what !== 'comes') return null
    const isTaken = admission.admits(kind, owner)
    if (owner !== UNPROVEN) {
      const proven = new Set([...underWay[kind].keys(), owner])
      proven.delete(UNPROVEN)
      assert.ok(isTaken || own + 1 > FEW.underWayMax / proven.size, `${owner} has ${own} of ${proven.size}`)
    }
    if (isTaken) {
      admission.enter(kind, owner)
      underWay[kind].set(owner, own + 1)
    }
    return isTaken
  })
}
