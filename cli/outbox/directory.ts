import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { INBOX, INBOX_NAME } from '../../sdk/node/inbox.ts'
import { isAlive, parseHolder } from '../../sdk/node/lock-holder.ts'
import { OUTBOX_BEGINS_MS } from './limits.ts'

/*
 * An outbox is a spool (sdk/README.md) that several processes share. Hooks and proxies put records into its inbox.
 * One of these processes, or `tallystick flush`, has the lock and sends the records.
 */

const BATCH_NAME = /^\d{16}\.(ndjson|parts)$/

/** Returns whether any record waits to be sent. */
export function hasWork(directory: string): boolean {
  return (
    list(directory).some((name) => BATCH_NAME.test(name)) ||
    list(join(directory, INBOX)).some((name) => INBOX_NAME.test(name))
  )
}

/**
 * Returns whether a running process will send a record that is put into the inbox now. There are two cases. The process
 * has the lock, and checks the inbox again after releasing it. Or the process was started a moment ago, as when many
 * hooks run at the same time.
 */
export function hasSender(directory: string): boolean {
  const begun = statSync(join(directory, SENDER_LOG), { throwIfNoEntry: false })
  if (begun !== undefined && Math.abs(Date.now() - begun.mtimeMs) < OUTBOX_BEGINS_MS) return true
  try {
    return isAlive(parseHolder(readFileSync(join(directory, 'lock'), 'utf8')))
  } catch {
    return false
  }
}

/** File with the output of the newest background sender. It is empty if there was no problem. */
export const SENDER_LOG = 'sender.log'

/** Returns the names in a folder, or none if the folder does not exist. */
export function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
