import { summarizeMs } from '../../cli/preflight/latencies.ts'
import { countFaults, countOffers, countShared, type LedgerIn, listReceived } from '../federation-reads.ts'
import { runVerify } from '../watch/audit.ts'
import type { DrivenRound, Findings, K6Run, Running, Scenario } from './types.ts'

/** Result of the comparison of both chains, with the lag of entries between them. */
export type Exchanged = {
  readonly shared: number
  readonly received: number
  readonly offers: number
  readonly lagP50: number
  readonly lagP99: number
  readonly faults: readonly string[]
}

export const federationDrain = {
  rounds: ({ servers }) => [{ name: '', servers: servers ?? 1, drive: driveAndCompare }],
  secondsMax: { short: 180, full: 1_200 },
  guest: true,
  combine: findDifferences,
} as const satisfies Scenario

async function driveAndCompare(running: Running): Promise<K6Run[]> {
  const run = await running.runScript()
  const { extras } = run.summary
  const exchanged = await compareChains(running, run, Number(extras['drained']))
  return [{ ...run, summary: { ...run.summary, extras: { ...extras, exchanged } } }]
}

function findDifferences(rounds: readonly DrivenRound[]): Findings {
  const { figures, extras } = rounds.at(-1)!.runs.at(-1)!.summary
  const { faults, ...exchanged } = extras['exchanged'] as Exchanged
  const { lagP50, lagP99 } = exchanged
  return { figures: { ...figures, lagP50, lagP99 }, extras: { ...extras, exchanged }, faults }
}

/**
 * Compares the chains of the two ledgers between which the script made a peering. `afterEntries`: number of first
 * entries that do not count for the lag.
 */
export async function compareChains(
  { database, guest }: Pick<Running, 'database' | 'guest'>,
  { summary: { extras } }: Pick<K6Run, 'summary'>,
  afterEntries = 0,
): Promise<Exchanged> {
  const peered = extras['peered'] as { readonly home: string; readonly guest: string }
  const home: LedgerIn = { name: 'home', ownerUrl: database.ownerUrl, ledger: peered.home }
  const other: LedgerIn = { name: 'guest', ownerUrl: guest!.ownerUrl, ledger: peered.guest }
  const shared = await countShared(home)
  const { offers, open } = await countOffers(other)
  const atGuest = await listReceived(home, other)
  const atHome = await listReceived(other, home)
  const faults: string[] = []
  const expect = (what: string, found: number, wanted: number) => {
    if (found !== wanted) faults.push(`${what}: ${found}, expected ${wanted}`)
  }
  expect('entries of the home that the guest has received', atGuest.length, shared)
  // One received entry is not an offer, but the guest's half of the handshake.
  expect('offers that the home has received', atHome.length - 1, offers)
  expect('open offers', open, 0)
  for (const received of [atGuest, atHome])
    expect(
      'different entries received',
      new Set(received.map(({ remoteSeq }) => remoteSeq)).size,
      received.length,
    )
  for (const side of [home, other]) {
    const { deadLetters, forks } = await countFaults(side)
    expect(`dead letters of the ${side.name}`, deadLetters, 0)
    expect(`forks of the ${side.name}`, forks, 0)
  }
  const verdict = await runVerify({ env: guest!.deployment.env, ledger: other.ledger })
  if (!verdict.startsWith('INTEGRITY_OK')) faults.push(`verify of the guest: ${verdict}`)
  const lag = summarizeMs(atGuest.slice(afterEntries).map(({ lagMs }) => lagMs))
  return {
    shared,
    received: atGuest.length,
    offers,
    lagP50: lag.p50 / 1e6,
    lagP99: lag.p99 / 1e6,
    faults,
  }
}
