import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { Database } from '../../db/connect/connection.ts'
import { database } from '../../verify/database.ts'
import { verifyLedger } from '../../verify/verify-ledger.ts'
import { AUDIT_PROGRESS_EVERY_MS } from '../limits.ts'
import type { AuditMessage, AuditTask } from './verify-in-thread.ts'

/*
 * One audit, in a thread of its own: it takes minutes of CPU for millions of entries, and everybody else in the process and on
 * the machine goes first.
 */
const { url, options, ledger, checkpoints } = workerData as AuditTask
const say = (message: AuditMessage) => parentPort!.postMessage(message)

// On Linux the priority is this thread's; elsewhere it would be the whole process'.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

let saidAt = 0
const report = await verifyLedger(database(new Database(url, options), ledger), {
  checkpoints,
  // The newest checkpoint that was ever signed is kept outside, and among these: behind it nothing was, and a fault would see to it
  // that nothing ever is.
  lateTail: 'noticed',
  threads: 1,
  onProgress({ entries, total }) {
    const now = performance.now()
    if (now - saidAt < AUDIT_PROGRESS_EVERY_MS) return
    saidAt = now
    say({ progress: { entries, total } })
  },
})
say({ report })
