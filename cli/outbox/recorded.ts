import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HANDLES_NAME } from '../../sdk/node/handle-file.ts'
import { OUTBOX_BUSY_POLL_MS } from './limits.ts'

/** How many records with this handle are in the ledger, by the word of whoever sends: an agent may count its calls anew. */
export function timesRecorded(directory: string, handle: string): number {
  const path = join(directory, HANDLES_NAME)
  return stampOf(path) === '' ? 0 : timesIn(path, handle)
}

/** Whether more than `before` records with this handle are in the ledger: waits for that, `waitMs` at most. */
export async function waitUntilRecorded(
  directory: string,
  handle: string,
  waitMs: number,
  before = 0,
): Promise<boolean> {
  const path = join(directory, HANDLES_NAME)
  const until = performance.now() + waitMs
  for (let seen = ''; performance.now() < until; await sleep(OUTBOX_BUSY_POLL_MS)) {
    const now = stampOf(path)
    if (now === seen) continue
    seen = now
    if (timesIn(path, handle) > before) return true
  }
  return false
}

function timesIn(path: string, handle: string): number {
  return readFileSync(path, 'utf8').split(`["${handle}",`).length - 1
}

function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`
}
