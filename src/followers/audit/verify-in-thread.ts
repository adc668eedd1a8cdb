import { Worker } from 'node:worker_threads'
import type { ArchiveContent } from '../../db/connect/archive.ts'
import type { DatabaseOptions } from '../../db/connect/connection.ts'
import type { VerifyReport } from '../../verify/report.ts'
import { answerContent, type ContentRequest } from './archive-messages.ts'

export type AuditTask = {
  /** Database URL with a login that can read every table. */
  readonly url: string
  readonly options: DatabaseOptions
  readonly ledger: string
  /** Checkpoints, as signed notes, that are stored outside the database. */
  readonly checkpoints: readonly string[]
}

type AuditProgress = { readonly entries: number; readonly total: number }

export type AuditMessage =
  | { readonly progress: AuditProgress }
  | { readonly report: VerifyReport }
  | ContentRequest

/**
 * Runs an audit in a thread. Returns the report, or null if `signal` aborted the audit. Throws if the ledger could not
 * be read. Such an error says nothing about the ledger's integrity.
 */
export function verifyInThread(
  task: AuditTask,
  onProgress: (progress: AuditProgress) => void,
  signal: AbortSignal,
  archive: ArchiveContent | null,
): Promise<VerifyReport | null> {
  if (signal.aborted) return Promise.resolve(null)
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./audit-thread.ts', import.meta.url), { workerData: task })
    const stop = () => {
      resolve(null)
      void thread.terminate()
    }
    signal.addEventListener('abort', stop, { once: true })
    thread.on('message', (message: AuditMessage) => {
      if ('report' in message) resolve(message.report)
      else if ('id' in message)
        void answerContent(archive, message).then((answer) => thread.postMessage(answer))
      else onProgress(message.progress)
    })
    thread.on('error', reject)
    thread.on('exit', (code) => {
      signal.removeEventListener('abort', stop)
      reject(new Error(`the thread of an audit ended with code ${code}`))
    })
  })
}
