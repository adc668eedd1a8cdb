import { parentPort, workerData } from 'node:worker_threads'
import { Database } from '../../db/connect/connection.ts'
import { raiseNiceness } from '../../niceness.ts'
import { database } from '../../verify/database.ts'
import { threadCpuMs } from '../../verify/thread-cpu.ts'
import { verifyLedger } from '../../verify/verify-ledger.ts'
import { AUDIT_NICENESS_MIN, AUDIT_PROGRESS_EVERY_MS, AUDIT_TIME_SHARE_MAX } from '../limits.ts'
import { AskingContent } from './archive-messages.ts'
import type { AuditMessage, AuditTask } from './verify-in-thread.ts'

/*
 * One audit, in a thread of its own: it takes minutes of CPU for millions of entries, and everybody else in the process and on
 * the machine goes first.
 */
const { url, options, ledger, checkpoints } = workerData as AuditTask
const say = (message: AuditMessage) => parentPort!.postMessage(message)

// Elsewhere it would be the whole process' niceness.
if (process.platform === 'linux') raiseNiceness(() => AUDIT_NICENESS_MIN)

/**
 * Sleeps after each portion, some tens of milliseconds of work, so that this takes no more than its share of a core: a low priority
 * alone left single records at 80 % of the ceiling a p50 of 1.4 s while an audit ran.
 */
const sleeper = new Int32Array(new SharedArrayBuffer(4))
let [usedMs, endedAt] = [threadCpuMs(), performance.now()]
function rest(): void {
  const restMs = (threadCpuMs() - usedMs) / AUDIT_TIME_SHARE_MAX - (performance.now() - endedAt)
  if (restMs > 0) Atomics.wait(sleeper, 0, 0, restMs)
  usedMs = threadCpuMs()
  endedAt = performance.now()
}

let saidAt = 0
const report = await verifyLedger(
  database(new Database(url, options, null, new AskingContent(parentPort!, say)), ledger),
  {
    checkpoints,
    // The newest checkpoint that was ever signed is kept outside, and among these: behind it nothing was, and a fault would see to it
    // that nothing ever is.
    lateTail: 'noticed',
    threads: 1,
    onProgress({ entries, total }) {
      rest()
      const now = performance.now()
      if (now - saidAt < AUDIT_PROGRESS_EVERY_MS) return
      saidAt = now
      say({ progress: { entries, total } })
    },
  },
)
say({ report })
// It hears its process' answers until then.
parentPort!.close()
