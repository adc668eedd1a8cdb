import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../bench/load/random.ts'
import { MASTER_KEY_AGE_MS_MAX } from '../../../src/followers/limits.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { resealSecrets } from '../../../src/run/reseal.ts'
import type { TcpProxy } from '../../helpers/tcp-proxy.ts'
import type { Deployment, Ledger, PostgresVictim } from '../deployment/deployment.ts'
import { withPatientClient } from '../deployment/processes.ts'
import type { RunningClients } from '../faults/clients.ts'
import { startClientsOn, untilAcknowledging } from '../faults/kill.ts'
import { OUTAGES, type OutageName, suffer } from '../faults/outages.ts'
import { setSlowFsync } from './slow-fsync.ts'

export type ChaosScene = {
  readonly dir: string
  readonly home: Deployment
  readonly guest: Deployment
  /** Proxy between the home's processes and its Postgres. */
  readonly proxy: TcpProxy
  /** True if Postgres' flushes can be delayed. That needs a C compiler. */
  readonly hasSlowDisk: boolean
  readonly ledgers: readonly Ledger[]
  readonly clients: RunningClients
  readonly random: Random
  readonly burstAttempts: Record<string, number>
}

type Fault = (scene: ChaosScene) => Promise<unknown>

/**
 * Number of clients of a burst. A process handles 256 requests at once and accepts a burst of 2,048 more. There are
 * more clients than both together, so some requests are refused even if this machine sends slowly. During the burst the
 * ledgers stay locked, so that no request ends: without the lock, one run of three refused no request. Postgres must
 * keep answering: otherwise it counts as unavailable, and every request is refused for that reason.
 */
const BURST_CLIENTS = 2_600
const BURST_MS = 4_000
/**
 * Maximum time in ms for which the ledger is locked. The lock ends as soon as a request is refused. A busy machine
 * takes long to send so many requests.
 */
const BURST_MS_MAX = 60_000
const SLOW_DISK_MS = 4_000
const SLOW_FSYNC_US = [5_000, 50_000, 400_000] as const
/** Result of a request that is refused because too many requests are in progress. */
export const OVERLOADED = '503 overloaded'
/**
 * Maximum number of starts. At a load average of 36 on two cores, five starts of a worker failed because each found
 * no connection within 5 s.
 */
const STARTS_MAX = 40
const CRASH_SEEN_MS = 500
const APIS = [0, 1] as const

/** Faults that end no process and do not increase memory, so that memory can be measured meanwhile. */
const GENTLE: Readonly<Record<string, Fault>> = {
  'slow disk': slowDisk,
  "envelope key of the home's": ({ home }) => home.rotateKey({ force: true }),
  "envelope key of the guest's": ({ guest }) => guest.rotateKey({ force: true }),
}

const FAULTS: Readonly<Record<string, Fault>> = {
  ...GENTLE,
  ...Object.fromEntries(
    (Object.keys(OUTAGES) as OutageName[]).map((name) => [
      name,
      ({ home, proxy }: ChaosScene) => suffer({ deployment: home, proxy }, OUTAGES[name]),
    ]),
  ),
  'kill API 0': ({ home }) => killApi(home, 0),
  'kill API 1': ({ home }) => killApi(home, 1),
  'kill worker 0': ({ home }) => killWorker(home, 0),
  'kill worker 1': ({ home }) => killWorker(home, 1),
  'kill both workers': ({ home }) => Promise.all([killWorker(home, 0), killWorker(home, 1)]),
  'kill Postgres': ({ home }) => killPostgres(home, 'server'),
  'kill the postmaster': ({ home }) => killPostgres(home, 'postmaster'),
  'kill the backend that appends': killBackend,
  "kill the guest's API": ({ guest }) => killApi(guest, 0),
  "kill the guest's worker": ({ guest }) => killWorker(guest, 0),
  "kill the guest's Postgres": ({ guest }) => killPostgres(guest, 'server'),
  'kill Postgres on a slow disk': killOnSlowDisk,
  'full queue': burst,
  'master key': replaceMasterKey,
}

/** Maps each fault to the times in ms from the fault's beginning until records were acknowledged again. */
export type Suffered = Readonly<Record<string, number[]>>

/**
 * Causes all faults in turn. Order and times depend on the seed. Resolves when the time is over and each fault has
 * occurred at least once, which takes longer on a slow machine. After each fault the home must acknowledge records
 * again.
 */
