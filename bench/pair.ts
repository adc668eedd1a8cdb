import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from './database.ts'
import type { Target } from './load-connection.ts'
import { get, post } from './post.ts'
import { type Deployment, deploy, type System, startSystem } from './system.ts'

/** An organisation: an API process and a worker with a database and keys of their own, and a ledger there. */
export type Side = {
  readonly name: 'home' | 'guest'
  readonly ownerUrl: string
  readonly ledger: string
  readonly deployment: Deployment
  readonly system: System
}

/** Two that share records: the home's are those of the load. */
export type Pair = { readonly home: Side; readonly guest: Side; stop(): Promise<void> }

type StartOptions = { readonly inspect: boolean; readonly metrics?: boolean }

const LOOK_EVERY_MS = 50
const PEERED_MS_MAX = 30_000

/** Two databases of one Postgres: its CPU is that of both. The home's is deployed already. */
export async function startPair(
  database: Database,
  deployment: Deployment,
  options: StartOptions,
): Promise<Pair> {
  const home = await startSide('home', database.ownerUrl, deployment, options)
  try {
    const guest = await startGuest(database, deployment, options)
    return {
      home,
      guest,
      stop: async () => void (await Promise.all([home.system.stop(), stopGuest(guest)])),
    }
  } catch (error) {
    await home.system.stop()
    throw error
  }
}

/** The other organisation, beside one that runs. */
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

/** A ledger, and a key that may do everything there. */
export type Party = { readonly target: Target; readonly bearer: string }

export function partyOf({ system }: Side): Party {
  return { target: system.targets[0]!, bearer: system.bearer }
}

/** A peering between the two's ledgers, by an invitation of the first: `peer_…`, when it is active on both sides. */
export async function makePeering(inviter: Party, invited: Party): Promise<string> {
  const { id, invitation } = await post(inviter.target, inviter.bearer, '/v1/peers', { name: 'guest' })
  await post(invited.target, invited.bearer, '/v1/peers', { name: 'home', invitation })
  const giveUpAt = performance.now() + PEERED_MS_MAX
  for (const { target, bearer } of [inviter, invited]) {
    for (;;) {
      const peer = await get(target, bearer, `/v1/peers/${id}`)
      if (peer.state === 'active') break
      if (performance.now() > giveUpAt)
        throw new Error(`after ${PEERED_MS_MAX} ms it is not active: ${JSON.stringify(peer)}`)
      await sleep(LOOK_EVERY_MS)
    }
  }
  return id
}
