import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Deployment } from '../deployment/deployment.ts'
import { readJournals } from './journal.ts'
import { reckonAll, startClientsOn } from './kill.ts'
import { LoopDisk } from './loop-image.ts'
import { type Reckoning, reckon } from './reckoning.ts'

type PowerCutPlan = { readonly fsync: 'on' | 'off'; readonly clients: number; readonly loadMs: number }

type PowerCutOutcome = {
  readonly reckoning: Reckoning
  /** True if the database started again. Without fsync it may fail to start. */
  readonly recovered: boolean
}

/**
 * Cuts the power under load, and restarts from the disk's contents. SIGKILL cannot test this, because the kernel
 * survives it, together with everything that Postgres wrote and never flushed.
 */
export async function cutPowerUnderLoad(plan: PowerCutPlan): Promise<PowerCutOutcome> {
  const disk = await LoopDisk.create()
  try {
    const deployment = await Deployment.start({
      dir: mkdirOnce(disk.mountPoint, 'deployment'),
      apis: 1,
      settings: { fsync: plan.fsync, max_wal_size: '256MB', min_wal_size: '80MB' },
    })
    try {
      return await cutOnce(disk, deployment, plan)
    } finally {
      await deployment.stop()
    }
  } finally {
    await disk.destroy()
  }
}

async function cutOnce(disk: LoopDisk, deployment: Deployment, plan: PowerCutPlan): Promise<PowerCutOutcome> {
  const ledgers = await deployment.createLedgers(2)
  await disk.sync() // The creation of the ledgers must survive the power cut, so it is flushed.
  const files = mkdirOnce(disk.dir, 'clients') // The clients' power stays on, so their files are not on this disk.
  const clients = startClientsOn(deployment, files, ledgers, plan.clients)
  await sleep(plan.loadMs)
  deployment.freezePostgres()
  await disk.cutPower(async () => {
    await clients.abandon()
    await deployment.stopParts()
    await deployment.killPostgres('server')
  })
  try {
    await deployment.startPostgres()
    return { reckoning: (await reckonAll(deployment, files, ledgers)).reckoning, recovered: true }
  } catch (error) {
    // Without fsync the cluster may be damaged in any way, so this error is accepted.
    if (plan.fsync === 'on') throw error
    return { reckoning: reckon(readJournals(join(files, 'journals')), []), recovered: false }
  }
}

function mkdirOnce(parent: string, name: string): string {
  const path = join(parent, name)
  mkdirSync(path, { recursive: true, mode: 0o711 })
  return path
}
