import { Worker } from 'node:worker_threads'
import {
  type EntryContext,
  makePortionVerifier,
  type PortionResult,
  type PortionTask,
} from './verify-portion.ts'

/** Checks entries one by one, many at a time. Answers come in any order; each promise is its own portion's. */
export type EntryPool = {
  /** Portions to hand over before waiting for the first: keeps every worker busy, and memory bounded. */
  readonly portionsInFlightMax: number
  run(task: PortionTask): Promise<PortionResult>
  close(): Promise<void>
}

const PORTIONS_IN_FLIGHT_PER_WORKER = 3
/** Beside this file, in the sources as well as in the package of the command line, where both are JavaScript. */
const ENTRY_WORKER = new URL(`./entry-worker${import.meta.url.slice(-3)}`, import.meta.url)

/** `threads` ≤ 1: in this thread. */
export async function openEntryPool(context: EntryContext, threads: number): Promise<EntryPool> {
  return threads <= 1 ? inProcess(context) : openEntryThreads(context, threads)
}

async function inProcess(context: EntryContext): Promise<EntryPool> {
  const verifyPortion = await makePortionVerifier(context)
  return {
    portionsInFlightMax: 1,
    run: async (task) => verifyPortion(task),
    close: async () => {},
  }
}

/** Even one thread is another one: this thread serves others meanwhile. */
export function openEntryThreads(context: EntryContext, threads: number): EntryPool {
  const members = Array.from({ length: threads }, () => openMember(context))
  return {
    portionsInFlightMax: threads * PORTIONS_IN_FLIGHT_PER_WORKER,
    run: (task) => members.reduce((a, b) => (b.waiting() < a.waiting() ? b : a)).run(task),
    close: async () => {
      await Promise.all(members.map((member) => member.close()))
    },
  }
}

/** One worker thread: answers come in the order of the questions. */
function openMember(context: EntryContext) {
  const worker = new Worker(ENTRY_WORKER, { workerData: context })
  const waiting: { resolve: (result: PortionResult) => void; reject: (error: Error) => void }[] = []
  let failure: Error | null = null
  worker.on('message', (result: PortionResult) => waiting.shift()!.resolve(result))
  // A worker that is gone must not leave its portions unanswered: verification would hang, or worse, skip them.
  const fail = (error: Error) => {
    failure ??= error
    for (const portion of waiting.splice(0)) portion.reject(failure)
  }
  worker.on('error', fail)
  worker.on('exit', (code) => fail(new Error(`a verification thread ended with code ${code}`)))
  return {
    waiting: () => waiting.length,
    run: (task: PortionTask) =>
      new Promise<PortionResult>((resolve, reject) => {
        if (failure) return reject(failure)
        waiting.push({ resolve, reject })
        worker.postMessage(task, buffersOf(task))
      }),
    close: async () => {
      await worker.terminate()
    },
  }
}

/** Handed over, not copied: each MUST be of the task alone. */
function buffersOf({ lines, rows }: PortionTask): ArrayBuffer[] {
  const bytes = rows ? [lines, rows.columns, rows.contents] : [lines]
  return bytes.map(({ buffer }) => buffer as ArrayBuffer)
}
