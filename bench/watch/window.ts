import type { ProductProcess } from '../../test/system/deployment/product-process.ts'
import type { WindowEdge } from '../load/job.ts'
import type { Options } from '../options.ts'
import { type ProfileSummary, profileWindow } from '../profile.ts'
import type { System } from '../system.ts'
import { type CpuSnapshot, type CpuUse, cpuBetween, takeCpuSnapshot } from './cpu.ts'

/** Measurements within the measured window of one load: the CPU of each process, and what the CPU was used for. */
type WatchedWindow = {
  onEdge(edge: WindowEdge, loadPid: number): void
  cpu(): CpuUse
  /**
   * Returns the profiles, or an empty list without `--profile`. `items`: number of items; the times are in microseconds
   * per item.
   */
  profiles(name: string, items: number): Promise<ProfileSummary[]>
}

export async function watchWindow(
  system: System,
  postmaster: number | null,
  options: Pick<Options, 'profile' | 'outDir'>,
): Promise<WatchedWindow> {
  const snapshots: CpuSnapshot[] = []
  const profiles = await Promise.all(
    profiledProcesses(system, options).map(async ([process, child]) => ({
      process,
      window: await profileWindow(child, options.outDir),
    })),
  )
  return {
    onEdge(edge, loadPid) {
      const worker = system.worker ? { worker: [system.worker.pid] } : {}
      const server = system.servers.map((child) => child.pid)
      snapshots.push(takeCpuSnapshot({ processes: { server, ...worker, load: [loadPid] }, postmaster }))
      for (const { window } of profiles) edge === 'measure' ? window.start() : window.stop()
    },
    cpu: () => (snapshots.length === 2 ? cpuBetween(snapshots[0]!, snapshots[1]!) : {}),
    profiles: (name, items) =>
      Promise.all(
        profiles.map(async ({ process, window }) => ({
          process,
          ...(await window.summarize(`${name}-${process}`, items)),
        })),
      ),
  }
}

/**
 * Returns the processes to profile: the first API process and the worker. The other API processes do the same work as
 * the first, so profiling them would only cost CPU.
 */
function profiledProcesses(
  { servers, worker }: System,
  { profile }: Pick<Options, 'profile'>,
): [string, ProductProcess][] {
  if (!profile) return []
  return [
    ['the first API process', servers[0]!],
    ...(worker ? [['the worker', worker] as [string, ProductProcess]] : []),
  ]
}
