import { setTimeout as sleep } from 'node:timers/promises'
import { randomFrom } from '../../../bench/load/random.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { startPostgres } from '../../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import {
  type Member,
  type Organisation,
  type OwnDatabase,
  peer,
  registerDelivery,
  startOrganisations,
} from '../../helpers/federation.ts'
import { putCluster } from '../../helpers/postgres.ts'
import { type FaultKind, type FaultProxy, seededPlan, startFaultProxy } from '../../helpers/tcp-faults.ts'
import { type Partners, startFederationClients } from './federation-clients.ts'
import { type FederationReckoning, type Peering, reckonPeerings } from './federation-reckoning.ts'
import { checkLedger } from './ledger-contents.ts'

export type FederationPlan = {
  readonly seed: number
  readonly organisations: 2 | 3
  /** Number of clients for each pair of organisations. In a pair, one organisation performs records of the other. */
  readonly clients: number
  readonly kills: number
  /** Number of kills before which one organisation rotates a key. The organisations take turns. */
  readonly rotations: number
  readonly loadMs: { readonly min: number; readonly max: number }
  /** Share of the requests between servers that have a fault, and the longest duration of a fault. */
  readonly faults: { readonly share: number; readonly msMax: number }
  /** True if senders that failed often retry immediately at the end. */
  readonly hurry: boolean
}

export type FederationOutcome = {
  readonly reckoning: FederationReckoning
  readonly entries: number
  readonly ends: Readonly<Record<string, number>>
  readonly met: Readonly<Record<FaultKind, number>>
  readonly requestsHit: readonly number[]
  readonly settleMs: number
}

const HIT_MS_MAX = 500
/**
 * Time in ms without an arrival after which missing entries count as lost. It is this long because a sender that has
 * failed for long retries only after minutes.
 */
const SETTLE_MS_MAX = 360_000
const PASSWORDS = { api: 'faults-api', worker: 'faults-worker' }

/**
 * Runs organisations that all have peerings and share records, behind proxies that cause network faults. Meanwhile
 * their servers and workers are killed. Then the faults end, and both sides of each peering must agree.
 */
