import type { Connection } from './connection.ts'
import { OUTBOUND_IDLE_CONNECTIONS_MAX } from './limits.ts'

/**
 * Stores idle connections for later exchanges, by origin. Each connection closes by itself after OUTBOUND_IDLE_MS_MAX.
 */
export class IdleConnections {
  readonly #byOrigin = new Map<string, Connection[]>()
  /** All idle connections, in the order in which they were stored. */
  readonly #all = new Set<Connection>()

  get size(): number {
    return this.#all.size
  }

  /**
   * Removes and returns the connection that was stored last, because the peer will close that connection last. Returns
   * null if the origin has no idle connection.
   */
  take(origin: string): Connection | null {
    const connection = this.#byOrigin.get(origin)?.at(-1) ?? null
    if (connection !== null) this.remove(connection)
    return connection
  }

  /**
   * Stores a connection. Returns the connection that was removed to make room, or null. The caller MUST destroy a
   * returned connection.
   */
  add(connection: Connection): Connection | null {
    const oldest = this.#all.size < OUTBOUND_IDLE_CONNECTIONS_MAX ? null : this.#all.values().next().value!
    if (oldest !== null) this.remove(oldest)
    this.#all.add(connection)
    const others = this.#byOrigin.get(connection.origin)
    if (others) others.push(connection)
    else this.#byOrigin.set(connection.origin, [connection])
    return oldest
  }

  /** Removes a connection. Returns true if it was stored here. */
  remove(connection: Connection): boolean {
    if (!this.#all.delete(connection)) return false
    const others = this.#byOrigin.get(connection.origin)!
    if (others.length === 1) this.#byOrigin.delete(connection.origin)
    else others.splice(others.indexOf(connection), 1)
    return true
  }
}
