/** Clients in a closed loop, started and stopped by a test of faults. */
export type Loops = {
  /** Resolves when all clients have ended. Rejects when one has failed. */
  ended(): Promise<void>
  /** Starts nothing new and completes the work in progress. Rejects when a client has failed. */
  finish(): Promise<void>
  abandon(): Promise<void>
}

export type LoopState = { readonly stopping: boolean; readonly abandoned: boolean }

/**
 * Starts clients that repeat their work until `stopping`. They give up their work in progress once `abandoned` is
 * true.
 */
export function startLoops(
  clients: number,
  run: (client: number, state: LoopState) => Promise<void>,
  state: { stopping: boolean; abandoned: boolean } = { stopping: false, abandoned: false },
): Loops {
  const all = Promise.all(Array.from({ length: clients }, (_, client) => run(client, state))).then(() => {})
  all.catch(() => {}) // reported by ended or finish
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
