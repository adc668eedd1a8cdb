import assert from 'node:assert/strict'
import type { Actions } from '@tallystick/sdk/actions'
import type { Test } from '../../test/helpers/app.ts'
import { OUTCOMES, outcomeCases } from '../../test/helpers/outcome-cases.ts'
import { type Ended, openLedger } from './ledger.ts'

/**
 * Runs a case with an adapter that records through `actions`. If the function throws, the error is ignored, because
 * some cases end with an error.
 */
export type Happens = (actions: Actions) => unknown

/** Cases in which nobody reports the end of an action. The action ends only when `actions.close` is called. */
const UNTIL_CLOSE = ['closed-while-open', 'run-stream-abandoned']

/**
 * Runs all cases that docs/reference/outcomes.md lists for this adapter, and compares their statuses. The name of a
 * case may end with a colon and a variant.
 */
export async function testOutcomes(
  t: Test,
  way: string,
  happenings: Readonly<Record<string, Happens>>,
): Promise<void> {
  const ledger = await openLedger(t)
  const cases = outcomeCases(way)
  const failures: string[] = []
  for (const [name, happens] of Object.entries(happenings)) {
    const [id] = name.split(':') as [string]
    const isAway = id === 'not-recorded'
    const actions = ledger.actions(isAway ? { failClosed: true, holdMsMax: 50, onError: () => {} } : {})
    if (isAway) ledger.proxy.refuse()
    await Promise.resolve()
      .then(() => happens(actions))
      .catch(() => {})
    if (isAway) ledger.proxy.accept()
    if (UNTIL_CLOSE.includes(id)) {
      await actions.flush()
      await actions.close({ timeoutMs: 2_000 })
    }
    await actions.flush()
    const { of } = OUTCOMES.cases.find((one) => one.name === id)!
    try {
      cases.expect(id, statusesOf(await ledger.ended(), of))
    } catch (error) {
      const { actual, expected } = error as { actual?: unknown; expected?: unknown }
      failures.push(`${name}: ${actual}, expected ${expected}`)
    }
    await actions.close({ timeoutMs: 2_000 })
    await ledger.ended()
  }
  assert.deepEqual(failures, [])
  cases.assertCovered()
}

function statusesOf(ended: readonly Ended[], of: string): string[] {
  const isMeant = ({ kind, isRoot }: Ended) =>
    of === 'run' ? isRoot : of === 'model' ? kind === 'model' : !isRoot && kind === 'tool'
  const meant = ended.filter(isMeant)
  return (of === 'model' ? meant.slice(0, 1) : meant).flatMap(({ statuses }) =>
    statuses.length > 0 ? statuses : ['open'],
  )
}
