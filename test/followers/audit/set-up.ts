import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type pg from 'pg'
import { loadKeysFrom } from '../../../src/db/chain/signed-entries.ts'
import { EntryVerifier } from '../../../src/followers/audit/entry-verifier.ts'
import { type FollowEntriesDeps, followEntries } from '../../../src/followers/audit/follow-entries.ts'
import { PausedLedgers } from '../../../src/followers/checkpoints/faulty-ledgers.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { EnvelopeKeys } from '../../../src/signing/envelope-keys.ts'
import type { Test, TestApp } from '../../helpers/app.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { lendApp, lentPool } from '../../helpers/lent-app.ts'
import { makePublisher, type Publisher } from '../../helpers/publisher.ts'

export type AuditTest<App extends TestApp = TestApp> = {
  readonly app: App
  readonly pool: pg.Pool
  readonly publisher: Publisher
  readonly follower: FollowEntriesDeps
  readonly alarms: Record<string, unknown>[]
}

/**
 * All tests of a file share one verifier thread, because starting a thread takes longer than most tests. The verifier
 * starts a new thread when keys change.
 */
const verifier = new EntryVerifier()
after(() => verifier.close())

export async function setUpAudit(t: Test): Promise<AuditTest> {
  return auditOf(t, await lendApp(t))
}

export async function auditOf<App extends TestApp>(t: Test, app: App): Promise<AuditTest<App>> {
  const dir = await mkdtemp(join(tmpdir(), 'tallystick-audit-'))
  const pool = lentPool(t, app, 'audit', () =>
    openTestPool(app.database.workerUrl, { max: 4 }).on('error', () => {}),
  )
  t.after(() => rm(dir, { recursive: true }))
  const alarms: Record<string, unknown>[] = []
  const log = { error: (details: object) => void alarms.push(details as Record<string, unknown>) }
  const publisher = await makePublisher(pool, dir)
  return {
    app,
    pool,
    publisher,
    alarms,
    follower: {
      pool,
      log,
      cursorMac: app.deps.cursorMac,
      verifier,
      envelopeKeys: new EnvelopeKeys(loadKeysFrom(pool)),
      pausedLedgers: new PausedLedgers(Date.now),
    },
  }
}

export async function followAll({ follower }: AuditTest): Promise<void> {
  while (await followEntries(follower));
}

export async function cursorOf({ app }: AuditTest, ledger: string): Promise<number> {
  const [row] = await app.sql<{ next_seq: string }>(
    'select next_seq from tallystick.audit_cursors where ledger_id = $1',
    [parseId('led', ledger)],
  )
  return Number(row?.next_seq ?? 0)
}

export type FaultRow = {
  ledger_id: string
  found_by: string
  seq: string | null
  code: string
  reason: string
}

export async function openFaults({ app }: AuditTest): Promise<FaultRow[]> {
  return app.sql<FaultRow>(
    'select ledger_id, found_by, seq, code, reason from tallystick.ledger_faults where cleared_at is null',
  )
}

/** Runs SQL as an owner who has disabled all triggers, including those of foreign keys. */
export async function undefended({ app }: AuditTest, sql: string): Promise<void> {
  await app.sql(`set session_replication_role = replica; ${sql}; set session_replication_role = origin`)
}
