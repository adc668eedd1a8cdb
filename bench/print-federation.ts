import { OTHERS_CORES_MAX } from './cpu.ts'
import type { FederationFigures, FederationPhase } from './federation.ts'
import { printTable } from './table.ts'

const ACCOUNTS = [
  'home API',
  'home worker',
  'guest API',
  'guest worker',
  'postgres',
  'load',
  'interrupts',
  'others',
]

export function printFederation({ phases, audit }: FederationFigures): void {
  console.log(
    '\nentries of one ledger in the chain of the other one; both servers, both workers on this machine',
  )
  printTable([
    ['', 'entries', 'entries/s', 'lag p50 ms', 'p90', 'p99', 'p99.9', 'max'],
    ...phases.map(({ name, entries, entriesPerSecond, lag }) => [
      name,
      String(entries),
      entriesPerSecond.toFixed(0),
      ...(lag === null
        ? ['–', '–', '–', '–', '–']
        : [lag.p50, lag.p90, lag.p99, lag.p999, lag.max].map((ns) => (ns / 1e6).toFixed(0))),
    ]),
  ])
  printTable([
    ['cores in use (µs/entry)', ...ACCOUNTS],
    ...phases.map((phase) => [phase.name, ...ACCOUNTS.map((name) => coresOf(phase, name))]),
  ])
  for (const { name, cpu } of phases)
    if ((cpu['others'] ?? 0) > OTHERS_CORES_MAX)
      console.log(`! ${name}: BUSY MACHINE: others used part of it`)
  const { ok, shared, received, offers, offersOpen, offersReceived, receivedTwice, verify } = audit
  console.log(
    `audit      ${ok ? 'ok' : 'FAILED'}: shared ${shared}, received ${received}; offers ${offers}, received ` +
      `${offersReceived}, open ${offersOpen}; more than once ${receivedTwice};`,
  )
  console.log(`           ${audit.reconcile}`)
  console.log(
    `           dead letters ${audit.deadLetters}, forks ${audit.forks}; ${verify.map((verdict) => verdict.split(/[ :]/, 1)[0]).join(', ')}`,
  )
}

function coresOf({ cpu, entriesPerSecond }: FederationPhase, name: string): string {
  const cores = cpu[name]
  if (cores === undefined) return '–'
  return `${cores.toFixed(2)} (${((cores * 1e6) / entriesPerSecond).toFixed(0)})`
}
