import type pg from 'pg'
import type { Logger } from 'pino'
import { Admission } from './admission.ts'
import { Appender } from './append/appender.ts'
import { type ByteBudgets, makeByteBudgets } from './byte-budget.ts'
import { type Config, required } from './config.ts'
import { checkDatabase } from './db/check-database.ts'
import { Database } from './db/connection.ts'
import { watchHalfOpen } from './db/half-open.ts'
import { checkLogin } from './db/logins.ts'
import { Lookups } from './db/lookups.ts'
import { openReadPool, openSearchPool, openWritePool } from './db/pools.ts'
import { findEnvelopeKid, getNoteKey, listServerKeySecrets, type ServerKey } from './db/server-keys.ts'
import { readFindKey } from './db/signed-entries.ts'
import { type Entropy, makeEntropy } from './entropy.ts'
import { Inbox } from './federation/inbox.ts'
import type { ReceiveDeps } from './federation/receive.ts'
import { openLog } from './log.ts'
import { watchAdmission } from './metrics/admission.ts'
import { makeAppendObserver, watchQueue } from './metrics/appender.ts'
import { watchLookups, watchPool } from './metrics/database.ts'
import { Metrics } from './metrics/metrics.ts'
import { makeReceptionObserver, watchInbox } from './metrics/peers.ts'
import { watchKeyCache } from './metrics/reading.ts'
import { makeTraceObserver } from './metrics/traces.ts'
import { watchTypes } from './metrics/types.ts'
import type { Allowances } from './outbound/allowances.ts'
import type { Signer } from './proof/crypto.ts'
import { SignedCheckpoints } from './proofs/signed-checkpoints.ts'
import { followMasterKey } from './rotation/follow-master-key.ts'
import { type CursorMac, makeCursorMac } from './signing/cursor-mac.ts'
import { EnvelopeKeys } from './signing/envelope-keys.ts'
import type { MasterKey } from './signing/master-key.ts'
import { makeMasterKeys } from './signing/master-keys.ts'
import { makeEd25519Signer, nativeProviders } from './signing/native.ts'
import { makePeerMacs, type PeerMacs } from './signing/peer-macs.ts'
import { Signers } from './signing/signers.ts'
import { type KeyMac, makeKeyMac } from './tenancy/api-keys.ts'
import { CallerCache } from './tenancy/caller.ts'
import { openThreads, type Threads } from './threads/threads.ts'
import { openTracing } from './tracing/open.ts'
import { TracedAppender } from './tracing/traced-appender.ts'
import type { Tracing } from './tracing/tracing.ts'
import { TypeRegistry } from './types/type-registry.ts'
import { WriteDeadlines } from './write-deadlines.ts'

/** What the server is made of. Opened in order, closed in reverse. */
export type Deps = {
  readonly log: Logger
  readonly logRequests: boolean
  readonly metrics: Metrics
  /** null: no traces. */
  readonly tracing: Tracing | null
  readonly now: () => number
  readonly entropy: Entropy
  readonly publicUrl: string
  /** Two while it is replaced; none: nobody may do what the operator may. */
  readonly operatorKeys: readonly string[]
  readonly readPool: pg.Pool
  readonly searchPool: pg.Pool
  readonly lookups: Lookups
  readonly writePool: pg.Pool
  readonly signers: Signers
  readonly envelopeKeys: EnvelopeKeys
  readonly noteKey: ServerKey
  readonly checkpoints: SignedCheckpoints
  readonly keyMac: KeyMac
  readonly peerMacs: PeerMacs
  readonly cursorMac: CursorMac
  /** Of the master key only this: a server seals the secrets of webhooks, and opens none. */
  readonly sealer: Pick<MasterKey, 'seal'>
  readonly outboundAllow: Allowances
  readonly callers: CallerCache
  readonly admission: Admission
  readonly budgets: ByteBudgets
  readonly writeDeadlines: WriteDeadlines
  readonly appender: Appender
  readonly types: TypeRegistry
  readonly threads: Threads
  readonly inbox: Inbox
  readonly observeReception: ReceiveDeps['observeReception']
  close(): Promise<void>
}

