import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { migrate } from '../../src/db/schema/migrate.ts'
import { clusterDir } from '../../src/run/postgres/layout.ts'
import { type RunningPostgres, startPostgres } from '../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { startTestPostgres, TEST_MASTER_KEY, TEST_PASSWORDS, type TestDatabase, urlFor } from './database.ts'
import { TEST_SETTINGS, temporaryDirInMemory } from './postgres.ts'

export type Replicated = {
  readonly database: TestDatabase
  readonly primary: RunningPostgres
  readonly replica: Standby
}

export type Standby = {
  readonly apiUrl: string
  readonly postgres: RunningPostgres
  sql<T extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<T[]>
  pause(): Promise<void>
  resume(): Promise<void>
  caughtUp(): Promise<void>
  stop(): Promise<void>
}

const DATABASE = 'tallystick'
const CAUGHT_UP_MS_MAX = 20_000
/**
 * Settings with which commits are on the disk, as in a deployment. Otherwise it would be undefined which commits the
 * standby lacks.
 */
const SETTINGS = {
  ...TEST_SETTINGS,
  synchronous_commit: 'on',
  max_connections: 120,
  max_wal_senders: 4,
  wal_keep_size: '256MB',
}

/** Starts a primary with the schema, and a streaming standby. Both are stopped after the process's tests. */
export async function startReplicated(
  t: Parameters<typeof startTestPostgres>[0],
  settings: Readonly<Record<string, string | number>> = {},
): Promise<Replicated> {
  const primary = await startTestPostgres(t, { settings: SETTINGS })
  await migrate({
    ownerUrl: primary.ownerUrl,
    masterKey: makeMasterKey(TEST_MASTER_KEY),
    passwords: { api: TEST_PASSWORDS.api, worker: TEST_PASSWORDS.worker },
  })
  const url = primary.superuserUrl
  const database = {
    name: DATABASE,
    ownerUrl: primary.ownerUrl,
    apiUrl: urlFor(url, DATABASE, 'tallystick_api', TEST_PASSWORDS.api),
    workerUrl: urlFor(url, DATABASE, 'tallystick_worker', TEST_PASSWORDS.worker),
    superuserUrl: urlFor(url, DATABASE),
    drop: async () => {},
  }
  return { database, primary, replica: await startStandby(t, primary, settings) }
}

export async function startStandby(
  t: Parameters<typeof startTestPostgres>[0],
  primary: RunningPostgres,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<Standby> {
  const dataDir = temporaryDirInMemory()
  await copyCluster(primary, dataDir)
  const { username, password, hostname, port } = new URL(primary.superuserUrl)
  const postgres = await startPostgres({
    dataDir,
    temporary: true,
    settings: {
      ...SETTINGS,
      primary_conninfo: `host=${hostname} port=${port} user=${username} password=${password}`,
      wal_receiver_status_interval: 1,
      wal_retrieve_retry_interval: 100,
      ...settings,
    },
  })
  const pools = [primary, postgres].map(
    ({ superuserUrl }) => new pg.Pool({ connectionString: urlFor(superuserUrl, DATABASE), max: 2 }),
  )
  for (const pool of pools) pool.on('error', () => {})
  const [ofPrimary, own] = pools as [pg.Pool, pg.Pool]
  const stop = async () => {
    for (const pool of pools) if (!pool.ended) await pool.end()
    await postgres.stop('fast')
  }
  t.after(stop)
  const isTrue = async (text: string, values: unknown[] = []) =>
    (await own.query<{ is: boolean }>(`select ${text} as is`, values)).rows[0]!.is
  return {
    apiUrl: urlFor(postgres.superuserUrl, DATABASE, 'tallystick_api', TEST_PASSWORDS.api),
    postgres,
    async sql(text, values = []) {
      return (await own.query(text, values)).rows
    },
    async pause() {
      await own.query('select pg_wal_replay_pause()')
      await until(() => isTrue("pg_get_wal_replay_pause_state() = 'paused'"))
    },
    async resume() {
      await own.query('select pg_wal_replay_resume()').catch((error: { code?: string }) => {
        // 40001 is serialization_failure. It means that replay has resumed and removes rows that this statement's
        // snapshot needs.
        if (error.code !== '40001') throw error
      })
    },
    async caughtUp() {
      const { rows } = await ofPrimary.query<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn')
      await until(() => isTrue('pg_last_wal_replay_lsn() >= $1::pg_lsn', [rows[0]!.lsn]))
    },
    stop,
  }
}

/** Copies the running primary like `pg_basebackup`. The suite's binaries do not include `pg_basebackup`. */
async function copyCluster(primary: RunningPostgres, dataDir: string): Promise<void> {
  const from = clusterDir(primary.dataDir)
  const to = clusterDir(dataDir)
  mkdirSync(dirname(to), { recursive: true, mode: 0o711 })
  const client = new pg.Client({ connectionString: primary.superuserUrl })
  await client.connect()
  try {
    await client.query("select pg_backup_start('standby', true)")
    execFileSync('cp', ['-a', from, to])
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    writeFileSync(join(to, 'backup_label'), rows[0]!.labelfile)
  } finally {
    await client.end()
  }
  writeFileSync(join(to, 'standby.signal'), '')
  for (const file of ['postmaster.pid', 'postmaster.opts']) rmSync(join(to, file), { force: true })
  const { uid, gid } = statSync(to)
  for (const file of ['backup_label', 'standby.signal']) {
    chmodSync(join(to, file), 0o600)
    chownSync(join(to, file), uid, gid)
  }
  execFileSync('cp', ['-a', join(primary.dataDir, 'passwords.json'), join(dataDir, 'passwords.json')])
}

async function until(check: () => Promise<boolean>): Promise<void> {
  const endsAtMs = performance.now() + CAUGHT_UP_MS_MAX
  while (!(await check())) {
    if (performance.now() > endsAtMs) throw new Error('the standby did not get there in time')
    await sleep(10)
  }
}
