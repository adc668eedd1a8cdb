import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { THREAD_INITIAL_HEAP_MIB } from '../../load/limits.ts'
import { ThreadPool } from '../../load/threads/pool.ts'
import type { Work } from './thread.ts'

/** The threads of a server or worker. */
export type Threads = ThreadPool<Work>

/** Beside this file, in the sources as well as where both are JavaScript. */
const SCRIPT = new URL(`./thread${import.meta.url.slice(-3)}`, import.meta.url)

/** `threads`: null is one more than there are CPU cores that the process may use, because no owner has the last one. */
export function openThreads(
  threads: number | null,
  log: { warn(details: object, message: string): void },
): Threads {
  setFlagsFromString(`--initial-heap-size=${THREAD_INITIAL_HEAP_MIB}`)
  return new ThreadPool<Work>({
    script: SCRIPT,
    threads: threads ?? availableParallelism() + 1,
    onLost: (err, owner) => log.warn({ err, owner }, 'work in a thread was not done'),
  })
}
