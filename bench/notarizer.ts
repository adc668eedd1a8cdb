import { type NotarizerPlan, runNotarizer } from './load/notarizer.ts'
import type { Options } from './options.ts'
import { DRAIN_MS_MAX, type Phase } from './phase.ts'
import type { System } from './system.ts'
import { printTable } from './table.ts'
import { watchWindow } from './watch/window.ts'

type Kind = Pick<NotarizerPlan, 'spool' | 'inFlightMax'> & { readonly name: string }

/** Kinds of notarizers. They are compared with the first phase of the session, in which a load generator only sends. */
export const NOTARIZERS: readonly Kind[] = [
  { name: 'notarizer', spool: false, inFlightMax: 1 },
  { name: 'notarizer, spool', spool: true, inFlightMax: 1 },
  { name: 'notarizer, 2 in flight', spool: false, inFlightMax: 2 },
  { name: 'notarizer, spool, 2 in flight', spool: true, inFlightMax: 2 },
]

export async function runNotarizerPhase(
  system: System,
  postmaster: number | null,
  { name, ...kind }: Kind,
  options: Options,
  seed: number,
): Promise<Phase> {
  const window = await watchWindow(system, postmaster, options)
  const { samples: _none, ...load } = await runNotarizer(
    {
      ...kind,
      target: system.targets[0]!,
      bearer: system.bearer,
      recordsPerBatchMax: options.batchItems,
      payloadBytes: options.payloadBytes,
      seed,
      warmUpMs: options.warmUpMs,
      durationMs: options.durationMs,
      drainMsMax: DRAIN_MS_MAX,
    },
    window,
  )
  return {
    name,
    servers: system.servers.length,
    connections: kind.inFlightMax,
    load,
    cpu: window.cpu(),
    samplesChecked: 0,
    firstFailure: null,
    profiles: await window.profiles(`notarizer-${name}`, load.achieved * options.batchItems),
  }
}

/** Prints the rate of each notarizer as a share of the rate of a load generator that only sends. */
export function printShares([bare, ...phases]: readonly Phase[]): void {
  printTable([
    ['', 'records/s', '% of bare'],
    ...phases.map(({ name, load }) => [
      name,
      String(Math.round(load.itemsPerSecond)),
      ((load.itemsPerSecond / bare!.load.itemsPerSecond) * 100).toFixed(0),
    ]),
  ])
}
