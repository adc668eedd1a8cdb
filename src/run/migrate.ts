import { migrate } from '../db/schema/migrate.ts'
import { makeMasterKeys } from '../signing/master-keys.ts'
import { parseConfig, required } from './config.ts'
import { getLogins } from './database-logins.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { refuseArguments, runToEnd } from './run-to-end.ts'

const USAGE = `usage: migrate, or npm run migrate

  It takes no arguments: the environment says everything (docs/configuration.md)`

/** `npm run migrate`: as the owner, brings the database to this version. */
export function main(args: readonly string[]): Promise<void> {
  return runToEnd('migrate', USAGE, async () => {
    refuseArguments(args)
    const config = parseConfig(process.env)
    const owner = getOwnerDatabase(config)
    const masterKey = required(
      config.masterKey,
      'TALLYSTICK_MASTER_KEY',
      'it seals the signing keys that migrate makes',
    )
    const logins = getLogins(config, owner.url)
    const applied = await migrate({
      ownerUrl: owner,
      masterKey: makeMasterKeys(masterKey, config.previousMasterKey),
      logins: logins.names,
      passwords: logins.passwords,
      byRdsIam: logins.byRdsIam,
      tell: (line) => console.log(line),
    })
    console.log(applied.length === 0 ? 'the database is up to date' : `applied ${applied.join(', ')}`)
    if (logins.file) {
      console.log(`the passwords of ${logins.names.api} and ${logins.names.worker} are in ${logins.file}`)
      if (logins.isNew)
        console.log('they are new: a server or worker that has others cannot connect any more')
    }
  })
}

if (import.meta.main) await main(process.argv.slice(2))
