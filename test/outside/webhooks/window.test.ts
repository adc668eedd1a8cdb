import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../helpers/runs.ts'
import { WindowSim } from '../../helpers/webhook-window.ts'

type Step = (sim: WindowSim) => unknown

const named = (name: string, step: Step): Step => Object.assign(step, { toString: () => name })

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .constantFrom('a', 'b', 'c', null)
      .map((record) => named(`append(${record})`, (sim) => sim.append(record))),
  },
  {
    weight: 4,
    arbitrary: fc
      .integer({ min: 1, max: 4 })
      .map((most) => named(`next(${most})`, (sim) => sim.beginNext(most))),
  },
  { weight: 3, arbitrary: fc.constant(named('due', (sim) => sim.beginDue())) },
  {
    weight: 4,
    arbitrary: fc.boolean().map((slow) => named(`write(${slow})`, (sim) => sim.beginWrite(slow))),
  },
  { weight: 6, arbitrary: fc.constant(named('end', (sim) => sim.endStep())) },
  { weight: 8, arbitrary: fc.constant(named('send', (sim) => sim.send())) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.nat(3), fc.constantFrom('delivered', 'delivered', 'retry', 'retry', 'dead'))
      .map(([which, how]) => named(`answer(${which}, ${how})`, (sim) => sim.answer(which, how as 'retry'))),
  },
  { weight: 2, arbitrary: fc.constant(named('wait', (sim) => sim.wait())) },
  { weight: 1, arbitrary: fc.constant(named('crash', (sim) => sim.crash())) },
  {
    weight: 1,
    arbitrary: fc.nat(9).map((which) => named(`redeliver(${which})`, (sim) => sim.redeliver(which))),
  },
)

test('each event is delivered or dead, in order per record, despite failures and crashes', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 120, size: 'max' }), (steps) => {
      const sim = new WindowSim()
      for (const one of steps) one(sim)
      sim.finish()
    }),
    { numRuns: runs(1_500) },
  )
})
