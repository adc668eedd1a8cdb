import { join } from 'node:path'
import type pg from 'pg'
import type { Logger } from 'pino'
import { registerFollowers, registerQueues } from '../../worker/register.ts'
import { traceFollowers, traceQueues } from '../../worker/trace-work.ts'
import { openQueues, workQueues } from '../../worker/work-queues.ts'
import { loadSigners, openSigners } from '../append/open-signers.ts'
import { loadKeysFrom } from '../db/chain/signed-entries.ts'
import type { ArchiveContent } from '../db/connect/archive.ts'
import { DatabaseClock } from '../db/connect/clock.ts'
import { Database } from '../db/connect/connection.ts'
import { watchHalfOpen } from '../db/connect/half-open.ts'
import { checkLogin } from '../db/connect/logins.ts'
import { openPeerPool, openReadPool, openWebhookPool } from '../db/connect/pools.ts'
import { makeJobObserver, watchJobs } from '../db/jobs/metrics.ts'
import { watchClock, watchPool } from '../db/metrics.ts'
import { checkDatabase, untilMigrated } from '../db/schema/check-database.ts'
import { getNoteKeySecret } from '../db/schema/server-keys.ts'
import { watchArchiveReads } from '../followers/archive/metrics.ts'
import { EntryVerifier } from '../followers/audit/entry-verifier.ts'
import { makeAuditObserver, makeEntryObserver, watchAudits } from '../followers/audit/metrics.ts'
import { UrgentLedgers } from '../followers/audit/urgent-ledgers.ts'
import { PausedLedgers } from '../followers/checkpoints/faulty-ledgers.ts'
import {
  watchCheckpoints,
  watchErasures,
  watchRestoredLedgers,
  watchRotation,
} from '../followers/checkpoints/metrics.ts'
import { RestoredLedgers } from '../followers/checkpoints/restored-ledgers.ts'
import { StoredCheckpoints } from '../followers/checkpoints/stored-checkpoints.ts'
import { runFollower } from '../followers/loop.ts'
import { makeFollowerObserver } from '../followers/metrics.ts'
import { ERASURES_REFUSED, EXPIRIES_REFUSED, RefusedItems } from '../followers/refused.ts'
import { watchRetention } from '../followers/retention/metrics.ts'
import { followMasterKey } from '../followers/rotation/follow-master-key.ts'
import {
  makeExpiryObserver,
  makeVerificationObserver,
  watchExpiry,
  watchVerification,
} from '../followers/verification/metrics.ts'
import { traceVerification } from '../followers/verification/spans.ts'
import { Waker } from '../followers/waker.ts'
import { makeWitnessObserver, watchWitnesses } from '../followers/witnesses/metrics.ts'
import { namedWitness } from '../followers/witnesses/named-witness.ts'
import { peerWitnesses } from '../followers/witnesses/peer-witnesses.ts'
import { WitnessSender, type WitnessTarget } from '../followers/witnesses/witness-sender.ts'
import { openThreads, type Threads } from '../http/bodies/threads.ts'
import { watchTypes } from '../ledgers/types/metrics.ts'
import { TypeRegistry } from '../ledgers/types/type-registry.ts'
import { makeByteBudget } from '../load/budgets.ts'
import { openLog } from '../observe/log.ts'
import { watchLog } from '../observe/metrics/log.ts'
import { Metrics } from '../observe/metrics/metrics.ts'
import { makeTraceObserver } from '../observe/metrics/traces.ts'
import { StandardOutput } from '../observe/standard-output.ts'
import { openTracing, warnOfIgnored } from '../observe/tracing/open.ts'
import type { Tracing } from '../observe/tracing/tracing.ts'
import { VERSION } from '../observe/version.ts'
import { Connector } from '../outside/connector/connector.ts'
import { makeSendingObserver, watchPeerSenders, watchPeers } from '../outside/federation/metrics.ts'
import { PeerSenders } from '../outside/federation/peer-sender.ts'
import { makePostTracer } from '../outside/federation/spans.ts'
import { EndpointSenders, type EndpointSendersDeps } from '../outside/webhooks/endpoint-senders.ts'
import {
  makeDeliveryObserver,
  makeStopObserver,
  watchOutbound,
  watchSenders,
  watchWebhooks,
} from '../outside/webhooks/metrics.ts'
import { makeAttemptTracer } from '../outside/webhooks/spans.ts'
import type { Signer } from '../proof/crypto.ts'
import type { Uuid } from '../proof/ids.ts'
import { makeCursorMac } from '../signing/cursor-mac.ts'
import { makeEntropy } from '../signing/entropy.ts'
import { EnvelopeKeys } from '../signing/envelope-keys.ts'
import type { MasterKey } from '../signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from '../signing/native.ts'
import { makePeerMacs } from '../signing/peer-macs.ts'
import { makePeerWitnessKeys } from '../signing/peer-witness-keys.ts'
import type { Signers } from '../signing/signers.ts'
import { ARCHIVE_UNHURRIED_MS_MAX } from '../verify/archive/limits.ts'
import { openArchiveStores } from '../verify/archive/open-stores.ts'
import type { ArchiveStores } from '../verify/archive/s3-store.ts'
import { openArchive, openRelease } from './archive-work.ts'
import { openArchivedContent, warnOfReleased } from './archived-content.ts'
import { type Config, readConfig, required } from './config.ts'
import { PEER_ANSWERS_BYTES_MAX } from './limits.ts'
import { withMetrics } from './listen-metrics.ts'
import { lowerPriority } from './lower-priority.ts'
import { getMasterKey } from './master-key.ts'
import { runProcess, type Service } from './run-process.ts'

