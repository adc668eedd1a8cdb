import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../bench/load/random.ts'
import type { Cluster } from './cluster.ts'
import { BEYOND_MS_MAX } from './limits.ts'
import type { Member } from './member.ts'

type Scene = { readonly cluster: Cluster; readonly leader: Member; readonly random: Random }

/** A fault and its repair. `heal` is called when another primary has committed. */
type FailoverFault = {
  readonly begin: (scene: Scene) => Promise<unknown> | unknown
  readonly heal?: (scene: Scene) => Promise<unknown> | unknown
}

/**
 * Range of the time in ms for which standbys receive nothing before their primary dies. It is longer than the interval
 * of checkpoints, so that a stored checkpoint covers entries that will be lost. It is shorter than the time after which
 * standbys reconnect.
 */
const HELD_MS = { min: 2_500, max: 4_000 }

export const FAILOVER_FAULTS = {
  'kill -9 of the primary': { begin: ({ leader }) => leader.killPostgres() },
  'kill -9 while standbys are behind': {
    begin: async ({ leader, random }) => {
      leader.holdReplication()
      await sleep(random.integer(HELD_MS.min, HELD_MS.max))
      leader.killPostgres()
    },
  },
  'machine gone': { begin: ({ leader }) => leader.kill(), heal: ({ leader }) => leader.start() },
  'machine paused': { begin: ({ leader }) => leader.freeze(), heal: ({ leader }) => leader.thaw() },
  partition: { begin: ({ leader }) => leader.partition(), heal: ({ leader }) => leader.rejoin() },
  switchover: { begin: ({ cluster }) => cluster.switchOver() },
} as const satisfies Readonly<Record<string, FailoverFault>>

export type FailoverFaultName = keyof typeof FAILOVER_FAULTS

/** Faults that last until the leader's key expires. Each of them takes 20 s. */
const SLOW = ['machine gone', 'machine paused', 'partition'] as const
const KILLS_PER_SLOW = 16

/**
 * Plans `kills` kills of alternating kinds, one switchover for every five kills, and the slow faults. The order
 * depends on the seed.
 */
export function planFaults(kills: number, random: Random): FailoverFaultName[] {
  const names: FailoverFaultName[] = Array.from({ length: kills }, (_, i) =>
    i % 2 === 0 ? 'kill -9 of the primary' : 'kill -9 while standbys are behind',
  )
  for (let i = 0; i < Math.ceil(kills / 5); i++) names.push('switchover')
  for (let i = 0; i < Math.floor(kills / KILLS_PER_SLOW); i++) names.push(...SLOW)
  for (let i = names.length - 1; i > 0; i--) {
    const j = random.integer(0, i)
    ;[names[i], names[j]] = [names[j]!, names[i]!]
  }
  return names
}

export type Suffered = {
  readonly fault: FailoverFaultName
  /** End of the fault, in Unix ms. */
  readonly endedAtMs: number
  /**
   * Longest times in ms, as gaps.ts measures them: without a commit of the cluster, without a record of a client, and
   * without a record although the cluster committed.
   */
  readonly clusterMs: number
  readonly recordsMs: number
  readonly beyondMs: number
  /**
   * `callsGivenUp` is the number of calls that the SDK gave up. `attemptsRefused` is the number of attempts that were
   * refused or whose connection broke.
   */
  readonly callsGivenUp: number
  readonly attemptsRefused: number
}

export function formatSuffered(all: readonly Suffered[]): string {
  return [...Map.groupBy(all, ({ fault }) => fault)]
    .map(([fault, some]) => {
      const givenUp = some.reduce((sum, { callsGivenUp }) => sum + callsGivenUp, 0)
      const longest = (member: 'clusterMs' | 'recordsMs' | 'beyondMs') =>
        Math.max(...some.map((one) => one[member]))
      return `  ${fault}, ${some.length} times: without a commit of the cluster ${longest('clusterMs')} ms at most, without a record ${longest('recordsMs')}, while the cluster committed ${longest('beyondMs')}; calls that the SDK gave up ${givenUp}`
    })
    .join('\n')
}

/** Returns the faults after which records resumed later than the cluster's commits, by more than BEYOND_MS_MAX. */
export function findLate(all: readonly Suffered[]): string[] {
  return all
    .filter(({ beyondMs }) => beyondMs > BEYOND_MS_MAX)
    .map(({ fault, beyondMs }) => `${fault}: ${beyondMs} ms without a record, though the cluster committed`)
}

/** Returns the calls that failed during switchovers. A switchover may make attempts of the SDK fail, but no call. */
export function findGivenUp(all: readonly Suffered[]): string[] {
  const switchovers = all.filter(({ fault }) => fault === 'switchover')
  const givenUp = switchovers.reduce((sum, { callsGivenUp }) => sum + callsGivenUp, 0)
  if (givenUp > 0) return [`the SDK gave up ${givenUp} calls in switchovers`]
  const hasRefused = switchovers.some(({ attemptsRefused }) => attemptsRefused > 0)
  return hasRefused ? [] : ['no switchover refused the SDK anything: the run has shown nothing']
}
