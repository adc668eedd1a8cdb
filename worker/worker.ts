import { join } from 'node:path'
import { FaultyLedgers } from '../src/checkpoints/faulty-ledgers.ts'
import { KeptCheckpoints } from '../src/checkpoints/kept.ts'
import { type Config, parseConfig, required } from '../src/config.ts'
import { checkLogin } from '../src/db/logins.ts'
import { checkSchema } from '../src/db/migrate.ts'
import { openReadPool } from '../src/db/pools.ts'
import { getServerKey } from '../src/db/server-keys.ts'
import { runFollower } from '../src/follow/loop.ts'
import { openLog } from '../src/log.ts'
import { runProcess, type Service } from '../src/run-process.ts'
import { makeMasterKey } from '../src/signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from '../src/signing/native.ts'
import { registerFollowers } from './register.ts'

/** Starts all background work. `close` lets rounds that have begun finish. */
export async function startWorker(config: Config): Promise<Service> {
  const url = required(
    config.workerUrl,
    'TALLYSTICK_WORKER_DATABASE_URL',
    "the database, as the worker's login",
  )
  const masterKey = makeMasterKey(
    required(config.masterKey, 'TALLYSTICK_MASTER_KEY', 'it opens the note key'),
  )
  const log = openLog(config.logLevel)
  const pool = openReadPool(url, log)
  try {
    await checkSchema(pool)
    await checkLogin(pool, 'worker')
    const { seed } = await getServerKey(pool, masterKey, 'note')
    const stop = new AbortController()
    const followers = registerFollowers({
      pool,
      noteSigner: makeEd25519Signer(nativeProviders.sha256, seed),
      faulty: new FaultyLedgers(Date.now),
      log,
      kept: new KeptCheckpoints(join(config.dataDir, 'checkpoints')),
    })
    log.info({ followers: followers.map((follower) => follower.name) }, 'the worker follows the chains')
    const running = Promise.all(followers.map((follower) => runFollower(follower, log, stop.signal)))
    return {
      async close() {
        stop.abort()
        await running
        await pool.end()
      },
    }
  } catch (error) {
    await pool.end()
    throw error
  }
}

if (import.meta.main) await runProcess('worker', () => startWorker(parseConfig(process.env)))
