import { parentPort, workerData } from 'node:worker_threads'
import { type EntryContext, makePortionVerifier, type PortionTask } from './verify-portion.ts'

/** One thread of the pool: checks portions of entries, each by itself, and answers in order. */
const port = parentPort!
const verifyPortion = await makePortionVerifier(workerData as EntryContext)

port.on('message', (task: PortionTask) => {
  const before = cpuMs()
  const result = verifyPortion(task)
  port.postMessage({ ...result, cpuMs: cpuMs() - before }, [
    result.packed.bytes.buffer,
    result.packed.words.buffer,
  ])
})

/** 0 where Node does not know it: the command line runs on Node 20 too. */
function cpuMs(): number {
  const { threadCpuUsage } = process as { threadCpuUsage?: () => { user: number; system: number } }
  if (!threadCpuUsage) return 0
  const { user, system } = threadCpuUsage.call(process)
  return (user + system) / 1_000
}
