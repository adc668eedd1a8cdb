import type pg from 'pg'
import type { Logger } from 'pino'
import { Appender } from './append/appender.ts'
import { type Config, required } from './config.ts'
import { checkLogin } from './db/logins.ts'
import { checkSchema } from './db/migrate.ts'
import { openReadPool, openWritePool } from './db/pools.ts'
import { getNoteKey, getServerKey, type ServerKey } from './db/server-keys.ts'
import { type Entropy, makeEntropy } from './entropy.ts'
import { openLog } from './log.ts'
import type { Signer } from './proof/crypto.ts'
import { makeMasterKey } from './signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from './signing/native.ts'
import { type KeyMac, makeKeyMac } from './tenancy/api-keys.ts'
import { CallerCache } from './tenancy/caller.ts'

/** What the server is made of. Opened in order, closed in reverse. */
export type Deps = {
  readonly log: Logger
  readonly now: () => number
  readonly entropy: Entropy
  readonly publicUrl: string
  readonly operatorKey: string | null
  readonly readPool: pg.Pool
  readonly writePool: pg.Pool
  readonly signer: Signer
  readonly noteKey: ServerKey
  readonly keyMac: KeyMac
  readonly callers: CallerCache
  readonly appender: Appender
  close(): Promise<void>
}

/** `log`: where to, when not standard output. */
export async function openDeps(config: Config, log = openLog(config.logLevel)): Promise<Deps> {
  const url = required(config.apiUrl, 'TALLYSTICK_API_DATABASE_URL', "the database, as the API's login")
  const masterKey = makeMasterKey(
    required(config.masterKey, 'TALLYSTICK_MASTER_KEY', 'it opens the signing key'),
  )
  const now = Date.now
  const readPool = openReadPool(url, log)
  const writePool = openWritePool(url, log)
  try {
    await checkSchema(readPool)
    await checkLogin(readPool, 'server')
    const { seed } = await getServerKey(readPool, masterKey, 'envelope')
    const appender = new Appender(writePool)
    const keyMac = makeKeyMac(masterKey)
    return {
      log,
      now,
      entropy: makeEntropy(),
      publicUrl: config.publicUrl,
      operatorKey: config.operatorKey,
      readPool,
      writePool,
      signer: makeEd25519Signer(nativeProviders.sha256, seed),
      noteKey: await getNoteKey(readPool),
      keyMac,
      callers: new CallerCache({ readPool, now, keyMac, log }),
      appender,
      async close() {
        await appender.close()
        await Promise.all([writePool.end(), readPool.end()])
      },
    }
  } catch (error) {
    await Promise.all([writePool.end(), readPool.end()])
    throw error
  }
}
