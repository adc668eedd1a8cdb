import type pg from 'pg'
import { type ClockOffset, measureClock } from '../../src/db/connect/clock.ts'
import { Database, type DatabaseOrUrl } from '../../src/db/connect/connection.ts'
import { findPooler, type Pooler } from '../../src/db/connect/pooler.ts'
import {
  type ConnectionFacts,
  listLoginSettings,
  openPreflightClient,
  readConnectionFacts,
  readMissingGuards,
  readServerFacts,
  type ServerFacts,
} from '../../src/db/schema/preflight.ts'
import { translated } from '../../src/verify/postgres-errors.ts'
import { type Commits, measureCommits, measureRoundTrips } from './commits.ts'
import { type Finding, fail } from './finding.ts'
import { type ConnectionPlan, judgeConnections, planConnections } from './judge-connections.ts'
import * as measured from './judge-measured.ts'
import { judgeSettings, LOGIN_SETTINGS, SETTINGS } from './judge-settings.ts'
import type { LatencySummary } from './latencies.ts'
import { PREFLIGHT_CLOCK_SAMPLES } from './limits.ts'
import { askReplica, judgeReplica, type ReplicaAnswers } from './replica.ts'
import { askServer, type ServerAnswers } from './server.ts'

type PreflightOptions = {
  readonly database: DatabaseOrUrl
  readonly gateMs: number
  readonly server: { readonly url: URL; readonly version: string } | null
  /** Standby from which servers are to read, or null without a standby. */
  readonly replica: { readonly database: DatabaseOrUrl; readonly address: string } | null
  readonly now: () => number
}

export type PreflightResult = {
  readonly findings: readonly Finding[]
  readonly facts: ServerFacts
  /** Result of the pooler detection. `unknown`: no second connection could be opened. */
  readonly pooler: Pooler | 'unknown'
  readonly roundTrip: LatencySummary
  /** Commit latencies, or null if commits are not possible. */
  readonly commits: Commits | null
  readonly clock: ClockOffset
  readonly connections: ConnectionFacts
  readonly plan: ConnectionPlan
  readonly server: ServerAnswers | null
  readonly replica: ReplicaAnswers | null
}

/**
 * Measures the database, then judges the results. Writes to no table. Throws the errors of Postgres and the network
 * if it cannot connect.
 */
export async function runPreflight(options: PreflightOptions): Promise<PreflightResult> {
  const client = await openPreflightClient(options.database)
  try {
    const facts = await readPostgres(client)
    // Commits are measured last, because a commit that no standby confirms blocks its connection.
    const timed = await timePostgres(client, options, facts)
    const replica = await readReplicaAnswers(client, options)
    const server = await readServerAnswers(options)
    const findings = [
      ...judgeSettings(facts.facts, facts.loginSettings, facts.missing, acceptedBy(options.database)),
      ...measured.judgePooler(timed.pooler),
      measured.judgeRoundTrip(timed.roundTrip),
      ...measured.judgeCommits(timed.commits, options.gateMs),
      measured.judgeClock(timed.clock),
      judgeConnections(facts.connections, facts.plan),
      ...judgeReplicaAnswers(replica),
      ...judgeAnswers(server, timed.clock, options),
    ]
    return {
      findings,
      ...facts,
      ...timed,
      replica: replica instanceof Error ? null : replica,
      server: server instanceof Error ? null : server,
    }
  } finally {
    await client.end()
  }
}

const acceptedBy = (database: DatabaseOrUrl) => Database.of(database).options.accepted ?? []

async function readPostgres(client: pg.Client) {
  const facts = await readServerFacts(client, SETTINGS)
  const loginSettings = await listLoginSettings(client, LOGIN_SETTINGS)
  const connections = await readConnectionFacts(client)
  const missing = await readMissingGuards(client)
  return { facts, loginSettings, missing, connections, plan: planConnections(connections, facts.login) }
}

async function timePostgres(
  client: pg.Client,
  options: PreflightOptions,
  { facts }: Pick<PreflightResult, 'facts'>,
) {
  const pooler = await findPooler(client, options.database).catch((): 'unknown' => 'unknown')
  const roundTrip = await measureRoundTrips(client)
  const clock = await measureClock(client, options.now, PREFLIGHT_CLOCK_SAMPLES)
  const commits = facts.inRecovery ? null : await measureCommits(client).catch(nullIfDeniedOrStuck)
  return { pooler, roundTrip, clock, commits }
}

const INSUFFICIENT_PRIVILEGE = '42501'

function nullIfDenied(error: unknown): null {
  if ((error as { code?: unknown }).code === INSUFFICIENT_PRIVILEGE) return null
  throw error
}

/**
 * Returns null if the error means that commits are denied, or that a commit hangs because no standby confirms it. For a
 * hanging commit, pg throws an error without a code, whose message is `Query read timeout`. Throws any other error.
 */
function nullIfDeniedOrStuck(error: unknown): null {
  return (error as Error).message === 'Query read timeout' ? null : nullIfDenied(error)
}

/**
 * Reads the replica's facts. If the replica is not readable, returns the Error, which becomes a finding: servers work
 * without a replica. Runs after the commits, because the replica must replay them.
 */
async function readReplicaAnswers(
  client: pg.Client,
  { replica }: PreflightOptions,
): Promise<ReplicaAnswers | Error | null> {
  if (replica === null) return null
  const asking = translated(replica.address, () => askReplica(client, replica.database))
  return asking.catch((error: Error) => error)
}

function judgeReplicaAnswers(answers: ReplicaAnswers | Error | null): Finding[] {
  if (answers === null) return []
  if (!(answers instanceof Error)) return [judgeReplica(answers)]
  return [
    fail(
      'replica',
      answers.message,
      'is it running, is the address right, and does pg_hba.conf allow servers? Until then servers read from the primary',
    ),
  ]
}

/**
 * Reads the server's answers. If the server is not reachable, returns the Error, which becomes a finding: the other
 * measurements stay valid.
 */
async function readServerAnswers({ server, now }: PreflightOptions): Promise<ServerAnswers | Error | null> {
  return server === null ? null : askServer(server.url, now).catch((error: Error) => error)
}

function judgeAnswers(
  answers: ServerAnswers | Error | null,
  clock: ClockOffset,
  { server }: PreflightOptions,
): Finding[] {
  if (answers === null || server === null) return []
  const { origin, pathname } = server.url
  const address = origin + (pathname === '/' ? '' : pathname)
  if (!(answers instanceof Error)) return measured.judgeServer(answers, clock, server.version, address)
  const { code, message } = ((answers as { cause?: unknown }).cause ?? answers) as NodeJS.ErrnoException
  return [
    fail(
      'server',
      `${address} does not answer (${code ?? message})`,
      'is it running, is the address right, and does a firewall block the way?',
    ),
  ]
}
