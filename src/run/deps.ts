import { resolve } from 'node:path'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Appender } from '../append/appender.ts'
import { makeAppendObserver, watchQueue } from '../append/metrics.ts'
import { openSigners } from '../append/open-signers.ts'
import { TracedAppender } from '../append/traced-appender.ts'
import { loadKeysFrom } from '../db/chain/signed-entries.ts'
import type { ArchiveContent } from '../db/connect/archive.ts'
import { Database } from '../db/connect/connection.ts'
import { watchHalfOpen } from '../db/connect/half-open.ts'
import { checkLogin } from '../db/connect/logins.ts'
import { openReadPool, openSearchPool, openWritePool } from '../db/connect/pools.ts'
import { Replica } from '../db/connect/replica.ts'
import { watchLookups, watchPool } from '../db/metrics.ts'
import { Lookups } from '../db/records/lookups.ts'
import { Searches } from '../db/records/searches.ts'
import { checkDatabase } from '../db/schema/check-database.ts'
import { getNoteKey } from '../db/schema/server-keys.ts'
import { watchArchiveReads } from '../followers/archive/metrics.ts'
import { SignedCheckpoints } from '../followers/checkpoints/signed-checkpoints.ts'
import { followMasterKey } from '../followers/rotation/follow-master-key.ts'
import { openThreads } from '../http/bodies/threads.ts'
import { WriteDeadlines } from '../http/connections/write-deadlines.ts'
import type { Deps } from '../http/deps.ts'
import { watchReads, watchReplica } from '../http/reads/metrics.ts'
import { Reads } from '../http/reads/reads.ts'
import { makeKeyMac } from '../ledgers/api-keys.ts'
import { CallerCache } from '../ledgers/caller.ts'
import { PublicLedgers } from '../ledgers/public-ledgers.ts'
import { watchTypes } from '../ledgers/types/metrics.ts'
import { TypeRegistry } from '../ledgers/types/type-registry.ts'
import { Admission } from '../load/admission.ts'
import { makeByteBudgets } from '../load/budgets.ts'
import { makeAdmissionObserver, makeSliceObserver, watchAdmission } from '../load/metrics.ts'
import { SharedSlices } from '../load/slice.ts'
import { openLog } from '../observe/log.ts'
import { Metrics } from '../observe/metrics/metrics.ts'
import { watchKeyCache } from '../observe/metrics/reading.ts'
import { makeTraceObserver } from '../observe/metrics/traces.ts'
import { openTracing, warnOfIgnored } from '../observe/tracing/open.ts'
import { Inbox } from '../outside/federation/inbox.ts'
import { makeReceptionObserver, watchInbox } from '../outside/federation/metrics.ts'
import { KnownItems } from '../records/otlp/known-items.ts'
import { makeCursorMac } from '../signing/cursor-mac.ts'
import { makeEntropy } from '../signing/entropy.ts'
import { EnvelopeKeys } from '../signing/envelope-keys.ts'
import { makePeerMacs } from '../signing/peer-macs.ts'
import { makePeerWitnessKeys } from '../signing/peer-witness-keys.ts'
import { openArchiveStores } from '../verify/archive/open-stores.ts'
import { openArchivedContent, warnOfReleased } from './archived-content.ts'
import { type Config, required } from './config.ts'
import { getMasterKey } from './master-key.ts'

const CONSOLE_DIR = resolve(import.meta.dirname, '..', '..', 'console', 'dist')