export async function sufferInTurn(
  scene: ChaosScene,
  { kinds, untilMs, pauseMs }: ChaosTurns,
): Promise<Suffered> {
  const faults = kinds === 'gentle' ? GENTLE : FAULTS
  const suffered: Record<string, number[]> = {}
  const isOver = () =>
    performance.now() > untilMs && Object.keys(suffered).length === Object.keys(faults).length
  for (let deck: string[] = []; !isOver(); ) {
    if (deck.length === 0) deck = shuffle(Object.keys(faults), scene.random)
    await sleep(scene.random.integer(pauseMs.min, pauseMs.max))
    const name = deck.pop()!
    const at = performance.now()
    try {
      await faults[name]!(scene)
      await untilAcknowledging(scene.clients, scene.home)
    } catch (error) {
      throw new Error(`chaos: ${name}, after ${JSON.stringify(suffered)}`, { cause: error })
    }
    scene.guest.requireAlive()
    suffered[name] = [...(suffered[name] ?? []), Math.round(performance.now() - at)]
  }
  return suffered
}

export type ChaosTurns = {
  readonly kinds: 'all' | 'gentle'
  /** End of the faults, in ms of this process's clock. */
  readonly untilMs: number
  readonly pauseMs: { readonly min: number; readonly max: number }
}

function shuffle(names: string[], random: Random): string[] {
  for (let i = names.length - 1; i > 0; i--) {
    const j = random.integer(0, i)
    ;[names[i], names[j]] = [names[j]!, names[i]!]
  }
  return names
}

async function killApi(deployment: Deployment, i: number): Promise<void> {
  await deployment.killApi(i)
  await startAgain(() => deployment.startApi(i))
}

async function killWorker(deployment: Deployment, i: number): Promise<void> {
  await deployment.killWorker(i)
  await startAgain(() => deployment.startWorker(i))
}

/** Starts a process repeatedly, as an orchestrator does. A process that finds no database at its start ends. */
async function startAgain(start: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await start()
    } catch (error) {
      if (tries === STARTS_MAX) throw error
    }
  }
}

async function killPostgres(
  deployment: Deployment,
  victim: Exclude<PostgresVictim, 'backend'>,
): Promise<void> {
  await deployment.killPostgres(victim)
  await deployment.startPostgres()
}

/**
 * Kills a backend, and waits until the other backends have noticed. Records that were acknowledged earlier do not prove
 * a recovery.
 */
async function killBackend({ home }: ChaosScene): Promise<void> {
  await home.killPostgres('backend')
  await sleep(CRASH_SEEN_MS)
}

/** Simulates storage with a full queue: each flush takes longer, by up to 0.4 s. */
async function slowDisk({ dir, random, hasSlowDisk }: ChaosScene): Promise<void> {
  if (!hasSlowDisk) return
  setSlowFsync(dir, random.pick(SLOW_FSYNC_US))
  await sleep(SLOW_DISK_MS)
  setSlowFsync(dir, 0)
}

async function killOnSlowDisk(scene: ChaosScene): Promise<void> {
  const slow = slowDisk(scene)
  await sleep(SLOW_DISK_MS / 2)
  await killPostgres(scene.home, 'server')
  await slow
}

/** Sends more requests at once than an API process accepts, to ledgers whose heads are locked. */
async function burst({ dir, home, ledgers, burstAttempts }: ChaosScene): Promise<void> {
  const clients = await withPatientClient(home.superuserUrl, async (client) => {
    await client.query('begin')
    await client.query('select from tallystick.chain_heads where ledger_id = any ($1::uuid[]) for update', [
      ledgers.map(({ ledger }) => parseId('led', ledger)),
    ])
    const started = startClientsOn(home, dir, ledgers, BURST_CLIENTS, {
      targets: [home.urls[0]!],
      batchItems: 2,
    })
    for (const at = performance.now(); ; await sleep(100)) {
      const ms = performance.now() - at
      if (ms > BURST_MS_MAX || (ms > BURST_MS && OVERLOADED in started.attempts)) return started
    }
  })
  await clients.finish()
  for (const [label, count] of Object.entries(clients.attempts))
    burstAttempts[label] = (burstAttempts[label] ?? 0) + count
}

/** Replaces the master key by the steps of docs/operate/secrets.md. */
async function replaceMasterKey({ home }: ChaosScene): Promise<void> {
  const previous = home.masterKeys[0]!
  const current = Uint8Array.from(previous, (byte) => (byte + 1) % 256)
  home.masterKeys = [current, previous]
  await restartAll(home)
  const reseal = () =>
    withPatientClient(home.ownerUrl, (client) => resealSecrets(client, { previous, current }))
  for (let left = 1; left > 0; await sleep(1.5 * MASTER_KEY_AGE_MS_MAX)) {
    const { refused, ...resealed } = await reseal()
    if (refused > 0) throw new Error(`${refused} rows are sealed under neither key`)
    left = Object.values(resealed).reduce((sum, count) => sum + count, 0)
  }
  home.masterKeys = [current]
  await restartAll(home)
}

async function restartAll(home: Deployment): Promise<void> {
  const restartApi = async (i: number) => {
    const code = await home.stopApi(i)
    if (code !== 0) throw new Error(`an API process that was stopped ended with ${code}`)
    await startAgain(() => home.startApi(i))
  }
  for (const i of APIS) await Promise.all([restartApi(i), killWorker(home, i)])
}
