import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { INBOX, INBOX_NAME } from '../../sdk/node/inbox.ts'
import { isAlive, parseHolder } from '../../sdk/node/lock-holder.ts'
import { OUTBOX_BEGINS_MS } from './limits.ts'

/*
 * An outbox is a spool (sdk/README.md) that several processes share: hooks and proxies put records into its inbox, and one of them, or
 * `tallystick flush`, has the lock and sends.
 */

const BATCH_NAME = /^\d{16}\.(ndjson|parts)$/

/** Whether anything waits to be sent. */
export function hasWork(directory: string): boolean {
  return (
    list(directory).some((name) => BATCH_NAME.test(name)) ||
    list(join(directory, INBOX)).some((name) => INBOX_NAME.test(name))
  )
}

/**
 * Whether a process will see what is put there now: it has the outbox, and looks once more after it has let go; or it was begun a moment
 * ago, when many hooks run at the same time.
 */
export function isSent(directory: string): boolean {
  const begun = statSync(join(directory, SENDER_LOG), { throwIfNoEntry: false })
  if (begun !== undefined && Math.abs(Date.now() - begun.mtimeMs) < OUTBOX_BEGINS_MS) return true
  try {
    return isAlive(parseHolder(readFileSync(join(directory, 'lock'), 'utf8')))
  } catch {
    return false
  }
}

/** Name of the file that has what the newest sender in the background said: empty if all is well. */
export const SENDER_LOG = 'sender.log'

/** Names in a folder; none where there is no such folder. */
export function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
