import { parseId } from '../../src/proof/ids.ts'
import { readLedger } from '../lifecycle-audit.ts'
import { compareChains, type Exchanged } from './federation.ts'
import type { DrivenRound, Findings, K6Run, Running, Scenario } from './types.ts'

/**
 * Audits more than the other scripts do. Each record must have the expected state and must be delivered, verified and
 * judged exactly once. The chains of the two organisations must agree.
 */
export const lifecycleSoak = {
  rounds: ({ servers }) => [{ name: '', servers: servers ?? 1, drive: driveAndAudit }],
  secondsMax: { short: 180, full: 900 },
  guest: true,
  combine: findLifecycleFaults,
} as const satisfies Scenario

async function driveAndAudit(running: Running): Promise<K6Run[]> {
  const run = await running.runScript()
  const ledger = run.summary.extras['ledger'] as string
  const found = await readLedger(running.database.ownerUrl, parseId('led', ledger))
  const exchanged = await compareChains(running, run)
  const extras = { ...run.summary.extras, ...found, exchanged }
  return [{ ...run, summary: { ...run.summary, extras } }]
}

type FoundLedger = Pick<Awaited<ReturnType<typeof readLedger>>, 'states' | 'notOnce'>
type Extras = FoundLedger & { readonly exchanged: Exchanged }

function findLifecycleFaults(rounds: readonly DrivenRound[]): Findings {
  const { summary } = rounds.at(-1)!.runs.at(-1)!
  const count = (metric: string) => Number(summary.metrics[metric]?.['count'] ?? 0)
  const { exchanged, ...found } = summary.extras as Extras
  const faults = compareLifecycles(found, count('lifecycles_complete'), count('lifecycles_abandoned'))
  return { figures: summary.figures, extras: summary.extras, faults: [...faults, ...exchanged.faults] }
}

/**
 * Compares the states of records with the clients' counts. Returns the faults. Each record that a client saw judged
 * must be accepted or rejected. There must be no records in addition to these and the records that clients gave up.
 */
export function compareLifecycles(
  { states, notOnce }: FoundLedger,
  complete: number,
  abandoned: number,
): string[] {
  const { ACCEPTED: accepted = 0, REJECTED: rejected = 0, ...others } = states
  const unfinished = Object.values(others).reduce((sum, count) => sum + count, 0)
  const faults: string[] = []
  if (accepted + rejected < complete)
    faults.push(`${complete - accepted - rejected} records were seen as judged, but are not`)
  if (accepted + rejected + unfinished > complete + abandoned)
    faults.push(`${accepted + rejected + unfinished - complete - abandoned} records belong to no client`)
  if (notOnce > 0) faults.push(`${notOnce} records were not delivered, verified and judged exactly once`)
  return faults
}