/**
 * What all parts of the worker need. `closers`: functions that close the parts, in the order in which the parts were
 * opened.
 */
type WorkerBase = {
  readonly config: Config
  /** Stores of the archive; null if no archive is configured. */
  readonly stores: ArchiveStores | null
  /** Opens an archive reader with an empty cache. Returns null if no archive is configured. */
  readonly openContent: () => ArchiveContent | null
  readonly database: Database
  readonly masterKey: MasterKey
  readonly log: Logger
  readonly pool: pg.Pool
  /** The database's clock, which stamps entries, requests and deliveries. */
  readonly clock: DatabaseClock
  readonly metrics: Metrics
  /** Tracing; null if tracing is off. */
  readonly tracing: Tracing | null
  readonly closers: (() => Promise<unknown>)[]
}

/** Starts all background work. `close` lets running rounds finish. */
export async function startWorker(
  config: Config,
  metrics = new Metrics(),
  log = openLog(config.logLevel, new StandardOutput({ dropped: watchLog(metrics, 'worker') })),
): Promise<Service> {
  const url = required(
    config.workerUrl,
    'TALLYSTICK_WORKER_DATABASE_URL',
    "the database, as the worker's login",
  )
  const masterKey = getMasterKey(config, 'this key opens the note key')
  const stores = config.archive && (await openArchiveStores(config.archive.location))
  const read = stores && { stores, observe: watchArchiveReads(metrics), msMax: ARCHIVE_UNHURRIED_MS_MAX }
  const openContent = () => read && openArchivedContent(masterKey, read)
  const database = new Database(
    url,
    config.database,
    (chunks) => masterKey.databaseMac(chunks),
    openContent(),
  )
  const pool = openReadPool(database, log)
  watchPool(metrics, 'worker', pool)
  warnOfIgnored(config.tracingIgnored, log)
  const tracing = await openTracing(config.tracing, 'tallystick-worker', () =>
    makeTraceObserver(metrics, 'worker', log),
  )
  const closers: WorkerBase['closers'] = [
    () => pool.end(),
    async () => stores?.close(),
    async () => tracing?.close(),
  ]
  try {
    const pooler = await checkDatabase(database, pool, log, config.schemaWaitMs)
    await checkLogin(pool, 'worker')
    if (!stores) await warnOfReleased(pool, log)
    const stopWatching = watchHalfOpen(database, pooler, log)
    closers.push(async () => stopWatching())
    const clock = await DatabaseClock.start(pool, log)
    closers.push(async () => clock.close())
    watchClock(metrics, clock)
    return await startWork({
      config,
      stores,
      openContent,
      database,
      masterKey,
      log,
      pool,
      clock,
      metrics,
      tracing,
      closers,
    })
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}

async function startWork(base: WorkerBase): Promise<Service> {
  const { log, metrics, tracing, closers } = base
  const stop = new AbortController()
  const deps = await openWorkDeps(base, stop.signal)
  const queues = traceQueues(tracing, registerQueues(deps))
  const wakers = await workQueues(deps.boss, queues, {
    log,
    signal: stop.signal,
    observe: makeJobObserver(metrics),
  })
  const followers = traceFollowers(
    tracing,
    {
      ...deps,
      wakeVerification: wakers.get('verify-completion')!,
      wakeDelivery: wakers.get('deliver-webhook')!,
      wakeDrain: wakers.get('drain-peer')!,
    },
    registerFollowers,
  )
  const names = { followers: followers.map(({ name }) => name), queues: queues.map(({ queue }) => queue) }
  log.info(names, 'the worker is running')
  const observe = makeFollowerObserver(metrics, names.followers)
  const running = Promise.all(followers.map((follower) => runFollower(follower, log, stop.signal, observe)))
  return {
    async close() {
      stop.abort()
      await running
      await closeAll(closers)
    },
  }
}

async function openWorkDeps(base: WorkerBase, stopping: AbortSignal) {
  const { config, database, masterKey, log, pool, clock, metrics, tracing, closers } = base
  const { seed } = await getNoteKeySecret(pool, masterKey)
  database.renew()
  const storedCheckpoints = new StoredCheckpoints(join(config.dataDir, 'checkpoints'))
  await storedCheckpoints.tryToWrite().catch((error: Error) => {
    throw new Error(
      `TALLYSTICK_DATA: ${error.message}. Checkpoints are stored in this folder: make it writable for this user, or set another persistent folder`,
      { cause: error },
    )
  })
  await storedCheckpoints.load(log)
  const restored = new RestoredLedgers({ pool, storedCheckpoints, log })
  watchRestoredLedgers(metrics, restored)
  // The check must end before the worker publishes anything. A server that waits for the worker starts after the check
  // too.
  await restored.checkAll()
  const faulty = new PausedLedgers()
  const countCheckpoint = watchCheckpoints(metrics, pool, faulty)
  const refusedErasures = new RefusedItems(() => performance.now(), ERASURES_REFUSED)
  const waitingErasures = new RefusedItems(() => performance.now(), ERASURES_REFUSED)
  const observeErasure = watchErasures(metrics, pool, refusedErasures)
  const pausedLedgers = new PausedLedgers()
  watchAudits(metrics, pool, pausedLedgers)
  const refusedExpiries = new RefusedItems(() => performance.now(), EXPIRIES_REFUSED)
  watchExpiry(metrics, pool, refusedExpiries)
  watchVerification(metrics, pool)
  const unmoved = new PausedLedgers()
  watchRotation(metrics, pool, unmoved)
  const threads = openThreads(config.threads, log)
  closers.push(() => threads.close())
  const types = new TypeRegistry({ readPool: pool, threads })
  watchTypes(metrics, 'worker', types)
  const signers = openSigners(pool, masterKey, clock.now)
  await signers.load()
  if (config.previousMasterKey) {
    const stopFollowing = followMasterKey({ signers, masterKey, database }, log)
    closers.push(async () => stopFollowing())
  }
  const queues = await untilMigrated(() => openQueues(database, log), log, config.schemaWaitMs)
  closers.push(() => queues.close())
  watchPool(metrics, 'jobs', queues.pool)
  watchJobs(metrics, pool)
  const envelopeKeys = new EnvelopeKeys(loadKeysFrom(pool))
  const cursorMac = makeCursorMac(masterKey)
  const [completionsWaker, urgentWaker] = [new Waker(), new Waker()]
  const urgentLedgers = new UrgentLedgers(() => urgentWaker.wake())
  const requestVerification = (ledgerId: Uuid) => urgentLedgers.add(ledgerId)
  const webhookSenders = openWebhookSenders(base, { envelopeKeys, cursorMac, requestVerification })
  const peerSenders = openPeerSenders(base, signers, threads)
  const noteSigner = makeEd25519Signer(nativeProviders.sha256, seed)
  const witnesses = openWitnesses(base, { stopping, signers, threads, noteSigner })
  const archive = openArchive(base, stopping)
  const observeVerification = makeVerificationObserver(metrics)
  const [verifier, urgentVerifier] = [new EntryVerifier(), new EntryVerifier()]
  closers.push(() => verifier.close())
  closers.push(() => urgentVerifier.close())
  return {
    pool,
    log,
    now: clock.now,
    machineNow: Date.now,
    entropy: makeEntropy(),
    masterKey,
    stopping,
    database,
    noteSigner,
    loadSigners: () => loadSigners(pool, masterKey),
    storedCheckpoints,
    restored,
    faulty,
    unmoved,
    pausedLedgers,
    refusedErasures,
    waitingErasures,
    refusedExpiries,
    signers,
    envelopeKeys,
    webhookSenders,
    peerSenders,
    types,
    observeCheckpoint(ledgerId: Uuid) {
      countCheckpoint()
      for (const sender of witnesses) sender.add(ledgerId)
    },
    witnesses,
    archive,
    release: openRelease(base, stopping),
    observeErasure,
    observeRetention: watchRetention(metrics, pool),
    observeAudit: makeAuditObserver(metrics),
    observeEntries: makeEntryObserver(metrics),
    observeVerification: tracing ? traceVerification(tracing, observeVerification) : observeVerification,
    observeExpiry: makeExpiryObserver(metrics),
    boss: queues.boss,
    verifier,
    urgentVerifier,
    cursorMac,
    urgentLedgers,
    requestVerification,
    urgentWaker,
    completionsWaker,
    verifiedSizeRose() {
      completionsWaker.wake()
      void webhookSenders.poll()
    },
  }
}

/**
 * Opens the webhook senders. They have their own connections and request limits, so that slow endpoints affect nothing
 * else.
 */
function openWebhookSenders(
  { config, database, masterKey, log, clock, metrics, tracing, closers }: WorkerBase,
  verification: Pick<EndpointSendersDeps, 'envelopeKeys' | 'cursorMac' | 'requestVerification'>,
): EndpointSenders {
  const pool = openWebhookPool(database, log)
  watchPool(metrics, 'webhooks', pool)
  closers.push(() => pool.end())
  const connector = new Connector({ allowances: config.outboundAllow, now: clock.now })
  closers.push(async () => connector.close())
  const senders = new EndpointSenders({
    pool,
    log,
    now: clock.now,
    entropy: makeEntropy(),
    connector,
    masterKey,
    ...verification,
    entriesUrl: `${config.publicUrl}/v1/entries`,
    userAgent: `Tallystick/${VERSION}`,
    observeDelivery: makeDeliveryObserver(metrics),
    observeStop: makeStopObserver(metrics),
    traceAttempt: tracing && makeAttemptTracer(tracing),
  })
  watchSenders(metrics, senders)
  watchOutbound(metrics, 'webhooks', connector)
  watchWebhooks(metrics, pool)
  closers.push(() => senders.stop())
  return senders
}

/** Opens the peer senders. Like the webhook senders, they have their own connections and limits. */
function openPeerSenders(
  { config, database, masterKey, log, clock, metrics, tracing, closers }: WorkerBase,
  signers: Signers,
  threads: Threads,
): PeerSenders {
  const pool = openPeerPool(database, log)
  watchPool(metrics, 'peers', pool)
  closers.push(() => pool.end())
  const connector = new Connector({ allowances: config.outboundAllow, now: clock.now })
  closers.push(async () => connector.close())
  const peerMacs = makePeerMacs(masterKey)
  const senders = new PeerSenders({
    pool,
    log,
    now: clock.now,
    connector,
    threads,
    answers: makeByteBudget(PEER_ANSWERS_BYTES_MAX),
    masterKey,
    peerMacs,
    signers,
    publicUrl: config.publicUrl,
    userAgent: `Tallystick/${VERSION}`,
    observeSending: makeSendingObserver(metrics),
    tracePost: tracing && makePostTracer(tracing),
  })
  watchPeerSenders(metrics, senders)
  watchOutbound(metrics, 'peers', connector)
  watchPeers(metrics, pool, { peerMacs })
  closers.push(() => senders.stop())
  return senders
}

/** Opens the witness senders: one for each witness, and one for all peers together. */
function openWitnesses(
  { config, masterKey, log, pool, clock, metrics, closers }: WorkerBase,
  more: {
    readonly stopping: AbortSignal
    readonly signers: Signers
    readonly threads: Threads
    readonly noteSigner: Signer
  },
): readonly WitnessSender[] {
  const connector = new Connector({ allowances: config.outboundAllow, now: clock.now })
  closers.push(async () => connector.close())
  const observe = makeWitnessObserver(metrics, config)
  const deps = { pool, connector, userAgent: `Tallystick/${VERSION}`, log, now: clock.now, observe, ...more }
  // A sender measures its pauses with a monotonic clock, which cannot jump. The time in requests to peers is the
  // database's.
  const openSender = (target: WitnessTarget) =>
    new WitnessSender({ ...deps, now: () => performance.now() }, target)
  const senders = config.witnesses.map((witness) => openSender(namedWitness(deps, witness)))
  // The sender for peers has no gauges, because the operator can't repair a peer that does not answer.
  watchWitnesses(metrics, senders)
  if (!config.peerWitnesses) return senders
  const answers = makeByteBudget(PEER_ANSWERS_BYTES_MAX)
  const peers = peerWitnesses({ ...deps, answers, peerWitnessKeys: makePeerWitnessKeys(masterKey) })
  return [...senders, openSender(peers)]
}

async function closeAll(closers: WorkerBase['closers']): Promise<void> {
  for (const close of closers.reverse()) await close()
}

export function main(args: readonly string[]): Promise<void> {
  return runProcess('worker', args, async () => {
    lowerPriority()
    const config = readConfig()
    return withMetrics(config, (metrics) => startWorker(config, metrics))
  })
}
