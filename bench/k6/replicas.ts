import { availableParallelism } from 'node:os'
import { type CpuUse, OTHERS_CORES_MAX } from '../watch/cpu.ts'
import { type CpuQuota, limitToOneCpu } from './cpu-quota.ts'
import { isServer, measureWindow } from './load-window.ts'
import type { DrivenRound, Findings, K6Run, Round, Running, Scenario } from './types.ts'

/**
 * Runs 1, 2 and 3 API processes on one database. A quota limits each process to one CPU, as a container would. If the
 * machine has too few cores for all processes, the machine is the limit, and the figures report that.
 */
export const replicas = {
  rounds: ({ servers }) => (servers === null ? [1, 2, 3] : [servers]).map(makeRound),
  secondsMax: { short: 120, full: 900 },
  combine: compare,
} as const satisfies Scenario

function makeRound(servers: number): Round {
  const name = servers === 1 ? '1 API process' : `${servers} API processes`
  return { name, servers, drive: driveLimited }
}

async function driveLimited(running: Running): Promise<K6Run[]> {
  const { system, log } = running
  const quotas = system.servers.map(({ pid }) => limitToOneCpu(pid))
  const isLimited = quotas.every((quota) => quota !== null)
  if (!isLimited) log('  no CPU quota here: the CPU of API processes is not limited')
  try {
    const run = await running.runScript()
    const window = measureWindow(run)
    const throttledPercent = isLimited ? quotas.map(throttledShare) : null
    const extras = {
      ...run.summary.extras,
      ...window,
      throttledPercent,
      atItsEnd: findEnds(window.cores, isLimited),
    }
    return [{ ...run, summary: { ...run.summary, extras } }]
  } finally {
    for (const quota of quotas) quota?.release()
  }
}

function throttledShare(quota: CpuQuota): number {
  const { periods, throttledPeriods } = quota.read()
  return periods === 0 ? 0 : (100 * throttledPeriods) / periods
}

/** Share of a process's CPU from which it counts as fully used. The scheduler leaves the rest unused. */
const OF_A_PROCESS = 0.9
const OF_THE_MACHINE = 0.93

/**
 * Returns the exhausted resources. The API is exhausted if every API process uses its whole CPU. The machine is
 * exhausted if all of its cores are in use, by any process. If neither is, requests wait for the ledger's single
 * writer, its commits and the disk.
 */
export function findEnds(cores: CpuUse, isLimited: boolean, machineCores = availableParallelism()): string[] {
  const ends: string[] = []
  const servers = Object.entries(cores).filter(([name]) => isServer(name))
  if (isLimited && servers.length > 0 && servers.every(([, used]) => used >= OF_A_PROCESS))
    ends.push('the CPU of the API processes')
  const used = Object.values(cores).reduce((sum, each) => sum + each, 0)
  const { others = 0 } = cores
  const strangers = others > OTHERS_CORES_MAX ? `, ${others.toFixed(2)} of them used by others` : ''
  if (used >= OF_THE_MACHINE * machineCores) ends.push(`the machine's ${machineCores} cores${strangers}`)
  return ends.length > 0 ? ends : ["no CPU: requests wait for the ledger's commits"]
}

function compare(rounds: readonly DrivenRound[]): Findings {
  const all = rounds.map(({ round, runs }) => {
    const { figures, extras } = runs.at(-1)!.summary
    return { servers: round.servers, rate: figures['rate'] ?? 0, ...extras }
  })
  const one = all.find(({ servers }) => servers === 1)?.rate ?? 0
  const figures = all.flatMap(({ servers, rate }): [string, number][] => [
    [`rate${servers}`, rate],
    ...(servers > 1 && one > 0 ? [[`ratio${servers}`, rate / one] as [string, number]] : []),
  ])
  return {
    figures: Object.fromEntries(figures),
    extras: { machineCores: availableParallelism(), rounds: all },
  }
}
