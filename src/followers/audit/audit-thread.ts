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
 * Runs one audit in its own thread. An audit of millions of entries takes minutes of CPU, so everything else in the
 * process and on the machine has priority.
 */
const { url, options, ledger, checkpoints } = workerData as AuditTask
const say = (message: AuditMessage) => parentPort!.postMessage(message)

// Linux only: on other systems this would change the niceness of the whole process.
if (process.platform === 'linux') raiseNiceness(() => AUDIT_NICENESS_MIN)

/**
 * Sleeps after each range (tens of milliseconds of work), so that the audit uses only its share of a core. Low priority
 * alone is not enough: with it, during an audit, writes of single records at 80 % of the maximum throughput had a p50
 * of 1.4 s.
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
    // Old entries that come after the newest checkpoint are only a notice, not a fault. `checkpoints` contains the
    // newest checkpoint ever signed, so no checkpoint was signed for these entries yet. If they were stored as a fault,
    // no checkpoint would ever be signed for them.
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
// The port is closed last, because the main thread's answers to requests arrive through it.
parentPort!.close()
