import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HANDLES_NAME } from '../../sdk/node/handle-file.ts'
import { OUTBOX_BUSY_POLL_MS } from './limits.ts'

/**
 * Returns the id of the newest record with this handle that the sender has recorded. Returns null if there is none. An
 * agent may reuse its call ids, so the record may belong to an earlier call.
 */
export function newestRecorded(directory: string, handle: string): string | null {
  const path = join(directory, HANDLES_NAME)
  return stampOf(path) === '' ? null : newestIn(path, handle)
}

/**
 * Waits until the ledger has a record with this handle whose id is not `before`. Waits at most `waitMs`, or until
 * `signal` aborts. Returns whether the ledger has such a record.
 */
export async function waitUntilRecorded(
  directory: string,
  handle: string,
  waitMs: number,
  {
    before = null,
    signal,
  }: { readonly before?: string | null | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  const path = join(directory, HANDLES_NAME)
  const until = performance.now() + waitMs
  for (let seen = ''; performance.now() < until && !signal?.aborted; await sleep(OUTBOX_BUSY_POLL_MS)) {
    const now = stampOf(path)
    if (now === seen) continue
    seen = now
    const newest = newestIn(path, handle)
    if (newest !== null && newest !== before) return true
  }
  return false
}

/**
 * Returns the newest id of a handle. Compares ids, not positions of lines: the file is rewritten with one line per
 * handle, and after a crash it may contain a line twice.
 */
function newestIn(path: string, handle: string): string | null {
  const text = readFileSync(path, 'utf8')
  const lines = text.slice(0, text.lastIndexOf('\n') + 1)
  const begin = `["${handle}","`
  const at = lines.lastIndexOf(begin)
  return at < 0 ? null : lines.slice(at + begin.length, lines.indexOf('"', at + begin.length))
}

function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`
}
