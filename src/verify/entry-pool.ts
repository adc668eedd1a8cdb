import { Worker } from 'node:worker_threads'
import { type EntryContext, makeRangeVerifier, type RangeResult, type RangeTask } from './verify-range.ts'

/**
 * Verifies each entry separately, many of them in parallel. A range may be finished before an earlier range. `run`
 * returns the result of its own range.
 */
export type EntryPool = {
  /**
   * Number of ranges to start before waiting for the first result. It is large enough to occupy every thread, and small
   * enough to limit memory.
   */
  readonly rangesInFlightMax: number
  run(task: RangeTask): Promise<RangeResult>
  close(): Promise<void>
}

const RANGES_IN_FLIGHT_PER_WORKER = 3
/**
 * The file of the thread is next to this file and has the same ending: TypeScript in the sources, JavaScript in the
 * command line's package.
 */
const ENTRY_WORKER = new URL(`./entry-worker${import.meta.url.slice(-3)}`, import.meta.url)

/** Opens a pool. If `threads` is at most 1, the calling thread verifies. */
export async function openEntryPool(context: EntryContext, threads: number): Promise<EntryPool> {
  return threads <= 1 ? inProcess(context) : openEntryThreads(context, threads)
}

async function inProcess(context: EntryContext): Promise<EntryPool> {
  const verifyRange = await makeRangeVerifier(context)
  return {
    rangesInFlightMax: 1,
    run: async (task) => verifyRange(task),
    close: async () => {},
  }
}

/**
 * Opens a pool that always uses other threads, even if `threads` is 1. The calling thread serves requests meanwhile.
 */
export function openEntryThreads(context: EntryContext, threads: number): EntryPool {
  const workers = Array.from({ length: threads }, () => openWorker(context))
  return {
    rangesInFlightMax: threads * RANGES_IN_FLIGHT_PER_WORKER,
    run: (task) => workers.reduce((a, b) => (b.waiting() < a.waiting() ? b : a)).run(task),
    close: async () => {
      await Promise.all(workers.map((member) => member.close()))
    },
  }
}

/** Starts one worker thread, which answers tasks in order. */
function openWorker(context: EntryContext) {
  const worker = new Worker(ENTRY_WORKER, { workerData: context })
  const pending: { resolve: (result: RangeResult) => void; reject: (error: Error) => void }[] = []
  let failure: Error | null = null
  worker.on('message', (result: RangeResult) => pending.shift()!.resolve(result))
  // If a thread ends, its ranges must fail. Otherwise the verification would hang, or skip these ranges.
  const fail = (error: Error) => {
    failure ??= error
    for (const range of pending.splice(0)) range.reject(failure)
  }
  worker.on('error', fail)
  worker.on('exit', (code) => fail(new Error(`a verification thread ended with code ${code}`)))
  return {
    waiting: () => pending.length,
    run: (task: RangeTask) =>
      new Promise<RangeResult>((resolve, reject) => {
        if (failure) return reject(failure)
        pending.push({ resolve, reject })
        worker.postMessage(task, buffersOf(task))
      }),
    close: async () => {
      await worker.terminate()
    },
  }
}

/** Returns the buffers that are transferred instead of copied. Each buffer MUST belong to this task alone. */
function buffersOf({ lines, rows }: RangeTask): ArrayBuffer[] {
  const bytes = rows ? [lines, rows.columns, rows.contents] : [lines]
  return bytes.map(({ buffer }) => buffer as ArrayBuffer)
}
