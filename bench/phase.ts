import { type CpuSnapshot, type CpuUse, cpuBetween, takeCpuSnapshot } from './cpu.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import { runLoad } from './load-process.ts'
import type { Options } from './options.ts'
import { type ProfileSummary, profileWindow } from './profile.ts'
import { checkSamples } from './samples.ts'
import type { System } from './system.ts'

/** One load on one system: what was measured in its window. */
export type Phase = {
  readonly name: string
  readonly servers: number
  readonly connections: number
  readonly load: Omit<LoadResult, 'samples'>
  /** Average cores in use within the window. */
  readonly cpu: CpuUse
  readonly samplesChecked: number
  /** The body of an unexpected answer, if there was one. */
  readonly firstFailure: string | null
  readonly profile: ProfileSummary | null
}

export type PhasePlan = Pick<LoadPlan, 'connections' | 'pace'> & { readonly name: string }

const DRAIN_MS_MAX = 10_000
const SAMPLE_EVERY = { record: 64, batch: 8 }

export async function runPhase(
  system: System,
  postmaster: number | null,
  plan: PhasePlan,
  options: Options,
  seed: number,
): Promise<Phase> {
  const kind = options.scenario === 'batch' ? 'batch' : 'record'
  const items = kind === 'batch' ? options.batchItems : 1
  const snapshots: CpuSnapshot[] = []
  const profile = options.profile ? await profileWindow(system.servers, options.outDir) : null
  const snapshot = (load: number) => {
    const worker = system.worker ? { worker: [system.worker.pid] } : {}
    const server = system.servers.map((child) => child.pid)
    snapshots.push(takeCpuSnapshot({ processes: { server, ...worker, load: [load] }, postmaster }))
  }
  const { samples, ...load } = await runLoad(
    {
      targets: system.targets,
      connections: plan.connections,
      pace: plan.pace,
      request: {
        host: 'localhost',
        bearer: system.bearer,
        kind,
        items,
        payloadBytes: options.payloadBytes,
        idempotencyKeys: options.idempotencyKeys,
        seed,
        expectedStatus: 201,
      },
      warmUpMs: options.warmUpMs,
      durationMs: options.durationMs,
      drainMsMax: DRAIN_MS_MAX,
      sampleEvery: SAMPLE_EVERY[kind],
    },
    {
      onEdge(edge, pid) {
        snapshot(pid)
        if (edge === 'measure') profile?.start()
        else profile?.stop()
      },
    },
  )
  return {
    name: plan.name,
    servers: system.servers.length,
    connections: plan.connections,
    load,
    cpu: snapshots.length === 2 ? cpuBetween(snapshots[0]!, snapshots[1]!) : {},
    samplesChecked: checkSamples(samples, kind, items),
    firstFailure: samples.find((sample) => sample.status !== 201)?.body ?? null,
    profile: profile
      ? await profile.summarize(`${options.scenario}-${plan.name}`, load.achieved * items)
      : null,
  }
}
