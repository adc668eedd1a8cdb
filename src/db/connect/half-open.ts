import type pg from 'pg'
import { HALF_OPEN_AFTER_MS, HALF_OPEN_CHECK_EVERY_MS, HALF_OPEN_GRACE_MS } from '../limits.ts'
import { openClient } from './client.ts'
import type { Database } from './connection.ts'
import type { Pooler } from './pooler.ts'

type WatchLog = { warn(details: object, message: string): void }

/** A pg client with two internal members: its active query and the id of its server process. */
type ClientWithQuery = pg.ClientBase & {
  readonly processID: number | null
  readonly _activeQuery: object | null
  readonly connection: { readonly stream: { destroy(error: Error): void } }
}

/**
 * Finds connections whose server vanished without closing them. This happens after a failover if the old primary no
 * longer answers.
 *
 * The kernel reports no error while sent data is unconfirmed, so a query would wait for its whole timeout. If an answer
 * is late, a new connection reads the state of the server process. If the process does not exist or is idle, no answer
 * will come. The connection is then closed, and its query fails as on any broken connection.
 *
 * Does nothing behind a pooler, because the process ids that a pooler announces do not exist. Returns a function that
 * stops the watch.
 */
export function watchHalfOpen(database: Database, pooler: Pooler, log: WatchLog): () => void {
  if (pooler !== 'none') return () => {}
  const seenAtMs = new WeakMap<object, number>()
  let isChecking = false
  const check = async () => {
    const nowMs = performance.now()
    const late = database.clients().filter((client): client is ClientWithQuery => {
      const query = (client as ClientWithQuery)._activeQuery
      if (!query) return false
      if (!seenAtMs.has(query)) seenAtMs.set(query, nowMs)
      return nowMs - seenAtMs.get(query)! >= HALF_OPEN_AFTER_MS
    })
    if (late.length === 0) return
    await cutHalfOpen(database, late, log)
    // The server process of each remaining query exists and is busy. So the query may wait for another
    // HALF_OPEN_AFTER_MS.
    for (const { _activeQuery: query } of late) if (query) seenAtMs.set(query, performance.now())
  }
  const timer = setInterval(() => {
    if (isChecking) return
    isChecking = true
    // An error means that the database is unreachable, so no state can be read. Waiting queries then fail by their own
    // timeouts.
    check()
      .catch(() => {})
      .finally(() => {
        isChecking = false
      })
  }, HALF_OPEN_CHECK_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

async function cutHalfOpen(
  database: Database,
  late: readonly ClientWithQuery[],
  log: WatchLog,
): Promise<void> {
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
  // An answer that is already under way arrives during this pause.
  await new Promise((resolve) => setTimeout(resolve, HALF_OPEN_GRACE_MS))
  for (const { client, query } of waiting) {
    if (busy.has(client.processID!) || client._activeQuery !== query) continue
    log.warn({ process: client.processID }, 'a half-open database connection was closed')
    client.connection.stream.destroy(new Error('Connection terminated unexpectedly: half open'))
  }
}

/** Returns the ids of the server processes of `late` that exist and are busy. */
async function listBusy(client: pg.Client, late: readonly ClientWithQuery[]): Promise<Set<number>> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where pid = any($1) and usename = current_user and state is distinct from 'idle'`,
    [late.map(({ processID }) => processID)],
  )
  return new Set(rows.map(({ pid }) => pid))
}
