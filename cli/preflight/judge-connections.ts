import {
  JOB_CONNECTIONS_MAX,
  PEER_CONNECTIONS_MAX,
  READ_CONNECTIONS_MAX,
  SEARCH_CONNECTIONS_MAX,
  WEBHOOK_CONNECTIONS_MAX,
  WRITE_CONNECTIONS_MAX,
} from '../../src/db/limits.ts'
import type { ConnectionFacts } from '../../src/db/schema/preflight.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/** Maximum number of connections in the pools of one process (src/db/connect/pools.ts). */
export const API_CONNECTIONS = WRITE_CONNECTIONS_MAX + READ_CONNECTIONS_MAX + SEARCH_CONNECTIONS_MAX
export const WORKER_CONNECTIONS =
  READ_CONNECTIONS_MAX + WEBHOOK_CONNECTIONS_MAX + PEER_CONNECTIONS_MAX + JOB_CONNECTIONS_MAX

export type ConnectionPlan = {
  /** Connections that servers and workers of this database can use, including the processes that already run. */
  readonly usable: number
  readonly usedByOthers: number
  /** Number of API processes that fit beside one worker. */
  readonly apiProcesses: number
  readonly workerFits: boolean
}

/** Calculates how many processes fit. `own`: the connected login, whose limits also count. */
export function planConnections(facts: ConnectionFacts, own: string): ConnectionPlan {
  const cluster = facts.max - facts.reserved
  // One of the used connections is the preflight's own, so it is subtracted.
  const usedByOthers = Math.max(0, facts.inUse - facts.ours - 1)
  const othersHere = Math.max(0, facts.databaseInUse - facts.ours - 1)
  const usable = Math.min(cluster - usedByOthers, limited(facts.databaseMax) - othersHere)
  const { api, worker } = facts.names
  const apiMax = Math.min(limitOf(facts, api), own === worker ? Infinity : limitOf(facts, own))
  const workerMax = Math.min(limitOf(facts, worker), own === api ? Infinity : limitOf(facts, own))
  return {
    usable,
    usedByOthers,
    apiProcesses: Math.max(0, Math.floor(Math.min(usable - WORKER_CONNECTIONS, apiMax) / API_CONNECTIONS)),
    workerFits: Math.min(usable, workerMax) >= WORKER_CONNECTIONS,
  }
}

export function judgeConnections(facts: ConnectionFacts, plan: ConnectionPlan): Finding {
  const limits = [
    ...(facts.databaseMax < 0 ? [] : [`${facts.databaseMax} for this database`]),
    ...facts.logins.filter(({ max }) => max >= 0).map(({ login, max }) => `${max} for ${login}`),
  ]
  const detail =
    `max_connections ${facts.max}, ${facts.reserved} of them reserved${limits.map((limit) => `, ${limit}`).join('')}; ` +
    `${facts.inUse} in use. An API process takes up to ${API_CONNECTIONS}, a worker ${WORKER_CONNECTIONS}: ` +
    (plan.workerFits
      ? `beside a worker there is room for ${plan.apiProcesses} API processes`
      : 'there is no room for a worker')
  const advice = `raise max_connections or the limits: each API process needs ${API_CONNECTIONS}, each worker ${WORKER_CONNECTIONS}`
  if (!plan.workerFits || plan.apiProcesses === 0) return fail('connections', detail, advice)
  // One process is too few, because during a rolling restart the old and the new process run at the same time.
  if (plan.apiProcesses === 1)
    return warn('connections', `${detail}; a rolling restart needs room for one more`, advice)
  return ok('connections', detail)
}

const limited = (max: number) => (max < 0 ? Infinity : max)

/** Returns the login's connection limit. Superusers have no limit. */
function limitOf({ logins }: ConnectionFacts, login: string): number {
  const found = logins.find((each) => each.login === login)
  return found === undefined || found.isSuperuser ? Infinity : limited(found.max)
}
