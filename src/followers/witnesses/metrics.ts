import { Counter } from 'prom-client'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { readGauge } from '../../observe/metrics/readings.ts'
import { PEERS_TARGET } from './peer-witnesses.ts'
import type { WitnessSetting } from './settings.ts'
import type { WitnessOutcome, WitnessSender } from './witness-sender.ts'

const OUTCOMES = [
  'cosigned',
  'refused',
  'invalid',
  'ahead',
  'unreachable',
  'declined',
] as const satisfies readonly WitnessOutcome[]

export function makeWitnessObserver(
  { registry }: Metrics,
  {
    witnesses,
    peerWitnesses,
  }: { readonly witnesses: readonly WitnessSetting[]; readonly peerWitnesses: boolean },
): (witness: string, outcome: WitnessOutcome) => void {
  const counter = new Counter({
    name: 'tallystick_witness_checkpoints_total',
    help: 'Checkpoints that were sent to a witness, by outcome',
    labelNames: ['witness', 'outcome'],
    registers: [registry],
  })
  const names = [...witnesses.map(({ key }) => key.name), ...(peerWitnesses ? [PEERS_TARGET] : [])]
  for (const witness of names) for (const outcome of OUTCOMES) counter.inc({ witness, outcome }, 0)
  return (witness, outcome) => counter.inc({ witness, outcome })
}

export function watchWitnesses(metrics: Metrics, lanes: readonly WitnessSender[]): void {
  readGauge(
    metrics,
    {
      name: 'tallystick_witness_waiting_seconds',
      help: 'Longest wait of a ledger for a cosignature of its newest checkpoint, by witness',
    },
    () => lanes.map((lane) => ({ labels: { witness: lane.name }, value: lane.waitingSeconds })),
  )
}
