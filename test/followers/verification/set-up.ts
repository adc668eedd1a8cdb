import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { loadKeysFrom } from '../../../src/db/chain/signed-entries.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { openReadPool } from '../../../src/db/connect/pools.ts'
import { openJobs } from '../../../src/db/jobs/job-queues.ts'
import type { GatedRecordKey } from '../../../src/db/records/gated-cases.ts'
import { RefusedItems } from '../../../src/followers/refused.ts'
import {
  type VerificationResult,
  verifyCompletions,
} from '../../../src/followers/verification/verify-completions.ts'
import { TypeRegistry } from '../../../src/ledgers/types/type-registry.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { makeEntropy } from '../../../src/signing/entropy.ts'
import { EnvelopeKeys } from '../../../src/signing/envelope-keys.ts'
import type { Test, TestApp } from '../../helpers/app.ts'
import { testDatabase } from '../../helpers/connect.ts'
import { lentPool } from '../../helpers/lent-app.ts'
import { raiseVerifiedSizes } from '../../helpers/verified-sizes.ts'

export type Logged = { readonly level: string; readonly message: string; readonly [name: string]: unknown }

export function openDeps(t: Test, app: TestApp) {
  const pool = lentPool(t, app, 'read', () =>
    openReadPool(testDatabase(app.database.workerUrl), { warn() {} }),
  )
  const observed: string[] = []
  const logged: Logged[] = []
  const log = (level: string) => (details: object, message: string) =>
    void logged.push({ level, message, ...details })
  return {
    pool,
    envelopeKeys: new EnvelopeKeys(loadKeysFrom(pool)),
    cursorMac: app.deps.cursorMac,
    requestVerification() {},
    signers: app.deps.signers,
    types: new TypeRegistry({ readPool: pool, threads: app.deps.threads }),
    entropy: makeEntropy(),
    now: Date.now,
    machineNow: Date.now,
    refusedExpiries: new RefusedItems(Date.now, { pauseMs: 60_000, itemsMax: 100 }),
    observeVerification: (outcome: string) => void observed.push(outcome),
    observeExpiry: () => void observed.push('expired'),
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    observed,
    logged,
  }
}

export type WorkerDeps = ReturnType<typeof openDeps>

/** Verifies completions of the first ledger as a job of the queue does. */
export async function verifyAll(
  deps: WorkerDeps,
  app: TestApp,
  ...records: string[]
): Promise<VerificationResult[]> {
  await raiseVerifiedSizes(app)
  return verifyCompletions(
    deps,
    records.map((record) => nameOf(app, record)),
  )
}

export function nameOf(app: TestApp, record: string, ledger = app.ledger.ledger.id): GatedRecordKey {
  return { ledgerId: parseId('led', ledger), recordId: parseId('rec', record) }
}

export async function openBoss(t: Test, pool: pg.Pool): Promise<PgBoss> {
  const boss = openJobs(pool, { schedule: false, supervise: false })
  boss.on('error', () => {})
  await boss.start()
  t.after(() => boss.stop({ graceful: false }))
  return boss
}

/** Runs SQL as the superuser with triggers disabled. Throws if no row changed. */
export async function tamper(app: TestApp, sql: string): Promise<void> {
  await withClient(app.database.superuserUrl, async (client) => {
    await client.query('set session_replication_role = replica')
    const { rowCount } = await client.query(sql)
    if (rowCount === 0) throw new Error(`nothing was changed by ${sql}`)
  })
}

export function uuidOf(record: string): string {
  return parseId('rec', record)
}

export type JobRow = { id: string; state: string; data: { record: string }; name: string }

export async function jobsOf(app: TestApp): Promise<JobRow[]> {
  return app.sql<JobRow>(
    "select id, name, state, data from tallystick_jobs.job where name in ('verify-completion', 'dead-letters') order by created_on",
  )
}

export async function kindsOf(app: TestApp, record: string): Promise<string[]> {
  const rows = await app.sql<{ kind: string }>(
    'select kind from tallystick.entries where subject_id = $1 order by seq',
    [uuidOf(record)],
  )
  return rows.map(({ kind }) => kind)
}
