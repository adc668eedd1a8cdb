import type { Finding } from './finding.ts'
import { API_CONNECTIONS, WORKER_CONNECTIONS } from './judge-connections.ts'
import type { LatencySummary } from './latencies.ts'
import type { PreflightResult } from './preflight.ts'

/**
 * Output of `--json`. Scripts rely on the names, which end with their units. docs/operate/settings.md#preflight lists
 * them.
 */
export type PreflightReport = ReturnType<typeof makeReport>

export function makeReport(result: PreflightResult, about: { address: string; gateMs: number; at: Date }) {
  const { facts, commits, server, replica, plan, connections } = result
  return {
    ok: isWell(result.findings),
    at: about.at.toISOString(),
    database: about.address,
    gateMs: about.gateMs,
    findings: result.findings,
    postgres: {
      version: facts.version,
      database: facts.database,
      login: facts.login,
      isStandby: facts.inRecovery,
      pooler: result.pooler,
      settings: facts.settings,
    },
    roundTrip: inMs(result.roundTrip),
    commit: commits && inMs(commits.commit),
    commitWithoutFlush: commits && inMs(commits.unflushed),
    flush: commits && inMs(commits.flush),
    clock: result.clock,
    connections: {
      max: connections.max,
      reserved: connections.reserved,
      inUse: connections.inUse,
      databaseMax: nullIfUnlimited(connections.databaseMax),
      logins: connections.logins.map((each) => ({ ...each, max: nullIfUnlimited(each.max) })),
      perApiProcess: API_CONNECTIONS,
      perWorker: WORKER_CONNECTIONS,
      apiProcessesBesideAWorker: plan.workerFits ? plan.apiProcesses : 0,
    },
    replica: replica && {
      isStandby: replica.facts.isStandby,
      isOfThisSystem: replica.facts.system === replica.primary.system,
      replayMs: replica.replayMs === Infinity ? null : replica.replayMs,
    },
    server: server && {
      version: server.version,
      readyStatus: server.readyStatus,
      roundTrip: inMs(server.roundTrip),
      clock: server.clock,
    },
  }
}

export function isWell(findings: readonly Finding[]): boolean {
  return findings.every(({ status }) => status !== 'fail')
}

function inMs({ count, p50, p90, p99, max }: LatencySummary) {
  return { samples: count, p50Ms: p50 / 1e6, p90Ms: p90 / 1e6, p99Ms: p99 / 1e6, maxMs: max / 1e6 }
}

const nullIfUnlimited = (max: number) => (max < 0 ? null : max)
