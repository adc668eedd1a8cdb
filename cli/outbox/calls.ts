import { randomUUID } from 'node:crypto'
import {
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeIdempotencyKey } from '../../sdk/idempotency-key.ts'
import { formatPut, inboxName, openInbox, putInInbox } from '../../sdk/node/inbox.ts'
import { type Holder, isGone, parseHolder, place, startedAtMs } from '../../sdk/node/lock-holder.ts'
import { makeDirectory } from '../../sdk/node/make-directory.ts'
import type { Item } from '../../sdk/notarizer/items.ts'
import { list } from './directory.ts'
import { CALLS_BEAT_MS, CALLS_STALE_MS } from './limits.ts'

/*
 * Calls that were begun and have no outcome yet. From before a call is forwarded, the outbox holds the record that says that no outcome
 * came. The outcome replaces it; if the process is killed, whoever sends next moves that record into the inbox. One rename decides,
 * so each call has one outcome.
 *
 *     calls/<process>/holder        who the process is
 *     calls/<process>/<call>.ndjson the record "no outcome came", as the inbox would have it
 */

const CALLS = 'calls'
const HOLDER = 'holder'

/** The open calls of this process. */
export class OpenCalls {
  readonly #directory: string
  readonly #folder: string
  readonly #beat: ReturnType<typeof setInterval>

  constructor(directory: string) {
    this.#directory = directory
    this.#folder = join(directory, CALLS, randomUUID())
    this.#makeFolder()
    this.#beat = setInterval(() => this.#touch(), CALLS_BEAT_MS)
    this.#beat.unref()
  }

  #makeFolder(): void {
    makeDirectory(this.#folder)
    const holder: Holder = {
      token: randomUUID(),
      pid: process.pid,
      place: place(),
      startedAtMs: startedAtMs(),
    }
    writeFileSync(join(this.#folder, HOLDER), JSON.stringify(holder), { mode: 0o600 })
  }

  /** Before the call is forwarded. `none`: says that no outcome came. */
  begin(call: string, none: Item): void {
    const write = () =>
      writeFileSync(this.#path(call), formatPut(none, makeIdempotencyKey()), { flag: 'wx', mode: 0o600 })
    try {
      write()
    } catch (error) {
      if (code(error) !== 'ENOENT') throw error
      // This process was taken for dead, and the folder removed.
      this.#makeFolder()
      write()
    }
  }

  /** Puts the outcome into the inbox, in the place of the record that there is none. */
  settle(call: string, outcome: Item): void {
    const path = this.#path(call)
    const key = makeIdempotencyKey()
    try {
      writeFileSync(`${path}.tmp`, formatPut(outcome, key), { flag: 'wx', mode: 0o600 })
      renameSync(`${path}.tmp`, path)
    } catch (error) {
      if (code(error) !== 'ENOENT') throw error
      // This process was taken for dead, while its machine slept: the ledger has "no outcome came", and then the outcome.
      putInInbox(this.#directory, outcome, key)
      return
    }
    renameSync(path, join(openInbox(this.#directory), inboxName(key)))
  }

  /** The call was not forwarded: nothing is to be said of it. */
  forget(call: string): void {
    rmSync(this.#path(call), { force: true })
  }

  /** All calls have their outcomes. */
  close(): void {
    clearInterval(this.#beat)
    removeFolder(this.#folder)
  }

  #path(call: string): string {
    return join(this.#folder, `${call}.ndjson`)
  }

  #touch(): void {
    try {
      utimesSync(join(this.#folder, HOLDER), new Date(), new Date())
    } catch {
      // Taken for dead: begin() and settle() cope with it.
    }
  }
}

/** Moves the records "no outcome came" of processes that are gone into the inbox. Any number of processes may do so at a time. */
export function settleCalls(directory: string): void {
  for (const name of list(join(directory, CALLS))) {
    const folder = join(directory, CALLS, name)
    if (!isOver(folder)) continue
    for (const file of list(folder).sort()) {
      try {
        if (file.endsWith('.ndjson'))
          renameSync(join(folder, file), join(openInbox(directory), inboxName(makeIdempotencyKey())))
      } catch (error) {
        if (code(error) !== 'ENOENT') throw error // another process moved it
      }
    }
    removeFolder(folder)
  }
}

/** Whether the process is gone; where that cannot be known, whether it gave no sign of life for long. */
function isOver(folder: string): boolean {
  try {
    const path = join(folder, HOLDER)
    const holder = parseHolder(readFileSync(path, 'utf8'))
    if (holder !== null && holder.place === place()) return isGone(holder)
    return Date.now() - statSync(path).mtimeMs > CALLS_STALE_MS
  } catch (error) {
    if (code(error) !== 'ENOENT') throw error
    // Being made, or removed; unless its process has left it so, because the disk had no room for an outcome.
    const found = statSync(folder, { throwIfNoEntry: false })
    return found !== undefined && Date.now() - found.mtimeMs > CALLS_STALE_MS
  }
}

function removeFolder(folder: string): void {
  try {
    for (const name of list(folder)) if (!name.endsWith('.ndjson')) unlinkSync(join(folder, name))
    rmdirSync(folder)
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY'].includes(code(error))) throw error
  }
}

function code(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}
