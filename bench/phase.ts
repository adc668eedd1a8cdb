import type { LifecycleFigures } from './load/lifecycles.ts'
import type { LoadPlan } from './load/load.ts'
import { runLoad } from './load/load.ts'
import type { LoadResult } from './load/tally.ts'
import type { Options } from './options.ts'
import type { ProfileSummary } from './profile.ts'
import { checkSamples } from './samples.ts'
import type { System } from './system.ts'
import type { CpuUse } from './watch/cpu.ts'
import { type RequestSteps, readSteps, stepsBetween } from './watch/steps.ts'
import { watchWindow } from './watch/window.ts'

/** One load on one system, with everything measured in its window. */
export type Phase = {
  readonly name: string
  readonly servers: number
  readonly connections: number
  readonly load: Omit<LoadResult, 'samples'>
  readonly cpu: CpuUse
  readonly samplesChecked: number
  readonly firstFailure: string | null
  readonly profiles: readonly ProfileSummary[]
  /** Mean time in ms of each step of a request, from the server's metrics. Includes the warm-up. */
  readonly steps?: RequestSteps
  readonly lifecycle?: LifecycleFigures
}

export type PhasePlan = Pick<LoadPlan, 'connections' | 'pace'> & { readonly name: string }

export const DRAIN_MS_MAX = 10_000
const SAMPLE_EVERY = { record: 64, batch: 8 }

export function hasBatches({ scenario }: Pick<Options, 'scenario'>): boolean {
  return scenario === 'batch' || scenario === 'notarizer'
}

export async function runPhase(
  system: System,
  postmaster: number | null,
  plan: PhasePlan,
  options: Options,
  seed: number,
): Promise<Phase> {
  const kind = hasBatches(options) ? 'batch' : 'record'
  const items = kind === 'batch' ? options.batchItems : 1
  const window = await watchWindow(system, postmaster, options)
  const before = await readSteps(system)
  const { samples, ...load } = await runLoad(
    {
      targets: system.targets,
      connections: plan.connections,
      pace: plan.pace,
      request: {
        bearers: [system.bearer],
        kind,
        items,
        payloadBytes: options.payloadBytes,
        idempotencyKeys: options.idempotencyKeys,
        seed,
      },
      warmUpMs: options.warmUpMs,
      durationMs: options.durationMs,
      drainMsMax: DRAIN_MS_MAX,
      sampleEvery: SAMPLE_EVERY[kind],
    },
    window,
  )
  return {
    name: plan.name,
    servers: system.servers.length,
    connections: plan.connections,
    load,
    steps: stepsBetween(before, await readSteps(system)),
    cpu: window.cpu(),
    samplesChecked: checkSamples(samples, kind, items),
    firstFailure: samples.find((sample) => sample.status !== 201)?.body ?? null,
    profiles: await window.profiles(`${options.scenario}-${plan.name}`, load.achieved * items),
  }
}
