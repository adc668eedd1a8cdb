/** Clients in a closed loop. A test of faults starts and stops them. */
export type Loops = {
  /** Resolves when all clients have ended. Rejects when one has failed. */
  ended(): Promise<void>
  /** Starts no new work and completes the work in progress. Rejects when a client has failed. */
  finish(): Promise<void>
  abandon(): Promise<void>
}

export type LoopState = { readonly stopping: boolean; readonly abandoned: boolean }

/**
 * Starts clients that repeat their work until `stopping` is true. Once `abandoned` is true, clients also give up their
 * work in progress.
 */
export function startLoops(
  clients: number,
  run: (client: number, state: LoopState) => Promise<void>,
  state: { stopping: boolean; abandoned: boolean } = { stopping: false, abandoned: false },
): Loops {
  const all = Promise.all(Array.from({ length: clients }, (_, client) => run(client, state))).then(() => {})
  all.catch(() => {}) // `ended` and `finish` report the error
  return {
    ended: () => all,
    async finish() {
      state.stopping = true
      await all
    },
    async abandon() {
      state.stopping = true
      state.abandoned = true
      await all.catch(() => {})
    },
  }
}
