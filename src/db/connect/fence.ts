/**
 * A session's position in the history of its cluster.
 *
 * Postgres begins a new timeline at each promotion. Of two primaries of one system, the one with the lower timeline
 * was replaced.
 */
export type Timeline = {
  /** Identifier made by initdb, shared by a primary and its standbys. Decimal. */
  readonly system: string
  /** From 1. */
  readonly timeline: number
}

/**
 * Remembers the highest timeline that this process has seen.
 *
 * A replaced primary that does not know it yet (it was stopped, or cut off from its cluster) answers like any other.
 * Nothing that it stores can show that it was replaced. Memory outside of it can
 * (docs/decisions/0032-old-primaries-are-fenced.md).
 *
 * The timeline of a session never changes: a demoted primary ends its sessions, and sessions of a standby are
 * refused. So each connection reads it once, and it is compared whenever the connection is taken from its pool.
 */
export class Fence {
  #highest: Timeline | null = null

  /**
   * Registers a new session. Returns true if it is the first of a new timeline. Throws if a replaced primary serves
   * it.
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
   * Another system is another database, restored from a dump or upgraded. Its timelines cannot be compared with this
   * system's.
   */
  isReplaced({ system, timeline }: Timeline): boolean {
    return this.#highest?.system === system && timeline < this.#highest.timeline
  }
}

function isSame(a: Timeline, b: Timeline): boolean {
  return a.system === b.system && a.timeline === b.timeline
}
