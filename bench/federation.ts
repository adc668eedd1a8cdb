import { setTimeout as sleep } from 'node:timers/promises'
import { type LatencySummary, summarizeMs } from '../cli/preflight/latencies.ts'
import { type CpuSnapshot, type CpuUse, cpuBetween, takeCpuSnapshot } from './cpu.ts'
import type { Database } from './database.ts'
import { auditPair, type FederationAudit } from './federation-audit.ts'
import { listReceived, readSize } from './federation-reads.ts'
import type { Pace } from './load.ts'
import { runLoad } from './load-process.ts'
import type { Options } from './options.ts'
import { makePeering, type Pair, type Party, partyOf, type Side, startPair } from './pair.ts'
import { get, post } from './post.ts'
import { type ProfileSummary, profileWindow } from './profile.ts'
import type { Deployment } from './system.ts'

/** Entries of one ledger that the other one receives, each by an entry of its own. */
export type FederationPhase = {
  readonly name: string
  /** That appeared in the receiver's chain within the window. */
  readonly entries: number
  readonly measuredMs: number
  readonly entriesPerSecond: number
  /** From the sender's `recordedAt` to the receiver's; null where a backlog was drained. Nanoseconds, measured in milliseconds. */
  readonly lag: LatencySummary | null
  /** Average cores in use within the window. */
  readonly cpu: CpuUse
  readonly profiles: readonly ProfileSummary[]
}

export type FederationFigures = {
  readonly phases: readonly FederationPhase[]
  readonly audit: FederationAudit
}

type Documents = 'whole' | 'digests'

type Bench = {
  readonly pair: Pair
  readonly peer: string
  /** An agent of the guest's: performer of all records. */
  readonly performer: { readonly name: string; readonly bearer: string }
  readonly postmaster: number | null
  readonly options: Options
  /** Records, so far. */
  shared: number
  seed: number
}

const PER_SECOND_DEFAULT = 100
const FILL_CONNECTIONS = 128
/** The other followers of a backlog's entries are done with them before it is drained. */
const CALM_MS = 3_000
const LOOK_EVERY_MS = 20
/** Without a single entry for so long, the rest never comes. */
const STUCK_MS = 20_000
const OFFERS_AT_ONCE = 32
const OFFERS_PER_SECOND_OF_PHASE = 100

/** Backlogs, records at a constant rate, offers; both servers, both workers and Postgres on one machine. */
export async function runFederation(
  database: Database,
  deployment: Deployment,
  options: Options,
  announce: (line: string) => void,
): Promise<FederationFigures> {
  const pair = await startPair(database, deployment, { inspect: options.profile })
  try {
    const bench = await prepare(pair, database.postmaster, options)
    announce('… to warm up')
    await drainBacklog(bench, 'whole', Math.max(500, options.warmUpMs))
    const phases: FederationPhase[] = []
    for (const documents of ['whole', 'digests'] as const) {
      announce(`… a backlog, ${documents}`)
      phases.push(await drainBacklog(bench, documents, options.durationMs))
    }
    if (options.arrival) {
      announce('… a constant rate')
      phases.push(await followRate(bench))
      announce('… offers')
      phases.push(await takeOffers(bench))
    }
    return { phases, audit: await auditPair(pair, bench.shared) }
  } finally {
    await pair.stop()
  }
}

async function prepare(pair: Pair, postmaster: number | null, options: Options): Promise<Bench> {
  const guest = partyOf(pair.guest)
  const peer = await makePeering(partyOf(pair.home), guest)
  const { agent, key } = await post(guest.target, guest.bearer, '/v1/keys', {
    name: 'performer',
    scopes: ['records:write', 'records:read'],
  })
  const performer = { name: `${pair.guest.system.ledger}/${agent}`, bearer: key }
  return { pair, peer, performer, postmaster, options, shared: 0, seed: options.seed * 100 }
}

