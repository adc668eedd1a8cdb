import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SpoolError } from '../errors.ts'
import type { Item } from '../notarizer/items.ts'
import { makeDirectory } from './make-directory.ts'
import { formatItem, formatKey } from './spool-lines.ts'

/*
 * Folder of a spool into which any number of processes put records at the same time, without the spool's lock. Each
 * file has one record, and is complete when it gets its name. The process that has the spool's lock moves the files
 * out and sends them in the order of their names. This file imports nothing slow, because `tallystick hook` must load
 * fast.
 */

export const INBOX = 'inbox'
/** Maximum number of records in the inbox. Records accumulate while no process sends them. */
const INBOX_FILES_MAX = 50_000
/**
 * Form of a file's name: milliseconds, a counter within one millisecond, a random part. The names sort in the order
 * in which the records were put.
 */
export const INBOX_NAME: RegExp = /^\d{13}-\d{6}-[0-9a-f]{32}\.ndjson$/

/**
 * Returns the text of a file with one record. The file also contains an idempotency key. So the record is recorded only
 * once, however often the file is sent.
 */
export function formatPut(item: Item, idempotencyKey: string): string {
  return formatKey(idempotencyKey) + formatItem(item)
}

/**
 * Puts a record into the inbox. The record then survives the end of the process. Throws SpoolError if the inbox is
 * full, and errors of the file system.
 */
export function putInInbox(directory: string, item: Item, idempotencyKey: string): void {
  const inbox = openInbox(directory)
  const waiting = readdirSync(inbox).length
  if (waiting >= INBOX_FILES_MAX)
    throw new SpoolError(
      `${waiting} records wait in ${inbox}, and there is no room for more. What to do: run tallystick flush, which says why they are not sent`,
    )
  const name = inboxName(idempotencyKey)
  const made = join(inbox, `${name}.tmp`)
  try {
    writeFileSync(made, formatPut(item, idempotencyKey), { flag: 'wx', mode: 0o600 })
    renameSync(made, join(inbox, name))
  } catch (error) {
    // Removes the incomplete file, because it would use the room that the next record needs.
    rmSync(made, { force: true })
    throw error
  }
}

/** Returns the path of the inbox. Creates the folder if it is missing. */
export function openInbox(directory: string): string {
  const inbox = join(directory, INBOX)
  makeDirectory(inbox)
  return inbox
}

let lastMs = 0
let within = 0

/** Returns the name of a file that is put into the inbox now. */
export function inboxName(idempotencyKey: string): string {
  const nowMs = Math.max(lastMs, Date.now())
  within = nowMs === lastMs ? within + 1 : 0
  lastMs = nowMs
  return `${`${nowMs}`.padStart(13, '0')}-${`${within}`.padStart(6, '0')}-${idempotencyKey}.ndjson`
}