export async function sufferFederation(dir: string, plan: FederationPlan): Promise<FederationOutcome> {
  const cleanups: (() => Promise<void>)[] = []
  const t = {
    name: 'federation-faults',
    after: (cleanup: () => Promise<void>) => void cleanups.push(cleanup),
  }
  try {
    return await suffer(t, dir, plan)
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

type Ends = { readonly name: string; after(cleanup: () => Promise<void>): void }

async function suffer(t: Ends, dir: string, plan: FederationPlan): Promise<FederationOutcome> {
  const databases = await freshDatabases(t, dir, plan.organisations)
  const proxies: FaultProxy[] = []
  const organisations = await startOrganisations(t, plan.organisations, {
    processes: true,
    databases,
    async through(url, i) {
      proxies[i] = await startFaultProxy(t, url, seededPlan(plan.seed + i, plan.faults))
      return proxies[i].url
    },
  })
  const peerings = await peerAll(organisations)
  const pairs = await pairsOf(organisations, peerings)
  const clients = startFederationClients(Array(plan.clients).fill(pairs).flat())
  t.after(() => clients.abandon())
  const requestsHit = await killAtRandom(organisations, proxies, plan)
  for (const proxy of proxies) proxy.heal()
  const healedAt = performance.now()
  const hurrying = new AbortController()
  const hurry = plan.hurry ? hurryAll(peerings, hurrying.signal) : Promise.resolve()
  try {
    await clients.finish()
    const reckoning = await settle(peerings)
    const settleMs = Math.round(performance.now() - healedAt)
    let entries = 0
    for (const { database, ledger } of organisations)
      entries += await checkLedger(database.superuserUrl, ledger)
    return { reckoning, entries, ends: clients.ends, met: sumOf(proxies), requestsHit, settleMs }
  } catch (error) {
    throw new Error(organisations.map((organisation) => organisation.logs()).join('\n'), { cause: error })
  } finally {
    hurrying.abort()
    await hurry
  }
}

/** Starts one Postgres that is as durable as in a deployment. Returns `count` databases. */
export async function freshDatabases(t: Ends, dir: string, count: number): Promise<OwnDatabase[]> {
  const dataDir = putCluster(`${dir}/postgres`)
  const postgres = await startPostgres({ dataDir, settings: { max_connections: 200 } })
  t.after(() => postgres.stop('immediate'))
  const databases: OwnDatabase[] = []
  for (let i = 0; i < count; i++) {
    const urlOf = (base: string, login: object = {}) =>
      Object.assign(new URL(base), { pathname: `/organisation_${i}` }, login).href
    await withClient(postgres.superuserUrl, (client) =>
      client.query(`create database organisation_${i} owner tallystick_owner`),
    )
    const ownerUrl = urlOf(postgres.ownerUrl)
    await migrate({ ownerUrl, masterKey: makeMasterKey(new Uint8Array(32).fill(i)), passwords: PASSWORDS })
    databases.push({
      apiUrl: urlOf(ownerUrl, { username: 'tallystick_api', password: PASSWORDS.api }),
      workerUrl: urlOf(ownerUrl, { username: 'tallystick_worker', password: PASSWORDS.worker }),
      superuserUrl: urlOf(postgres.superuserUrl),
    })
  }
  return databases
}

export async function peerAll(organisations: readonly Member[]): Promise<Peering[]> {
  const peerings: Peering[] = []
  for (const [i, invited] of organisations.entries()) {
    await registerDelivery(invited)
    for (const inviter of organisations.slice(0, i))
      peerings.push({ id: await peer(inviter, invited, SETTLE_MS_MAX), sides: [inviter, invited] })
  }
  return peerings
}

/** Returns a pair for each direction between any two organisations. */
export async function pairsOf(
  organisations: readonly Member[],
  peerings: readonly Peering[],
): Promise<Partners[]> {
  const peerOf = (a: Member, b: Member) =>
    peerings.find(({ sides }) => sides.includes(a) && sides.includes(b))!.id
  const pairs: Partners[] = []
  for (const guest of organisations) {
    const performer = await guest.addAgent('performer')
    for (const home of organisations.filter((one) => one !== guest)) {
      const other = organisations.find((one) => one !== guest && one !== home)
      const witness = other ? { peer: peerOf(home, other), organisation: other } : null
      pairs.push({ home, guest, performer, peer: peerOf(home, guest), witness })
    }
  }
  return pairs
}

/**
 * Kills servers and workers of all organisations in an order that depends on the seed. Resolves to the number of
 * requests in progress at each kill.
 */
async function killAtRandom(
  organisations: readonly Organisation[],
  proxies: readonly FaultProxy[],
  { seed, kills, rotations, loadMs }: FederationPlan,
): Promise<number[]> {
  const random = randomFrom(seed)
  const hit: number[] = []
  const countUnderWay = () => proxies.reduce((sum, { underWay }) => sum + underWay, 0)
  for (let i = 0; i < kills; i++) {
    if (i < rotations) await organisations[i % organisations.length]!.rotateKey()
    await sleep(random.integer(loadMs.min, loadMs.max))
    for (let ms = 0; ms < HIT_MS_MAX && countUnderWay() === 0; ms++) await sleep(1)
    hit.push(countUnderWay())
    const victim = random.pick(organisations)
    const part = random.pick(['api', 'worker'] as const)
    await victim.kill(part)
    await victim.start(part)
  }
  return hit
}

/**
 * Waits until everything is received or until nothing more arrives. Entries that are missing at the end count as lost.
 */
export async function settle(peerings: readonly Peering[]): Promise<FederationReckoning> {
  let fewest = Number.POSITIVE_INFINITY
  for (let giveUpAt = 0; ; await sleep(500)) {
    const reckoning = await reckonPeerings(peerings)
    const { lost, openOffers, unlike, deadLetters } = reckoning
    const left = lost + openOffers + unlike
    if (left < fewest) giveUpAt = Date.now() + SETTLE_MS_MAX
    fewest = Math.min(fewest, left)
    if (left === 0 || deadLetters > 0 || Date.now() > giveUpAt) return reckoning
  }
}

/** Makes senders retry now, as an operator does who knows that the receiving servers are available again. */
export async function hurryAll(
  peerings: readonly Peering[],
  signal: AbortSignal,
  everyMs = 1_000,
): Promise<void> {
  while (!signal.aborted) {
    for (const { id, sides } of peerings)
      for (const side of sides)
        await side.send('POST', `/v1/peers/${id}/replay`, { body: {} }).catch(() => {})
    await sleep(everyMs, undefined, { signal }).catch(() => {})
  }
}

function sumOf(proxies: readonly FaultProxy[]): Record<FaultKind, number> {
  const kinds = Object.keys(proxies[0]!.met) as FaultKind[]
  const sum = (kind: FaultKind) => proxies.reduce((all, { met }) => all + met[kind], 0)
  return Object.fromEntries(kinds.map((kind) => [kind, sum(kind)])) as Record<FaultKind, number>
}

export function formatFederation(outcome: FederationOutcome): string {
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')
  const { entries, ends, met, requestsHit, settleMs } = outcome
  return (
    `records: ${list(ends)}; entries=${entries} verified; requests: ${list(met)}; ` +
    `under way at each kill: ${requestsHit.join(', ')}; settled ${settleMs} ms after the last fault`
  )
}
