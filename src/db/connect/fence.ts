/**
 * Place of a session in the history of its cluster. Postgres begins a new timeline at each promotion, so of two primaries of one
 * system the one with the lower timeline was replaced.
 */
export type Timeline = {
  /** Made by initdb, common to a primary and its standbys. Decimal. */
  readonly system: string
  /** From 1. */
  readonly timeline: number
}

/**
 * Highest timeline that this process has seen. A primary that was replaced and does not know it yet (it was stopped, or cut off from its
 * cluster) answers like any other: nothing that it stores can tell. Memory outside of it can (docs/decisions/0032-old-primaries-are-fenced.md).
 *
 * The timeline of a session never changes, because a primary that is demoted ends its sessions, and sessions of a standby are
 * refused. So it is asked for once a connection, and compared each time that the connection is taken.
 */
export class Fence {
  #highest: Timeline | null = null

  /** Takes note of a session that begins. Throws if a primary that was replaced serves it. True if it is the first of a new timeline. */
  admit(session: Timeline): boolean {
    if (this.isReplaced(session)) {
      throw new Error(
        `it was replaced: its timeline is ${session.timeline}, and this process has seen ${this.#highest!.timeline}. ` +
          'Stop it, or have it join its cluster as a standby',
      )
    }
    const isNew = this.#highest !== null && !isSame(this.#highest, session)
    this.#highest = session
    return isNew
  }

  /** Another system is another database, restored from a dump or upgraded: its timelines say nothing of this one's. */
  isReplaced({ system, timeline }: Timeline): boolean {
    return this.#highest?.system === system && timeline < this.#highest.timeline
  }
}

function isSame(a: Timeline, b: Timeline): boolean {
  return a.system === b.system && a.timeline === b.timeline
}
