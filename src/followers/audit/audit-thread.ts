import { parentPort, workerData } from 'node:worker_threads'
import { Database } from '../../db/connect/connection.ts'
import { raiseNiceness } from '../../niceness.ts'
import { database } from '../../verify/database.ts'
import { threadCpuMs } from '../../verify/thread-cpu.ts'
import { verifyLedger } from '../../verify/verify-ledger.ts'
import { AUDIT_NICENESS_MIN, AUDIT_PROGRESS_EVERY_MS, AUDIT_TIME_SHARE_MAX } from '../limits.ts'
import { RemoteContent } from './archive-messages.ts'
import type { AuditMessage, AuditTask } from './verify-in-thread.ts'

/*
 * Runs one audit in its own thread. It takes minutes of CPU for millions of entries, so everything else in the
 * process and on the machine has priority.
 */
const { url, options, ledger, checkpoints } = workerData as AuditTask
const say = (message: AuditMessage) => parentPort!.postMessage(message)

// On other systems this would change the niceness of the whole process.
if (process.platform === 'linux') raiseNiceness(() => AUDIT_NICENESS_MIN)

/**
 * Sleeps after each range (tens of milliseconds of work), so that the audit stays within its share of a core. With
 * low priority alone, single records at 80 % of maximum throughput had a p50 of 1.4 s during an audit.
 */
const sleeper = new Int32Array(new SharedArrayBuffer(4))
let [usedMs, endedAt] = [threadCpuMs(), performance.now()]
function rest(): void {
  const restMs = (threadCpuMs() - usedMs) / AUDIT_TIME_SHARE_MAX - (performance.now() - endedAt)
  if (restMs > 0) Atomics.wait(sleeper, 0, 0, restMs)
  usedMs = threadCpuMs()
  endedAt = performance.now()
}

let reportedAt = 0
const report = await verifyLedger(
  database(new Database(url, options, null, new RemoteContent(parentPort!, say)), ledger),
  {
    checkpoints,
    // The newest checkpoint that was ever signed is stored outside and is among these, so nothing behind it was
    // signed. A fault would make sure that nothing ever is.
    lateTail: 'noticed',
    threads: 1,
    onProgress({ entries, total }) {
      rest()
      const now = performance.now()
      if (now - reportedAt < AUDIT_PROGRESS_EVERY_MS) return
      reportedAt = now
      say({ progress: { entries, total } })
    },
  },
)
say({ report })
// Until here the port receives the process' answers.
parentPort!.close()