/** Nothing is sent while the peering is suspended. From its resumption until all is in the guest's chain. */
async function drainBacklog(bench: Bench, documents: Documents, fillMs: number): Promise<FederationPhase> {
  const { home, guest } = bench.pair
  await changePeering(bench, 'suspend')
  const records = await load(bench, { pace: { kind: 'closed' }, durationMs: fillMs, documents })
  await sleep(CALM_MS)
  const size = await readSize(guest)
  const profiles = await beginProfiles(bench, [
    ['the home’s worker', home.system.worker!],
    ['the guest’s API process', guest.system.servers[0]!],
    ['the guest’s worker', guest.system.worker!],
  ])
  const before = snapshot(bench)
  await changePeering(bench, 'resume')
  await awaitSize(guest, size + records)
  const after = snapshot(bench)
  const name = `a backlog, ${documents}`
  return {
    ...phaseOf(name, records, before, after),
    lag: null,
    profiles: await profiles(name, records),
  }
}

async function followRate(bench: Bench): Promise<FederationPhase> {
  const { options, pair } = bench
  const { home, guest } = pair
  const perSecond = options.perSecond ?? PER_SECOND_DEFAULT
  const pace = { kind: 'arrival', perSecond, backlogMax: perSecond * 5 } as const
  const fill = async (durationMs: number, onEdge?: (pid: number) => void) => {
    const size = await readSize(guest)
    const records = await load(bench, { pace, durationMs, documents: 'whole' }, onEdge)
    await awaitSize(guest, size + records)
    return records
  }
  await fill(options.warmUpMs)
  await sleep(CALM_MS)
  const from = await readSize(guest)
  const snapshots: CpuSnapshot[] = []
  const records = await fill(options.durationMs, (pid) => snapshots.push(snapshot(bench, pid)))
  const received = await listReceived(home, guest, from)
  return {
    ...phaseOf(`${perSecond}/s`, records, snapshots[0]!, snapshots[1]!),
    lag: summarizeMs(received.map(({ lagMs }) => lagMs)),
    profiles: [],
  }
}

/** The guest's agent activates records at its own server; each offer is taken by an entry of the home's. */
async function takeOffers(bench: Bench): Promise<FederationPhase> {
  const { pair, performer, options } = bench
  const { home, guest } = pair
  const { target } = partyOf(guest)
  const wanted = Math.ceil((options.durationMs / 1000) * OFFERS_PER_SECOND_OF_PHASE)
  const from = await readSize(home)
  const guestSize = await readSize(guest)
  const open = await listRecords(partyOf(home), wanted)
  const profiles = await beginProfiles(bench, [['the home’s API process', home.system.servers[0]!]])
  const before = snapshot(bench, process.pid)
  const offered = open.length
  const offerAll = async () => {
    for (let id = open.pop(); id !== undefined; id = open.pop())
      await post(target, performer.bearer, `/v1/records/${id}/activate`, {})
  }
  await Promise.all(Array.from({ length: OFFERS_AT_ONCE }, offerAll))
  await awaitSize(home, from + offered)
  const after = snapshot(bench, process.pid)
  // An offer each, and what the home has made of it.
  await awaitSize(guest, guestSize + offered * 2)
  const taken = await listReceived(guest, home, from)
  const name = `offers, ${OFFERS_AT_ONCE} at once`
  return {
    ...phaseOf(name, offered, before, after),
    lag: summarizeMs(taken.map(({ lagMs }) => lagMs)),
    profiles: await profiles(name, offered),
  }
}

function phaseOf(name: string, entries: number, before: CpuSnapshot, after: CpuSnapshot) {
  const measuredMs = after.atMs - before.atMs
  const entriesPerSecond = entries / (measuredMs / 1000)
  return { name, entries, measuredMs, entriesPerSecond, cpu: cpuBetween(before, after) }
}

