import type pg from 'pg'
import { HALF_OPEN_AFTER_MS, HALF_OPEN_GRACE_MS, HALF_OPEN_LOOK_EVERY_MS } from '../limits.ts'
import { openClient } from './client.ts'
import type { Database } from './connection.ts'
import type { Pooler } from './pooler.ts'

type WatchLog = { warn(details: object, message: string): void }

/** A connection as pg has it, with the query that it waits for, and the process at the other end. */
type Waiting = pg.ClientBase & {
  readonly processID: number | null
  readonly _activeQuery: object | null
  readonly connection: { readonly stream: { destroy(error: Error): void } }
}

/**
 * Finds connections whose other end is gone without a word, as in a failover whose old writer answers nothing any more. The kernel
 * does not tell while something sent is not confirmed, and a query waits for as long as it may take.
 *
 * So when an answer is late, a new connection asks what the process at the other end does. If there is none, or it does nothing, no
 * answer will come: the connection is cut, and its query fails as with any that breaks. Not through a pooler, which announces
 * processes that are not there. Returns what ends it.
 */
export function watchHalfOpen(database: Database, pooler: Pooler, log: WatchLog): () => void {
  if (pooler !== 'none') return () => {}
  const seenAtMs = new WeakMap<object, number>()
  let looking = false
  const look = async () => {
    const nowMs = performance.now()
    const late = database.clients().filter((client): client is Waiting => {
      const query = (client as Waiting)._activeQuery
      if (!query) return false
      if (!seenAtMs.has(query)) seenAtMs.set(query, nowMs)
      return nowMs - seenAtMs.get(query)! >= HALF_OPEN_AFTER_MS
    })
    if (late.length === 0) return
    await cutHalfOpen(database, late, log)
    // Those that are at work have as long again.
    for (const { _activeQuery: query } of late) if (query) seenAtMs.set(query, performance.now())
  }
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    // Where the database is away nothing can be said of it, and what waits fails by itself.
    look()
      .catch(() => {})
      .finally(() => {
        looking = false
      })
  }, HALF_OPEN_LOOK_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

async function cutHalfOpen(database: Database, late: readonly Waiting[], log: WatchLog): Promise<void> {
  const waiting = late.map((client) => ({ client, query: client._activeQuery }))
  const client = await openClient(database, {
    application_name: 'tallystick watch',
    query_timeout: HALF_OPEN_AFTER_MS,
  })
  let busy: Set<number>
  try {
    busy = await listBusy(client, late)
  } finally {
    await client.end()
  }
  // An answer that was on its way has come by then.
  await new Promise((resolve) => setTimeout(resolve, HALF_OPEN_GRACE_MS))
  for (const { client, query } of waiting) {
    if (busy.has(client.processID!) || client._activeQuery !== query) continue
    log.warn({ process: client.processID }, 'a database connection is half open, and is cut')
    client.connection.stream.destroy(new Error('Connection terminated unexpectedly: half open'))
  }
}

/** Processes, among these, that exist and are at work. */
async function listBusy(client: pg.Client, late: readonly Waiting[]): Promise<Set<number>> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where pid = any($1) and usename = current_user and state is distinct from 'idle'`,
    [late.map(({ processID }) => processID)],
  )
  return new Set(rows.map(({ pid }) => pid))
}
