/**
 * A session's position in the history of its cluster.
 *
 * Postgres begins a new timeline at each promotion. If two primaries have the same `system`, the one with the lower
 * timeline was replaced.
 */
export type Timeline = {
  /** Decimal identifier that initdb made. A primary and its standbys have the same identifier. */
  readonly system: string
  /** Number of the timeline. The first timeline is 1. */
  readonly timeline: number
}

/**
 * Remembers the highest timeline that this process has seen.
 *
 * A replaced primary that was stopped or cut off from its cluster may not know that it was replaced. It answers like
 * any other primary, and none of its own data shows the replacement. So this process remembers the replacement
 * (docs/decisions/0032-failover-and-replicas.md#replaced-primaries).
 *
 * The timeline of a session never changes: a demoted primary ends its sessions, and sessions of a standby are refused.
 * So each connection reads its timeline once. The timeline is compared whenever the connection is taken from its pool.
 */
export class Fence {
  #highest: Timeline | null = null

  /**
   * Registers a new session. Returns true if the session is the first of a new timeline. Throws if a replaced primary
   * serves the session.
   */
  admit(session: Timeline): boolean {
    if (this.isReplaced(session)) {
      throw new Error(
        `it is an old primary: its timeline is ${session.timeline}, and this process has seen timeline ${this.#highest!.timeline}. ` +
          'Stop it, or have it join its cluster as a standby',
      )
    }
    const isNew = this.#highest !== null && !isSame(this.#highest, session)
    this.#highest = session
    return isNew
  }

  /**
   * Returns whether a replaced primary serves the session.
   *
   * Returns false for a session of another system. Such a system is another database, restored from a dump or upgraded.
   * Its timelines cannot be compared with the timelines of this system.
   */
  isReplaced({ system, timeline }: Timeline): boolean {
    return this.#highest?.system === system && timeline < this.#highest.timeline
  }
}

function isSame(a: Timeline, b: Timeline): boolean {
  return a.system === b.system && a.timeline === b.timeline
}
