import type pg from 'pg'
import { STANDBY_CONFIRM_MS_MAX } from '../limits.ts'
import { isUnanswered } from './failures.ts'

/**
 * Makes sure that a synchronous standby has everything that a new session can see.
 *
 * Usually a commit becomes visible when a standby has it. But if the primary crashes or restarts while commits wait for
 * a standby, they are visible afterwards although no standby has them. A failover would then lose entries that a server
 * has answered, or that a worker has sent, stored or signed. So a session commits a message that is only in the log. It
 * waits until a standby has the message (docs/decisions/0032-failover-and-replicas.md#commits-that-no-standby-has).
 *
 * A crash ends all sessions, so one message is enough for each run of the primary. Later sessions of the same run do
 * not wait. So a server whose standbys are lost continues to read until the primary restarts.
 */
export class StandbyConfirmation {
  /** Run of the primary in which a standby has confirmed a message of this process. */
  #confirmedRun: string | null = null
  /** The message that waits for a standby. Other sessions of the same run wait for this message too. */
  #waiting: { readonly run: string; readonly confirmed: Promise<void> } | null = null

  /**
   * Resolves when a standby has confirmed, or if the database refuses the message. Throws if no standby confirms within
   * STANDBY_CONFIRM_MS_MAX. Must be called only if the session's primary has synchronous standbys.
   */
  async await(client: pg.ClientBase): Promise<void> {
    try {
      const { rows } = await client.query<{ run: string }>(RUN_SQL)
      const { run } = rows[0]!
      if (run === this.#confirmedRun) return
      if (this.#waiting?.run !== run) this.#waiting = { run, confirmed: this.#send(client, run) }
      await this.#waiting.confirmed
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (MESSAGE_REFUSED.includes(code)) return
      if (code === LOCK_NOT_AVAILABLE || isUnanswered(error as Error)) throw new Error(UNCONFIRMED)
      throw error
    }
  }

  async #send(client: pg.ClientBase, run: string): Promise<void> {
    // `query_timeout` is missing in pg's types, but pg accepts it. No timeout of Postgres ends the wait of a commit.
    const query = { text: MESSAGE_SQL, query_timeout: STANDBY_CONFIRM_MS_MAX }
    try {
      await client.query(query)
      this.#confirmedRun = run
    } finally {
      if (this.#waiting?.run === run) this.#waiting = null
    }
  }
}

/**
 * SQL that identifies a run of the primary. A crash of a single process does not change the start time. But Postgres
 * then recovers, and resets its statistics.
 */
const RUN_SQL = `
  select pg_catalog.json_build_array(pg_catalog.pg_postmaster_start_time(), stats_reset)::text as run
  from pg_catalog.pg_stat_archiver`

/** Key of the advisory lock of sessions that wait. The number is arbitrary, but equal in all processes. */
const CONFIRM_LOCK = 1_408_273_541

/**
 * SQL that commits the message. It is one implicit transaction.
 *
 * A session goes on waiting after its client has given up, because Postgres does not notice that. The lock allows only
 * one such session. Without the lock, attempts to connect would use up all connections while there is no
 * standby.
 */
const MESSAGE_SQL = `
  select pg_catalog.set_config('lock_timeout', '${STANDBY_CONFIRM_MS_MAX}', true);
  select pg_catalog.pg_advisory_xact_lock(${CONFIRM_LOCK});
  select pg_catalog.pg_logical_emit_message(true, 'tallystick', '')`

/** SQLSTATEs feature_not_supported, insufficient_privilege and undefined_function. */
const MESSAGE_REFUSED = ['0A000', '42501', '42883']
const LOCK_NOT_AVAILABLE = '55P03'

const UNCONFIRMED =
  'no synchronous standby has confirmed what this primary shows: start a standby, or let the primary go on without one ' +
  '(docs/operate/postgres.md#patroni)'
