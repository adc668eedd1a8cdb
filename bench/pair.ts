import type { Database } from './database.ts'
import { type Deployment, deploy, type System, startSystem } from './system.ts'

/** An organisation: an API process and a worker with their own database and keys, and a ledger. */
export type Side = {
  readonly name: 'home' | 'guest'
  readonly ownerUrl: string
  readonly ledger: string
  readonly deployment: Deployment
  readonly system: System
}

type StartOptions = { readonly inspect: boolean; readonly metrics?: boolean }

export async function startGuest(database: Database, home: Deployment, options: StartOptions): Promise<Side> {
  const ownerUrl = await database.makeAnother()
  const deployment = await deploy(ownerUrl, home)
  return startSide('guest', ownerUrl, deployment, options).catch((error) => {
    deployment.close()
    throw error
  })
}

export async function stopGuest({ system, deployment }: Side): Promise<void> {
  await system.stop()
  deployment.close()
}

async function startSide(
  name: Side['name'],
  ownerUrl: string,
  deployment: Deployment,
  options: StartOptions,
): Promise<Side> {
  const system = await startSystem(deployment, { servers: 1, worker: true, ...options })
  return { name, ownerUrl, ledger: system.ledger, deployment, system }
}
