import { parentPort, workerData } from 'node:worker_threads'
import { type ChunkTask, type EntryContext, makeChunkVerifier } from './verify-chunk.ts'

/** One thread of the pool: checks chunks of entries, each by itself, and answers in order. */
const port = parentPort!
const verifyChunk = await makeChunkVerifier(workerData as EntryContext)

port.on('message', (task: ChunkTask) => {
  const result = verifyChunk(task)
  port.postMessage(result, [result.packed.bytes.buffer, result.packed.words.buffer])
})
