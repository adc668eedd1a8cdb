import { setTimeout as sleep } from 'node:timers/promises'
import { type Ends, startTcpProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts'
import { Deployment } from '../deployment/deployment.ts'
import { withPatientClient } from '../deployment/processes.ts'
import type { RunningClients } from './clients.ts'
import { formatAttempts, formatLoad, reckonAll, startClientsOn } from './kill.ts'
import { formatReckoning, type Reckoning } from './reckoning.ts'

export type Scene = { readonly deployment: Deployment; readonly proxy: TcpProxy }

/** An outage. `heal` is called after `ms`. Without `heal` the outage ends by itself. */
type Outage = {
  readonly break: (scene: Scene) => Promise<unknown> | unknown
  readonly ms: number
  readonly heal?: (scene: Scene) => Promise<unknown> | unknown
}

export const OUTAGES = {
  'read-only': {
    break: (scene) => setReadOnly(scene, 'on'),
    ms: 800,
    heal: (scene) => setReadOnly(scene, 'off'),
  },
  // Simulates a failover: another database becomes the writer, and the sessions of the old writer end.
  'read-only, sessions ended': {
    break: async (scene) => {
      await setReadOnly(scene, 'on')
      await endSessions(scene)
    },
    ms: 800,
    heal: (scene) => setReadOnly(scene, 'off'),
  },
  'sessions ended': { break: (scene) => endSessions(scene), ms: 0 },
  'restart, fast': {
    break: ({ deployment }) => deployment.stopPostgres('fast'),
    ms: 300,
    heal: ({ deployment }) => deployment.startPostgres(),
  },
  'restart, immediate': {
    break: ({ deployment }) => deployment.stopPostgres('immediate'),
    ms: 300,
    heal: ({ deployment }) => deployment.startPostgres(),
  },
  'connections cut': { break: ({ proxy }) => proxy.cut(), ms: 0 },
  'connections refused': {
    break: ({ proxy }) => proxy.refuse(),
    ms: 1_000,
    heal: ({ proxy }) => proxy.accept(),
  },
  'no answers': { break: ({ proxy }) => proxy.hold(), ms: 1_500, heal: ({ proxy }) => proxy.resume() },
  'half-open connections': { break: ({ proxy }) => proxy.strand(), ms: 0 },
} as const satisfies Readonly<Record<string, Outage>>

export type OutageName = keyof typeof OUTAGES

export type OutageOutcome = {
  readonly reckoning: Reckoning
  readonly entries: number
  readonly attempts: Readonly<Record<string, number>>
  readonly readiness: Readonly<Record<string, number>>
  /** Times in ms from the database's return to the first acknowledged record, and to a newer checkpoint. */
  readonly recoveries: readonly {
    readonly outage: OutageName
    readonly appendMs: number
    readonly checkpointMs: number
  }[]
}

/** Runs one server, one worker and clients that write all the time, and causes one outage after another. */
export async function sufferOutages(
  t: Ends,
  dir: string,
  plan: { readonly outages: readonly OutageName[]; readonly clients: number; readonly recoveryMsMax: number },
): Promise<OutageOutcome> {
  let proxy: TcpProxy | null = null
  const through = async (url: string) => {
    proxy = await startTcpProxy(t, url)
    return proxy.url
  }
  const deployment = await Deployment.start({ dir, apis: 1, worker: true, through })
  let clients: RunningClients | null = null
  const stop = new AbortController()
  try {
    const scene: Scene = { deployment, proxy: proxy! }
    const ledgers = await deployment.createLedgers(2)
    clients = startClientsOn(deployment, dir, ledgers, plan.clients)
    const readiness: Record<string, number> = {}
    const watching = watchReadiness(deployment.urls[0]!, readiness, stop.signal)
    const recoveries: OutageOutcome['recoveries'][number][] = []
    for (const outage of plan.outages) {
      await sleep(300)
      await suffer(scene, OUTAGES[outage])
      recoveries.push({ outage, ...(await recover(scene, clients, plan.recoveryMsMax)) })
    }
    await clients.finish()
    deployment.requireAlive()
    stop.abort()
    await watching
    return {
      ...(await reckonAll(deployment, dir, ledgers)),
      attempts: clients.attempts,
      readiness,
      recoveries,
    }
  } finally {
    stop.abort()
    await clients?.abandon()
    await deployment.stop()
  }
}

export async function suffer(scene: Scene, { break: breakIt, ms, heal }: Outage): Promise<void> {
  await breakIt(scene)
  await sleep(ms)
  await heal?.(scene)
}

async function recover({ deployment }: Scene, clients: RunningClients, msMax: number) {
  const healedAt = performance.now()
  const acknowledged = clients.acknowledgedRecords
  const checkpoints = await countCheckpoints(deployment)
  const elapsed = () => Math.round(performance.now() - healedAt)
  let appendMs: number | null = null
  for (;;) {
    deployment.requireAlive()
    if (appendMs === null && clients.acknowledgedRecords > acknowledged) appendMs = elapsed()
    if (appendMs !== null && (await countCheckpoints(deployment)) > checkpoints)
      return { appendMs, checkpointMs: elapsed() }
    if (elapsed() > msMax) {
      const what = appendMs === null ? 'nothing was acknowledged' : 'no checkpoint was published'
      throw new Error(`${what} for ${msMax} ms after the outage; ${JSON.stringify(clients.attempts)}`)
    }
    await sleep(20)
  }
}

async function countCheckpoints({ superuserUrl }: Deployment): Promise<number> {
  return withPatientClient(superuserUrl, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      'select count(*)::int as count from tallystick.checkpoints',
    )
    return rows[0]!.count
  })
}

function setReadOnly({ deployment }: Scene, value: 'on' | 'off'): Promise<unknown> {
  return withPatientClient(deployment.superuserUrl, async (client) => {
    await client.query(`alter system set default_transaction_read_only = ${value}`)
    await client.query('select pg_reload_conf()')
  })
}

function endSessions({ deployment }: Scene): Promise<unknown> {
  return withPatientClient(deployment.superuserUrl, (client) =>
    client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where usename in ('tallystick_api', 'tallystick_worker')`,
    ),
  )
}

const READINESS_EVERY_MS = 50

async function watchReadiness(
  url: string,
  counts: Record<string, number>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const label = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
      async (response) => {
        await response.arrayBuffer()
        return String(response.status)
      },
      (error: Error) => error.name,
    )
    counts[label] = (counts[label] ?? 0) + 1
    await sleep(READINESS_EVERY_MS, undefined, { signal }).catch(() => {})
  }
}

export function formatOutages({
  reckoning,
  entries,
  attempts,
  readiness,
  recoveries,
}: OutageOutcome): string {
  const lines = recoveries.map(
    ({ outage, appendMs, checkpointMs }) =>
      `  ${outage}: records after ${appendMs} ms, a checkpoint after ${checkpointMs} ms`,
  )
  return [
    `outages of the database: ${formatReckoning(reckoning)}`,
    `  entries=${entries} verified; ${formatAttempts(attempts)}; /readyz ${formatAttempts(readiness)}`,
    ...lines,
    `  ${formatLoad()}`,
  ].join('\n')
}