export async function openDeps(
  config: Config,
  log = openLog(config.logLevel),
  metrics = new Metrics(),
): Promise<Deps> {
  const url = required(config.apiUrl, 'TALLYSTICK_API_DATABASE_URL', "the database, as the API's login")
  const masterKey = getMasterKey(config, 'this key opens the signing keys')
  const now = Date.now
  // Returns the time of a monotonic clock, for ages of cached keys. With a clock that can be set back, a revoked key
  // could be accepted for longer.
  const steadyMs = () => performance.now()
  const stores = config.archive && (await openArchiveStores(config.archive.location))
  const archive = stores && openArchivedContent(masterKey, { stores, observe: watchArchiveReads(metrics) })
  const database = new Database(url, config.database, (chunks) => masterKey.databaseMac(chunks), archive)
  const pools = openPools(database, log, metrics)
  const { readPool, writePool } = pools
  const closers: (() => unknown)[] = Object.values(pools).map((pool) => () => pool.end())
  closers.push(() => stores?.close())
  const close = async () => {
    for (const each of closers.reverse()) await each()
  }
  warnOfIgnored(config.tracingIgnored, log)
  const tracing = await openTracing(config.tracing, 'tallystick-server', () =>
    makeTraceObserver(metrics, 'server', log),
  )
  closers.push(() => tracing?.close())
  try {
    const pooler = await checkDatabase(database, readPool, log, config.schemaWaitMs)
    await checkLogin(readPool, 'server')
    if (!stores) await warnOfReleased(readPool, log)
    const signers = openSigners(readPool, masterKey, now)
    await signers.load()
    database.renew()
    closers.push(watchHalfOpen(database, pooler, log))
    if (config.previousMasterKey) closers.push(followMasterKey({ signers, masterKey, database }, log))
    const observeSlice = makeSliceObserver(metrics)
    const admission = new Admission(steadyMs, undefined, makeAdmissionObserver(metrics, observeSlice))
    const budgets = makeByteBudgets()
    const writeDeadlines = new WriteDeadlines(steadyMs)
    watchAdmission(metrics, { admission, budgets, writeDeadlines })
    const appender = openAppender(writePool, { admission, metrics, tracing, observeSlice })
    closers.push(() => appender.close())
    const keyMac = makeKeyMac(masterKey)
    const lookups = new Lookups(readPool)
    watchLookups(metrics, lookups)
    const callers = new CallerCache({ readPool, now: steadyMs, keyMac, log })
    watchKeyCache(metrics, callers)
    const threads = openThreads(config.threads, log)
    closers.push(() => threads.close())
    const types = new TypeRegistry({ readPool, threads })
    watchTypes(metrics, 'server', types)
    const noteKey = await getNoteKey(readPool)
    const checkpoints = new SignedCheckpoints(readPool, noteKey)
    const slices = new SharedSlices()
    const searches = new Searches(pools.searchPool, { slices })
    const replica = await openReplica(config, { primary: readPool, archive, log })
    closers.push(() => replica?.close())
    const reads = new Reads({ readPool, lookups, searches, checkpoints }, replica, slices)
    watchReads(metrics, reads)
    watchReplica(metrics, replica, reads)
    if (replica) {
      watchPool(metrics, 'replica-read', replica.readPool)
      watchPool(metrics, 'replica-search', replica.searchPool)
    }
    const inbox = new Inbox()
    watchInbox(metrics, inbox)
    return {
      log,
      logRequests: config.logRequests,
      metrics,
      tracing,
      now,
      entropy: makeEntropy(),
      publicUrl: config.publicUrl,
      consoleDir: config.console ? CONSOLE_DIR : null,
      retentionDaysMin: config.retentionDaysMin,
      operatorKeys: operatorKeysOf(config),
      ...pools,
      lookups,
      searches,
      reads,
      signers,
      envelopeKeys: new EnvelopeKeys(loadKeysFrom(readPool)),
      noteKey,
      checkpoints,
      keyMac,
      peerMacs: makePeerMacs(masterKey),
      peerWitnessKeys: config.peerWitnesses ? makePeerWitnessKeys(masterKey) : null,
      cursorMac: makeCursorMac(masterKey),
      sealer: { seal: (secret, context) => masterKey.seal(secret, context) },
      outboundAllow: config.outboundAllow,
      callers,
      publicLedgers: new PublicLedgers(readPool, steadyMs),
      admission,
      slices,
      budgets,
      writeDeadlines,
      appender,
      types,
      knownItems: new KnownItems(readPool),
      threads,
      inbox,
      observeReception: makeReceptionObserver(metrics),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function openPools(
  database: Database,
  log: Logger,
  metrics: Metrics,
): Pick<Deps, 'readPool' | 'searchPool' | 'writePool'> {
  const readPool = openReadPool(database, log)
  const searchPool = openSearchPool(database, log)
  const writePool = openWritePool(database, log)
  watchPool(metrics, 'read', readPool)
  watchPool(metrics, 'search', searchPool)
  watchPool(metrics, 'write', writePool)
  return { readPool, searchPool, writePool }
}

/**
 * Opens the replica. Returns null if no replica is configured. An unreachable replica does not prevent the server
 * from starting.
 */
async function openReplica(
  { replicaUrl, replicaLagMsMax: lagMsMax, database: options }: Config,
  { primary, archive, log }: { primary: pg.Pool; archive: ArchiveContent | null; log: Logger },
): Promise<Replica | null> {
  if (replicaUrl === null) return null
  const replica = new Replica(new Database(replicaUrl, options, null, archive), { primary, lagMsMax, log })
  await replica.open()
  return replica
}

function openAppender(
  writePool: pg.Pool,
  {
    admission,
    metrics,
    tracing,
    observeSlice,
  }: Pick<Deps, 'admission' | 'metrics' | 'tracing'> & {
    readonly observeSlice: ReturnType<typeof makeSliceObserver>
  },
): Appender {
  const observer = makeAppendObserver(metrics, (ms) => observeSlice('answer', ms))
  const countComing = () => admission.waiting('writes')
  const appender = tracing
    ? new TracedAppender(writePool, observer, countComing, tracing)
    : new Appender(writePool, observer, countComing)
  watchQueue(metrics, appender)
  return appender
}

/**
 * Returns the operator's keys. The previous key is accepted only together with a current key. So removing the current
 * key disables both.
 */
function operatorKeysOf({ operatorKey, previousOperatorKey }: Config): string[] {
  if (operatorKey === null) return []
  return previousOperatorKey === null ? [operatorKey] : [operatorKey, previousOperatorKey]
}
