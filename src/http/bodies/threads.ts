import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { THREAD_INITIAL_HEAP_MIB } from '../../load/limits.ts'
import { ThreadPool } from '../../load/threads/pool.ts'
import type { Work } from './thread.ts'

export type Threads = ThreadPool<Work>

/** Script of a thread. It has the same extension as this file: .ts in the sources, .js when built. */
const SCRIPT = new URL(`./thread${import.meta.url.slice(-3)}`, import.meta.url)

/**
 * Opens the thread pool. `threads`: number of threads. If it is null, the number is CPU cores + 1. No owner may use all
 * threads, so one is always free for another owner.
 */
export function openThreads(
  threads: number | null,
  log: { warn(details: object, message: string): void },
): Threads {
  setFlagsFromString(`--initial-heap-size=${THREAD_INITIAL_HEAP_MIB}`)
  return new ThreadPool<Work>({
    script: SCRIPT,
    threads: threads ?? availableParallelism() + 1,
    onLost: (err, owner) => log.warn({ err, owner }, 'a thread did not finish its work'),
  })
}