/** Answers how many records the home has taken. */
async function load(
  bench: Bench,
  shape: { readonly pace: Pace; readonly durationMs: number; readonly documents: Documents },
  onEdge: (pid: number) => void = () => {},
): Promise<number> {
  const { options, pair, peer, performer } = bench
  const { targets, bearer } = pair.home.system
  const { acknowledgedItems, unanswered, statuses } = await runLoad(
    {
      targets,
      connections: FILL_CONNECTIONS,
      pace: shape.pace,
      request: {
        host: 'localhost',
        bearers: [bearer],
        kind: 'record',
        members: {
          type: 'task/1',
          performer: performer.name,
          share: [{ peer, documents: shape.documents }],
        },
        items: 1,
        payloadBytes: options.payloadBytes,
        idempotencyKeys: false,
        seed: bench.seed++,
        expectedStatus: 201,
      },
      warmUpMs: 0,
      durationMs: shape.durationMs,
      drainMsMax: 10_000,
      sampleEvery: 0,
    },
    { onEdge: (_, pid) => onEdge(pid) },
  )
  if (unanswered > 0) throw new Error(`${unanswered} records were never answered`)
  if (acknowledgedItems === 0) throw new Error(`no record was taken: ${JSON.stringify(statuses)}`)
  bench.shared += acknowledgedItems
  return acknowledgedItems
}

async function changePeering({ pair, peer }: Bench, to: 'suspend' | 'resume'): Promise<void> {
  const { target, bearer } = partyOf(pair.home)
  await post(target, bearer, `/v1/peers/${peer}/${to}`, {})
}

/** The newest that nobody has activated. */
async function listRecords({ target, bearer }: Party, wanted: number): Promise<string[]> {
  const ids: string[] = []
  for (let cursor = ''; ids.length < wanted; ) {
    const page = await get(target, bearer, `/v1/records?state=CREATED&limit=100${cursor}`)
    ids.push(...page.data.map(({ id }: { id: string }) => id))
    if (page.nextCursor === null) break
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`
  }
  return ids.slice(0, wanted)
}

/** Until the chain has so many entries. Throws where no more come. */
async function awaitSize(side: Side, wanted: number): Promise<void> {
  let progress = { size: -1, atMs: 0 }
  for (;;) {
    const size = await readSize(side)
    if (size >= wanted) return
    if (size > progress.size) progress = { size, atMs: performance.now() }
    if (performance.now() - progress.atMs > STUCK_MS)
      throw new Error(`the ${side.name}'s chain has ${size} entries, and not ${wanted}, for ${STUCK_MS} ms`)
    await sleep(LOOK_EVERY_MS)
  }
}

type Profiled = readonly (readonly [string, Parameters<typeof profileWindow>[0]])[]

/** None without `--profile`. What it answers ends them. */
async function beginProfiles(
  { options }: Bench,
  processes: Profiled,
): Promise<(name: string, items: number) => Promise<ProfileSummary[]>> {
  const begun = await Promise.all(
    (options.profile ? processes : []).map(async ([process, child]) => ({
      process,
      window: await profileWindow(child, options.outDir),
    })),
  )
  for (const { window } of begun) window.start()
  return async (name, items) => {
    for (const { window } of begun) window.stop()
    return Promise.all(
      begun.map(async ({ process, window }) => ({
        process,
        ...(await window.summarize(`federation-${name}-${process}`, items)),
      })),
    )
  }
}

function snapshot({ pair: { home, guest }, postmaster }: Bench, loadPid?: number): CpuSnapshot {
  const processes = Object.fromEntries(
    [home, guest].flatMap(({ name, system }) => [
      [`${name} API`, system.servers.map(({ pid }) => pid)],
      [`${name} worker`, [system.worker!.pid]],
    ]),
  )
  return takeCpuSnapshot({
    processes: { ...processes, load: loadPid === undefined ? [] : [loadPid] },
    postmaster,
  })
}
