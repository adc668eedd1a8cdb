/** A closed loop of clients that a test of faults starts, and ends in its own time. */
export type Loops = {
  /** All clients have ended; rejects when one has failed. */
  ended(): Promise<void>
  /** Nothing new is begun; what is under way is taken to its end. Rejects when a client has failed. */
  finish(): Promise<void>
  /** Stops the clients where they are. */
  abandon(): Promise<void>
}

export type LoopState = { readonly stopping: boolean; readonly abandoned: boolean }

/** Starts clients, each of which repeats its work until `stopping`, and gives up what is under way once it is `abandoned`. */
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
