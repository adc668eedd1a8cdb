import { parentPort, workerData } from 'node:worker_threads'
import { threadCpuMs } from './thread-cpu.ts'
import { type EntryContext, makeRangeVerifier, type RangeTask } from './verify-range.ts'

/** Main module of a thread of the pool. The thread verifies each entry separately and answers tasks in order. */
const port = parentPort!
const verifyRange = await makeRangeVerifier(workerData as EntryContext)

port.on('message', (task: RangeTask) => {
  const before = threadCpuMs()
  const result = verifyRange(task)
  port.postMessage({ ...result, cpuMs: threadCpuMs() - before }, [
    result.packed.bytes.buffer,
    result.packed.words.buffer,
  ])
})
