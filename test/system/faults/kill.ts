import { mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Deployment,
  type DeploymentOptions,
  type Ledger,
  type PostgresVictim,
} from '../deployment/deployment.ts'
import { type RunningClients, startClients } from './clients.ts'
import { type JournalLine, readJournals } from './journal.ts'
import { checkLedger, readRecords } from './ledger-contents.ts'
import { type Reckoning, reckon, type StoredRecord } from './reckoning.ts'

type KillPlan = {
  readonly kills: number
  readonly clients: number
  readonly loadMs: { readonly min: number; readonly max: number }
}

export type Outcome = {
  readonly reckoning: Reckoning
  readonly attempts: Readonly<Record<string, number>>
  readonly entries: number
  readonly recoveryMs: readonly number[]
  /** Numbers of records that were acknowledged since the previous kill. */
  readonly ackedBetween: readonly number[]
}

export async function killPostgresUnderLoad(dir: string, plan: KillPlan, settings = {}): Promise<Outcome> {
  const victims: readonly PostgresVictim[] = ['server', 'postmaster', 'backend']
  return killUnderLoad({ dir, apis: 2, worker: true, settings }, plan, async (deployment, kill) => {
    const victim = victims[kill % victims.length]!
    await deployment.killPostgres(victim)
    if (victim !== 'backend') await deployment.startPostgres()
  })
}

export async function killApiUnderLoad(dir: string, plan: KillPlan): Promise<Outcome> {
  return killUnderLoad({ dir, apis: 2, worker: true }, plan, async (deployment, kill) => {
    await deployment.killApi(kill % 2)
    await deployment.startApi(kill % 2)
  })
}

async function killUnderLoad(
  options: DeploymentOptions,
  plan: KillPlan,
  kill: (deployment: Deployment, kill: number) => Promise<void>,
): Promise<Outcome> {
  const deployment = await Deployment.start(options)
  let clients: RunningClients | null = null
  try {
    const ledgers = await deployment.createLedgers(2)
    clients = startClientsOn(deployment, options.dir, ledgers, plan.clients)
    const recoveryMs: number[] = []
    const ackedBetween: number[] = []
    for (let i = 0; i < plan.kills; i++) {
      const before = clients.acknowledgedRecords
      await sleep(plan.loadMs.min + Math.random() * (plan.loadMs.max - plan.loadMs.min))
      ackedBetween.push(clients.acknowledgedRecords - before)
      const killedAt = performance.now()
      await kill(deployment, i)
      await untilAcknowledging(clients, deployment)
      recoveryMs.push(Math.round(performance.now() - killedAt))
    }
    await sleep(plan.loadMs.min)
    await clients.finish()
    deployment.requireAlive()
    return {
      ...(await reckonAll(deployment, options.dir, ledgers)),
      attempts: clients.attempts,
      recoveryMs,
      ackedBetween,
    }
  } finally {
    await clients?.abandon()
    await deployment.stop()
  }
}

export function startClientsOn(
  deployment: Deployment,
  dir: string,
  ledgers: readonly Ledger[],
  clients: number,
  { targets = deployment.urls, batchItems = 20, pauseMsMax = 0 } = {},
): RunningClients {
  const journalDir = join(dir, 'journals')
  mkdirSync(journalDir, { recursive: true })
  return startClients({ targets, ledgers, clients, batchItems, pauseMsMax, journalDir })
}

/** Compares what clients were promised with the contents of every ledger. Throws if a ledger does not verify. */
export async function reckonAll(
  deployment: Deployment,
  dir: string,
  ledgers: readonly Ledger[],
): Promise<{ reckoning: Reckoning; entries: number }> {
  const { journal, stored, entries } = await readAll(deployment, dir, ledgers)
  return { reckoning: reckon(journal, stored), entries }
}

/** Reads what clients were promised, and the contents of every ledger. Throws if a ledger does not verify. */
export async function readAll(
  deployment: Deployment,
  dir: string,
  ledgers: readonly Ledger[],
): Promise<{ journal: JournalLine[]; stored: StoredRecord[]; entries: number }> {
  const stored: StoredRecord[] = []
  let entries = 0
  for (const { ledger } of ledgers) {
    for (const record of await readRecords(deployment.ownerUrl, ledger)) stored.push(record)
    entries += await checkLedger(deployment.ownerUrl, ledger)
  }
  return { journal: readJournals(join(dir, 'journals')), stored, entries }
}

const RECOVERY_MS_MAX = 120_000

/** Resolves when a record has been acknowledged. Throws if that takes long, or if a process has ended by itself. */
export async function untilAcknowledging(clients: RunningClients, deployment: Deployment): Promise<void> {
  const before = clients.acknowledgedRecords
  const giveUpAt = Date.now() + RECOVERY_MS_MAX
  while (clients.acknowledgedRecords === before) {
    deployment.requireAlive()
    if (Date.now() > giveUpAt) {
      const attempts = formatAttempts(clients.attempts)
      throw new Error(`nothing was acknowledged for ${RECOVERY_MS_MAX} ms after a kill; ${attempts}`)
    }
    await sleep(10)
  }
}

export function formatAttempts(attempts: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(attempts).sort(([, a], [, b]) => b - a)
  return `attempts: ${sorted.map(([label, count]) => `${label}=${count}`).join(', ')}`
}

/** Formats the load average, which is printed with every figure that depends on it. */
export function formatLoad(): string {
  return `load average ${loadavg()[0]!.toFixed(1)}`
}
