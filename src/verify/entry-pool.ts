import { Worker } from 'node:worker_threads'
import { type ChunkResult, type ChunkTask, type EntryContext, makeChunkVerifier } from './verify-chunk.ts'

/** Checks entries one by one, many at a time. Answers come in any order; each promise is its own chunk's. */
export type EntryPool = {
  /** Chunks to hand over before waiting for the first: keeps every worker busy, and memory bounded. */
  readonly chunksInFlightMax: number
  run(task: ChunkTask): Promise<ChunkResult>
  close(): Promise<void>
}

const CHUNKS_IN_FLIGHT_PER_WORKER = 3
/** Beside this file, in the sources as well as in the package of the command line, where both are JavaScript. */
const ENTRY_WORKER = new URL(`./entry-worker${import.meta.url.slice(-3)}`, import.meta.url)

/** `threads` ≤ 1: in this thread. */
export async function openEntryPool(context: EntryContext, threads: number): Promise<EntryPool> {
  return threads <= 1 ? inProcess(context) : openEntryThreads(context, threads)
}

async function inProcess(context: EntryContext): Promise<EntryPool> {
  const verifyChunk = await makeChunkVerifier(context)
  return {
    chunksInFlightMax: 1,
    run: async (task) => verifyChunk(task),
    close: async () => {},
  }
}

/** Even one thread is another one: this thread serves others meanwhile. */
export function openEntryThreads(context: EntryContext, threads: number): EntryPool {
  const members = Array.from({ length: threads }, () => openMember(context))
  return {
    chunksInFlightMax: threads * CHUNKS_IN_FLIGHT_PER_WORKER,
    run: (task) => members.reduce((a, b) => (b.waiting() < a.waiting() ? b : a)).run(task),
    close: async () => {
      await Promise.all(members.map((member) => member.close()))
    },
  }
}

/** One worker thread: answers come in the order of the questions. */
function openMember(context: EntryContext) {
  const worker = new Worker(ENTRY_WORKER, { workerData: context })
  const waiting: { resolve: (result: ChunkResult) => void; reject: (error: Error) => void }[] = []
  let failure: Error | null = null
  worker.on('message', (result: ChunkResult) => waiting.shift()!.resolve(result))
  // A worker that is gone must not leave its chunks unanswered: verification would hang, or worse, skip them.
  const fail = (error: Error) => {
    failure ??= error
    for (const chunk of waiting.splice(0)) chunk.reject(failure)
  }
  worker.on('error', fail)
  worker.on('exit', (code) => fail(new Error(`a verification thread ended with code ${code}`)))
  return {
    waiting: () => waiting.length,
    run: (task: ChunkTask) =>
      new Promise<ChunkResult>((resolve, reject) => {
        if (failure) return reject(failure)
        waiting.push({ resolve, reject })
        worker.postMessage(task, [task.lines.buffer as ArrayBuffer])
      }),
    close: async () => {
      await worker.terminate()
    },
  }
}