/** `log`: where to, when not standard output. */
export async function openDeps(
  config: Config,
  log = openLog(config.logLevel),
  metrics = new Metrics(),
): Promise<Deps> {
  const url = required(config.apiUrl, 'TALLYSTICK_API_DATABASE_URL', "the database, as the API's login")
  const masterKey = makeMasterKeys(
    required(config.masterKey, 'TALLYSTICK_MASTER_KEY', 'it opens the signing key'),
    config.previousMasterKey,
  )
  const now = Date.now
  const database = new Database(url, config.database, (chunks) => masterKey.databaseMac(chunks))
  const pools = openPools(database, log, metrics)
  const { readPool, writePool } = pools
  const closers: (() => unknown)[] = Object.values(pools).map((pool) => () => pool.end())
  const close = async () => {
    for (const each of closers.reverse()) await each()
  }
  const tracing = await openTracing(config.tracing, 'tallystick-server', () =>
    makeTraceObserver(metrics, 'server', log),
  )
  closers.push(() => tracing?.close())
  try {
    const pooler = await checkDatabase(database, readPool, log, config.schemaWaitMs)
    await checkLogin(readPool, 'server')
    const signers = openSigners(readPool, masterKey, now)
    await signers.load()
    database.renew()
    closers.push(watchHalfOpen(database, pooler, log))
    if (config.previousMasterKey) closers.push(followMasterKey({ signers, masterKey, database }, log))
    const admission = new Admission(() => performance.now())
    const budgets = makeByteBudgets()
    const writeDeadlines = new WriteDeadlines(() => performance.now())
    watchAdmission(metrics, { admission, budgets, writeDeadlines })
    const appender = openAppender(writePool, { admission, metrics, tracing })
    closers.push(() => appender.close())
    const keyMac = makeKeyMac(masterKey)
    const lookups = new Lookups(readPool)
    watchLookups(metrics, lookups)
    const callers = new CallerCache({ readPool, now, keyMac, log })
    watchKeyCache(metrics, callers)
    const types = new TypeRegistry({ readPool })
    watchTypes(metrics, 'server', types)
    const noteKey = await getNoteKey(readPool)
    const threads = openThreads(config.threads, log)
    closers.push(() => threads.close())
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
      operatorKeys: operatorKeysOf(config),
      ...pools,
      lookups,
      signers,
      envelopeKeys: new EnvelopeKeys(() => readFindKey(readPool)),
      noteKey,
      checkpoints: new SignedCheckpoints(readPool, noteKey),
      keyMac,
      peerMacs: makePeerMacs(masterKey),
      cursorMac: makeCursorMac(masterKey),
      sealer: { seal: (secret, context) => masterKey.seal(secret, context) },
      outboundAllow: config.outboundAllow,
      callers,
      admission,
      budgets,
      writeDeadlines,
      appender,
      types,
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

function openAppender(
  writePool: pg.Pool,
  { admission, metrics, tracing }: Pick<Deps, 'admission' | 'metrics' | 'tracing'>,
): Appender {
  const observer = makeAppendObserver(metrics)
  const isMoreComing = () => admission.hasWaiting
  const appender = tracing
    ? new TracedAppender(writePool, observer, isMoreComing, tracing)
    : new Appender(writePool, observer, isMoreComing)
  watchQueue(metrics, appender)
  return appender
}

/** The one before counts beside another only: who takes the operator's key away means both. */
function operatorKeysOf({ operatorKey, previousOperatorKey }: Config): string[] {
  if (operatorKey === null) return []
  return previousOperatorKey === null ? [operatorKey] : [operatorKey, previousOperatorKey]
}

export function openSigners(pool: pg.Pool, masterKey: MasterKey, now: () => number): Signers {
  return new Signers({
    loadSigners: () => loadSigners(pool, masterKey),
    findEnvelopeKid: (ledgerId) => findEnvelopeKid(pool, ledgerId),
    now,
  })
}

/** The envelope keys that are not retired, oldest first. */
export async function loadSigners(pool: pg.Pool, masterKey: MasterKey): Promise<Signer[]> {
  const keys = await listServerKeySecrets(pool, masterKey, 'envelope')
  return keys.map(({ seed }) => makeEd25519Signer(nativeProviders.sha256, seed))
}
