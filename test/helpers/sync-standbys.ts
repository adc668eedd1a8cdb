import { openClient, withClient } from '../../src/db/connect/client.ts'
import type { RunningPostgres } from '../../src/run/postgres/start.ts'
import { until } from './wait.ts'

/** Sets the standbys for which commits wait: `*` for any, an empty text for none. */
export async function setStandbys({ superuserUrl }: RunningPostgres, names: string): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    await client.query(`alter system set synchronous_standby_names = '${names}'`)
    await client.query('select pg_reload_conf()')
  })
}

/** Makes commits wait for a standby that does not exist. Resolves when commits wait, because a reload takes a moment. */
export async function loseStandbys(primary: RunningPostgres): Promise<void> {
  await setStandbys(primary, 'nobody')
  await until(() => withClient(primary.superuserUrl, (client) => findWait(primary, client)))
}

/** Returns the process ids of sessions whose commit waits for a standby. */
export async function listWaiting({ superuserUrl }: RunningPostgres): Promise<number[]> {
  return withClient(superuserUrl, async (client) => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where wait_event = 'SyncRep'`,
    )
    return rows.map(({ pid }) => pid)
  })
}

/** Returns whether a commit waits. The wait is cancelled, which fails the query of its client. */
async function findWait(
  { superuserUrl }: RunningPostgres,
  client: Awaited<ReturnType<typeof openClient>>,
): Promise<boolean> {
  const probe = await openClient(superuserUrl)
  let hasEnded = false
  const waited = probe
    .query("select pg_logical_emit_message(true, 'test', '')")
    .then(
      () => false,
      () => true,
    )
    .finally(() => {
      hasEnded = true
    })
  const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
  await until(async () => hasEnded || (await client.query(cancel)).rowCount === 1)
  probe.end().catch(() => {})
  return waited
}
