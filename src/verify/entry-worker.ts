import { parentPort, workerData } from 'node:worker_threads'
import { threadCpuMs } from './thread-cpu.ts'
import { type EntryContext, makePortionVerifier, type PortionTask } from './verify-portion.ts'

/** A thread of the pool: verifies entries individually, and answers tasks in order. */
const port = parentPort!
const verifyPortion = await makePortionVerifier(workerData as EntryContext)

port.on('message', (task: PortionTask) => {
  const before = threadCpuMs()
  const result = verifyPortion(task)
  port.postMessage({ ...result, cpuMs: threadCpuMs() - before }, [
    result.packed.bytes.buffer,
    result.packed.words.buffer,
  ])
})
