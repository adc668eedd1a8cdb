import { withClient } from '../../src/db/connect/client.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { type Config, parseConfig } from '../../src/run/config.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { startSuitePostgres, temporaryDir } from './postgres.ts'

export type Scratch = {
  readonly config: Config
  readonly operatorKey: string
  /** The superuser's login to the same database. */
  readonly superuserUrl: string
  /** A further database, migrated: the owner's login to it. */
  addDatabase(name: string): Promise<string>
  stop(): Promise<void>
}

const MASTER_KEY = new Uint8Array(32).fill(7)
const PASSWORD = 'scratch'
const OPERATOR_KEY = `tlo_${'0'.repeat(32)}`

/** A migrated Postgres of its own, and the configuration of a server and a worker on it: for tools, not within tests. */
export async function startScratch(environment: NodeJS.ProcessEnv = {}): Promise<Scratch> {
  const postgres = await startSuitePostgres()
  const passwords = { api: PASSWORD, worker: PASSWORD }
  await migrate({ ownerUrl: postgres.ownerUrl, masterKey: makeMasterKey(MASTER_KEY), passwords })
  const urlAs = (login: string) => {
    const url = new URL(postgres.ownerUrl)
    return Object.assign(url, { username: login, password: PASSWORD }).href
  }
  const config = parseConfig({
    TALLYSTICK_API_DATABASE_URL: urlAs('tallystick_api'),
    TALLYSTICK_WORKER_DATABASE_URL: urlAs('tallystick_worker'),
    TALLYSTICK_MASTER_KEY: Buffer.from(MASTER_KEY).toString('hex'),
    TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
    TALLYSTICK_PORT: '0',
    TALLYSTICK_DATA: temporaryDir(),
    TALLYSTICK_LOG_LEVEL: 'silent',
    ...environment,
  })
  const superuserUrl = Object.assign(new URL(postgres.superuserUrl), {
    pathname: new URL(postgres.ownerUrl).pathname,
  }).href
  const addDatabase = async (name: string) => {
    await withClient(superuserUrl, (client) =>
      client.query(`create database ${name} template template0 owner tallystick_owner`),
    )
    const ownerUrl = Object.assign(new URL(postgres.ownerUrl), { pathname: `/${name}` }).href
    await migrate({ ownerUrl, masterKey: makeMasterKey(MASTER_KEY), passwords })
    return ownerUrl
  }
  return {
    addDatabase,
    config,
    operatorKey: OPERATOR_KEY,
    superuserUrl,
    stop: () => postgres.stop('immediate'),
  }
}
