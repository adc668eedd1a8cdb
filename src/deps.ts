import type pg from 'pg'
import type { Logger } from 'pino'
import { Admission } from './admission.ts'
import { Appender } from './append/appender.ts'
import { type Config, required } from './config.ts'
import { checkLogin } from './db/logins.ts'
import { Lookups } from './db/lookups.ts'
import { checkSchema } from './db/migrate.ts'
import { openReadPool, openSearchPool, openWritePool } from './db/pools.ts'
import { findEnvelopeKid, getNoteKey, listServerKeySecrets, type ServerKey } from './db/server-keys.ts'
import { readFindKey } from './db/signed-entries.ts'
import { type Entropy, makeEntropy } from './entropy.ts'
import { openLog } from './log.ts'
import { watchAdmission } from './metrics/admission.ts'
import { makeAppendObserver, watchQueue } from './metrics/appender.ts'
import { watchLookups, watchPool } from './metrics/database.ts'
import { Metrics } from './metrics/metrics.ts'
import { watchKeyCache } from './metrics/reading.ts'
import { makeTraceObserver } from './metrics/traces.ts'
import { watchTypes } from './metrics/types.ts'
import type { Allowances } from './outbound/allowances.ts'
import type { Signer } from './proof/crypto.ts'
import { EnvelopeKeys } from './signing/envelope-keys.ts'
import { type MasterKey, makeMasterKey } from './signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from './signing/native.ts'
import { Signers } from './signing/signers.ts'
import { type KeyMac, makeKeyMac } from './tenancy/api-keys.ts'
import { CallerCache } from './tenancy/caller.ts'
import { openTracing } from './tracing/open.ts'
import { TracedAppender } from './tracing/traced-appender.ts'
import type { Tracing } from './tracing/tracing.ts'
import { TypeRegistry } from './types/type-registry.ts'

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
  readonly operatorKey: string | null
  readonly readPool: pg.Pool
  readonly searchPool: pg.Pool
  readonly lookups: Lookups
  readonly writePool: pg.Pool
  readonly signers: Signers
  readonly envelopeKeys: EnvelopeKeys
  readonly noteKey: ServerKey
  readonly keyMac: KeyMac
  /** Of the master key only this: a server seals the secrets of webhooks, and opens none. */
  readonly sealer: Pick<MasterKey, 'seal'>
  readonly outboundAllow: Allowances
  readonly callers: CallerCache
  readonly admission: Admission
  readonly appender: Appender
  readonly types: TypeRegistry
  close(): Promise<void>
}

/** `log`: where to, when not standard output. */
export async function openDeps(
  config: Config,
  log = openLog(config.logLevel),
  metrics = new Metrics(),
): Promise<Deps> {
  const url = required(config.apiUrl, 'TALLYSTICK_API_DATABASE_URL', "the database, as the API's login")
  const masterKey = makeMasterKey(
    required(config.masterKey, 'TALLYSTICK_MASTER_KEY', 'it opens the signing key'),
  )
  const now = Date.now
  const readPool = openReadPool(url, log)
  const searchPool = openSearchPool(url, log)
  const writePool = openWritePool(url, log)
  watchPool(metrics, 'read', readPool)
  watchPool(metrics, 'search', searchPool)
  watchPool(metrics, 'write', writePool)
  const tracing = await openTracing(config.tracing, 'tallystick-server', () =>
    makeTraceObserver(metrics, 'server', log),
  )
  try {
    await checkSchema(readPool)
    await checkLogin(readPool, 'server')
    const signers = openSigners(readPool, masterKey, now)
    await signers.load()
    const observer = makeAppendObserver(metrics)
    const admission = new Admission(() => performance.now())
    watchAdmission(metrics, admission)
    const isMoreComing = () => admission.hasWaiting
    const appender = tracing
      ? new TracedAppender(writePool, observer, isMoreComing, tracing)
      : new Appender(writePool, observer, isMoreComing)
    watchQueue(metrics, appender)
    const keyMac = makeKeyMac(masterKey)
    const lookups = new Lookups(readPool)
    watchLookups(metrics, lookups)
    const callers = new CallerCache({ readPool, now, keyMac, log })
    watchKeyCache(metrics, callers)
    const types = new TypeRegistry({ readPool })
    watchTypes(metrics, 'server', types)
    return {
      log,
      logRequests: config.logRequests,
      metrics,
      tracing,
      now,
      entropy: makeEntropy(),
      publicUrl: config.publicUrl,
      operatorKey: config.operatorKey,
      readPool,
      searchPool,
      lookups,
      writePool,
      signers,
      envelopeKeys: new EnvelopeKeys(() => readFindKey(readPool)),
      noteKey: await getNoteKey(readPool),
      keyMac,
      sealer: { seal: masterKey.seal },
      outboundAllow: config.outboundAllow,
      callers,
      admission,
      appender,
      types,
      async close() {
        await appender.close()
        await Promise.all([tracing?.close(), writePool.end(), searchPool.end(), readPool.end()])
      },
    }
  } catch (error) {
    await Promise.all([tracing?.close(), writePool.end(), searchPool.end(), readPool.end()])
    throw error
  }
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
