import type { ClockOffset } from '../../src/db/connect/clock.ts'
import type { Pooler } from '../../src/db/connect/pooler.ts'
import { PREFLIGHT_ANSWER_TIMEOUT_MS } from '../../src/db/limits.ts'
import type { Commits } from './commits.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import type { LatencySummary } from './latencies.ts'
import {
  CLOCK_SKEW_MS_MAX,
  PREFLIGHT_CLOCK_FAIL_MS,
  PREFLIGHT_CLOCK_WARN_MS,
  PREFLIGHT_ROUND_TRIP_WARN_MS,
} from './limits.ts'
import type { ServerAnswers } from './server.ts'
import { latencyText, msOf } from './text.ts'

export function judgeRoundTrip(roundTrip: LatencySummary): Finding {
  const detail = latencyText(roundTrip)
  if (roundTrip.p50 / 1e6 <= PREFLIGHT_ROUND_TRIP_WARN_MS) return ok('round trip', detail)
  return warn(
    'round trip',
    detail,
    'each append locks its ledger for one round trip: run servers and workers in the region of the database',
  )
}

/**
 * Judges commits. The gate applies to the median, which characterizes the disk. A p99 above the gate is only a
 * warning: it depends on three of three hundred samples, and on other load.
 */
export function judgeCommits(commits: Commits | null, gateMs: number): Finding[] {
  if (commits === null)
    return [
      fail(
        'flush',
        `no commit finished within ${PREFLIGHT_ANSWER_TIMEOUT_MS / 1000} s, so the disk could not be measured`,
        'use the primary; check that the standbys in synchronous_standby_names are connected, and that this login may ' +
          'execute pg_logical_emit_message (every login may by default)',
      ),
    ]
  return [ok('commit', `one after another: ${latencyText(commits.commit)}`), judgeFlush(commits, gateMs)]
}

function judgeFlush({ unflushed, flush }: Commits, gateMs: number): Finding {
  const detail = `${latencyText(flush)} (commits, less the ${msOf(unflushed.p50)} of a commit without flush); the gate is ${gateMs} ms`
  if (flush.p50 / 1e6 > gateMs)
    return fail(
      'flush',
      detail,
      'every append waits for a flush: use a faster disk or a less busy machine, or raise --gate-ms',
    )
  if (flush.p99 / 1e6 > gateMs)
    return warn('flush', `${detail}, and the p99 is above it`, 'check whether the disk is shared or busy')
  return ok('flush', detail)
}

export function judgeClock({ aheadMs, errorMs }: ClockOffset): Finding {
  return judgeOffset('clock', 'the database’s', 'this machine’s', { aheadMs, errorMs })
}

/** Judges a server. `database`: offset of the database's clock from this machine's clock. */
export function judgeServer(
  answers: ServerAnswers,
  database: ClockOffset,
  ourVersion: string,
  address: string,
): Finding[] {
  const { version, readyStatus, roundTrip, clock } = answers
  if (version === null)
    return [
      fail('server', `${address} does not answer like a Tallystick server`, 'use the server’s own address'),
    ]
  const findings = [
    readyStatus === 200
      ? ok('server', `${address} is ready; ${latencyText(roundTrip)}`)
      : fail('server', `${address} answers ${readyStatus} on /readyz`, 'read its log'),
    version === ourVersion
      ? ok('server version', version)
      : warn('server version', `it has ${version}, this tool ${ourVersion}`, 'use the same version of both'),
  ]
  if (clock === null) return findings
  // The server's clock minus the database's clock. The server signs entries with the time of its own clock, and the
  // database compares that time with its own.
  const offset = { aheadMs: clock.aheadMs - database.aheadMs, errorMs: clock.errorMs + database.errorMs }
  return [...findings, judgeOffset('server clock', 'the server’s', 'the database’s', offset)]
}

function judgeOffset(
  check: string,
  theirs: string,
  other: string,
  { aheadMs, errorMs }: ClockOffset,
): Finding {
  const which = aheadMs > 0 ? 'ahead of' : 'behind'
  const detail = `${theirs} is ${offsetText(aheadMs)} ${which} ${other} (± ${offsetText(errorMs)})`
  // The part of the offset that is certain: the offset minus the measuring error.
  const certainMs = Math.abs(aheadMs) - errorMs
  const advice = `synchronize both with a time server (NTP): entries more than ${CLOCK_SKEW_MS_MAX / 1000} s off are refused`
  if (certainMs > PREFLIGHT_CLOCK_FAIL_MS) return fail(check, detail, advice)
  if (certainMs > PREFLIGHT_CLOCK_WARN_MS) return warn(check, detail, advice)
  return ok(check, detail)
}

function offsetText(ms: number): string {
  const size = Math.abs(ms)
  return size < 1_000 ? `${size.toFixed(1)} ms` : `${(size / 1000).toFixed(1)} s`
}

export function judgePooler(pooler: Pooler | 'unknown'): Finding[] {
  if (pooler === 'none') return []
  if (pooler === 'unknown')
    return [
      fail(
        'pooler',
        'there is a pooler in front of Postgres, and it gives no second connection: its mode cannot be detected',
        'let it open more connections (`default_pool_size`), and run this again: servers and workers need several to start',
      ),
    ]
  const advice =
    'use the address of Postgres itself: servers and workers have pools of their own, and set timeouts and planner settings ' +
    'when they connect'
  return [
    pooler === 'transaction'
      ? fail(
          'pooler',
          'a pooler gives connections to other clients after each transaction or statement',
          advice,
        )
      : warn('pooler', 'there is a pooler in front of Postgres', advice),
  ]
}
