import { workInThread } from '../../../src/load/threads/work-in-thread.ts'

/* This thread has functions for tests. The server's thread is src/http/thread.ts. */

const KNOWN = {
  echo: (input: unknown) => input,
  spin(): never {
    for (;;);
  },
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

workInThread(KNOWN)
