import { migrate } from '../db/schema/migrate.ts'
import { readConfig } from './config.ts'
import { getLogins } from './database-logins.ts'
import { getMasterKey } from './master-key.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { runsToEnd } from './run-to-end.ts'

/** Command `migrate`: uses the owner's login and migrates the database to this version. */
export const main = runsToEnd(
  {
    name: 'migrate',
    help: '  It takes no arguments: environment variables configure it (docs/operate/settings.md)',
  },
  async () => {
    const config = readConfig()
    const owner = getOwnerDatabase(config)
    const masterKey = getMasterKey(config, 'this key seals the signing keys that migrate makes')
    const logins = getLogins(config, owner.url)
    const applied = await migrate({
      ownerUrl: owner,
      masterKey,
      logins: logins.names,
      passwords: logins.passwords,
      byRdsIam: logins.byRdsIam,
      notify: (line) => console.log(line),
    })
    console.log(applied.length === 0 ? 'the database is up to date' : `applied ${applied.join(', ')}`)
    if (logins.file) {
      console.log(`the passwords of ${logins.names.api} and ${logins.names.worker} are in ${logins.file}`)
      if (logins.isNew)
        console.log('these passwords are new: servers and workers with older passwords can no longer connect')
    }
  },
)
