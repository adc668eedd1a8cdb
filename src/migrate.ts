import { parseConfig, required } from './config.ts'
import { getLogins } from './database-logins.ts'
import { API_LOGIN, WORKER_LOGIN } from './db/logins.ts'
import { migrate } from './db/migrate.ts'
import { makeMasterKey } from './signing/master-key.ts'

/** `npm run migrate`: as the owner, brings the database to this version. */
try {
  const config = parseConfig(process.env)
  const ownerUrl = required(config.ownerUrl, 'DATABASE_URL', "the database, as its owner's login")
  const masterKey = required(
    config.masterKey,
    'TALLYSTICK_MASTER_KEY',
    'it seals the signing keys that migrate makes',
  )
  const logins = getLogins(config, ownerUrl)
  const applied = await migrate({
    ownerUrl,
    masterKey: makeMasterKey(masterKey),
    passwords: logins.passwords,
  })
  console.log(applied.length === 0 ? 'the database is up to date' : `applied ${applied.join(', ')}`)
  if (logins.file) {
    console.log(`the passwords of ${API_LOGIN} and ${WORKER_LOGIN} are in ${logins.file}`)
    if (logins.isNew) console.log('they are new: a server or worker that has others cannot connect any more')
  }
} catch (error) {
  console.error(`tallystick migrate: ${(error as Error).message}`)
  process.exitCode = 1
}
