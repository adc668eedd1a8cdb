import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SpoolError } from '../errors.ts'
import type { Item } from '../notarizer/items.ts'
import { makeDirectory } from './make-directory.ts'
import { formatItem, formatKey } from './spool-lines.ts'

/*
 * Folder of a spool in which any number of processes put records at the same time, without its lock: one file for each, whole from the
 * moment at which it has its name. The process that has the spool moves the files out of it and sends them, in the order of their names.
 * Imports nothing that is slow to load: a command that ends at once puts a record here (`tallystick hook`).
 */

export const INBOX = 'inbox'
/** Records that wait while no process sends them. */
const INBOX_FILES_MAX = 50_000
/** Milliseconds, a number within one, a random part: the order in which they were put. */
export const INBOX_NAME: RegExp = /^\d{13}-\d{6}-[0-9a-f]{32}\.ndjson$/

/** Text of a file with one record. The key makes a batch of it, which is recorded once however often it is sent. */
export function formatPut(item: Item, idempotencyKey: string): string {
  return formatKey(idempotencyKey) + formatItem(item)
}

/** Puts a record, which survives the process from here on. Throws SpoolError without room, and what the file system says. */
export function putInInbox(directory: string, item: Item, idempotencyKey: string): void {
  const inbox = openInbox(directory)
  const waiting = readdirSync(inbox).length
  if (waiting >= INBOX_FILES_MAX)
    throw new SpoolError(
      `${waiting} records wait in ${inbox}, and there is no room for more. What to do: tallystick flush says why they are not sent`,
    )
  const name = inboxName(idempotencyKey)
  const made = join(inbox, `${name}.tmp`)
  try {
    writeFileSync(made, formatPut(item, idempotencyKey), { flag: 'wx', mode: 0o600 })
    renameSync(made, join(inbox, name))
  } catch (error) {
    // Half a file would take the room that the next record needs.
    rmSync(made, { force: true })
    throw error
  }
}

/** The folder, made if it is not there. */
export function openInbox(directory: string): string {
  const inbox = join(directory, INBOX)
  makeDirectory(inbox)
  return inbox
}

let lastMs = 0
let within = 0

/** Name of a file that is put now. */
export function inboxName(idempotencyKey: string): string {
  const nowMs = Math.max(lastMs, Date.now())
  within = nowMs === lastMs ? within + 1 : 0
  lastMs = nowMs
  return `${`${nowMs}`.padStart(13, '0')}-${`${within}`.padStart(6, '0')}-${idempotencyKey}.ndjson`
}
