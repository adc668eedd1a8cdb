import { parentPort } from 'node:worker_threads'
import type { Ended, Given } from '../../../src/append/threads/piece.ts'

/* A thread that does what a test says, as src/append/threads/thread.ts does what a server says. */

const KNOWN = {
  echo: (input: unknown) => input,
  /** Without end. */
  spin(): never {
    for (;;);
  },
  /** Until the other side says so, in memory that both see. */
  hold(gate: Int32Array<SharedArrayBuffer>): number {
    Atomics.add(gate, 1, 1)
    Atomics.notify(gate, 1)
    Atomics.wait(gate, 0, 0)
    return Atomics.load(gate, 1)
  },
  crash(): never {
    process.exit(3)
  },
  fill(): number {
    const kept: number[][] = []
    for (;;) kept.push(new Array<number>(100_000).fill(Math.random()))
  },
  fail(): never {
    throw new Error('it does not work')
  },
}
export type Known = typeof KNOWN

parentPort!.on('message', ({ name, input }: Given) => {
  let ended: Ended
  try {
    ended = { done: KNOWN[name as keyof Known](input as never) }
  } catch (error) {
    ended = { threw: (error as Error).message }
  }
  parentPort!.postMessage(ended)
})
