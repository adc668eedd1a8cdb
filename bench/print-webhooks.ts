import { OTHERS_CORES_MAX } from './cpu.ts'
import { printTable } from './table.ts'
import type { WebhookFigures, WebhookPhase } from './webhooks.ts'

const ACCOUNTS = ['worker', 'postgres', 'receiver', 'server', 'load', 'interrupts', 'others']

export function printWebhooks({ phases, audit }: WebhookFigures): void {
  console.log('\nevery record of a ledger to each of its endpoints (ledgers × endpoints of each)')
  printTable([
    ['', 'deliveries', 'deliveries/s', 'lag p50 ms', 'p90', 'p99', 'p99.9', 'max'],
    ...phases.map(({ name, requests, deliveriesPerSecond, lag }) => [
      name,
      String(requests),
      deliveriesPerSecond.toFixed(0),
      ...(lag === null
        ? ['–', '–', '–', '–', '–']
        : [lag.p50, lag.p90, lag.p99, lag.p999, lag.max].map((ns) => (ns / 1e6).toFixed(0))),
    ]),
  ])
  printTable([
    ['cores in use (µs/delivery)', ...ACCOUNTS],
    ...phases.map((phase) => [phase.name, ...ACCOUNTS.map((name) => coresOf(phase, name))]),
  ])
  for (const { name, cpu } of phases)
    if ((cpu['others'] ?? 0) > OTHERS_CORES_MAX)
      console.log(`! ${name}: BUSY MACHINE: others used part of it`)
  const { ok, due, received, repeated, signaturesChecked, signaturesBad, verify } = audit
  const verdicts = [...new Set(verify.map((verdict) => verdict.split(/[ :]/, 1)[0]))].join(', ')
  console.log(
    `audit      ${ok ? 'ok' : 'FAILED'}: due ${due}, received ${received}, more than once ${repeated};`,
  )
  console.log(
    `           signatures checked ${signaturesChecked}, bad ${signaturesBad}; ${verify.length} ledgers: ${verdicts}`,
  )
}

function coresOf({ cpu, deliveriesPerSecond }: WebhookPhase, name: string): string {
  const cores = cpu[name]
  if (cores === undefined) return '–'
  return `${cores.toFixed(2)} (${((cores * 1e6) / deliveriesPerSecond).toFixed(1)})`
}
