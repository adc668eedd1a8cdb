import type pg from 'pg'
import type { ArchiveContent } from '../../src/db/connect/archive.ts'
import { openReadPool } from '../../src/db/connect/pools.ts'
import { makeErasureRound } from '../../src/followers/erasure/carry-out.ts'
import { ERASURES_REFUSED, RefusedItems } from '../../src/followers/refused.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import type { Test, TestApp } from './app.ts'
import { testDatabase } from './connect.ts'
import { TEST_MASTER_KEY } from './database.ts'
import { lentPool } from './lent-app.ts'

type Details = {
  readonly ledger: string
  readonly seq: number
  readonly documents?: number
  readonly err?: Error
}
type Logged = Details & { readonly level: 'info' | 'error' }

/** Returns the number of documents that were erased according to the log. Without `ledger`, all ledgers are counted. */
export function takenAway(logged: readonly Logged[], ledger?: string): number {
  const lines = logged.filter(
    (line) => line.level === 'info' && (ledger === undefined || line.ledger === ledger),
  )
  return lines.reduce((sum, { documents }) => sum + documents!, 0)
}

export type Eraser = {
  run(): Promise<void>
  readonly pool: pg.Pool
  readonly refused: RefusedItems
  readonly waiting: RefusedItems
  readonly logged: Logged[]
}

/** Opens the worker's follower that carries out erasures, with the worker's login. */
export function openEraser(
  t: Test,
  app: TestApp,
  now: () => number = Date.now,
  archive: ArchiveContent | null = null,
): Eraser {
  const open = () => openReadPool(testDatabase(app.database.workerUrl, archive), { warn() {} })
  const pool = lentPool(t, app, archive === null ? 'read' : null, open)
  const refused = new RefusedItems(now, ERASURES_REFUSED)
  const waiting = new RefusedItems(now, ERASURES_REFUSED)
  const logged: Eraser['logged'] = []
  const round = makeErasureRound({
    pool,
    masterKey: makeMasterKey(TEST_MASTER_KEY),
    refusedErasures: refused,
    waitingErasures: waiting,
    log: {
      info: (details) => void logged.push({ level: 'info', ...(details as Details) }),
      error: (details) => void logged.push({ level: 'error', ...(details as Details) }),
    },
  })
  const run = async () => {
    while (await round()) {}
  }
  return { run, pool, refused, waiting, logged }
}
