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
 * Stores calls without an outcome. Before a call is forwarded, a record "no outcome came" is written here. The call's
 * outcome replaces that record. If the process is killed, the next sender moves the record into the inbox. Replacing
 * and moving are one rename each, so each call gets exactly one outcome.
 *
 *     calls/<process>/holder        identity of the process
 *     calls/<process>/<call>.ndjson the record "no outcome came", in the form of the inbox
 */

const CALLS = 'calls'
const HOLDER = 'holder'

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

  /** Writes `none`, the record "no outcome came". Must be called before the call is forwarded. */
  begin(call: string, none: Item): void {
    const write = () =>
      writeFileSync(this.#path(call), formatPut(none, makeIdempotencyKey()), { flag: 'wx', mode: 0o600 })
    try {
      write()
    } catch (error) {
      if (code(error) !== 'ENOENT') throw error
      // The folder is missing: another process assumed that this process was dead, and removed the folder.
      this.#makeFolder()
      write()
    }
  }

  /** Puts the outcome into the inbox, in place of the record "no outcome came". */
  settle(call: string, outcome: Item): void {
    const path = this.#path(call)
    const key = makeIdempotencyKey()
    try {
      writeFileSync(`${path}.tmp`, formatPut(outcome, key), { flag: 'wx', mode: 0o600 })
      renameSync(`${path}.tmp`, path)
    } catch (error) {
      if (code(error) !== 'ENOENT') throw error
      // The record is missing: another process assumed that this process was dead, for example because the machine
      // slept. The ledger then gets "no outcome came", and after it the outcome.
      putInInbox(this.#directory, outcome, key)
      return
    }
    renameSync(path, join(openInbox(this.#directory), inboxName(key)))
  }

  /** Removes the record of a call that was not forwarded. */
  forget(call: string): void {
    rmSync(this.#path(call), { force: true })
  }

  /** Removes the folder. Must be called when all calls have their outcomes. */
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
      // The error is ignored: another process assumed that this process was dead, and removed the folder. begin() and
      // settle() handle that.
    }
  }
}

/**
 * Moves the records "no outcome came" of dead processes into the inbox. Several processes may do this at the same
 * time.
 */
export function settleCalls(directory: string): void {
  for (const name of list(join(directory, CALLS))) {
    const folder = join(directory, CALLS, name)
    if (!isOver(folder)) continue
    for (const file of list(folder).sort()) {
      try {
        if (file.endsWith('.ndjson'))
          renameSync(join(folder, file), join(openInbox(directory), inboxName(makeIdempotencyKey())))
      } catch (error) {
        if (code(error) !== 'ENOENT') throw error // another process has moved it
      }
    }
    removeFolder(folder)
  }
}

/**
 * Returns whether the process has ended. If that cannot be checked, returns whether the process has shown no sign of
 * life for CALLS_STALE_MS.
 */
function isOver(folder: string): boolean {
  try {
    const path = join(folder, HOLDER)
    const holder = parseHolder(readFileSync(path, 'utf8'))
    if (holder !== null && holder.place === place()) return isGone(holder)
    return Date.now() - statSync(path).mtimeMs > CALLS_STALE_MS
  } catch (error) {
    if (code(error) !== 'ENOENT') throw error
    // Without a holder file, the age of the folder decides whether the process has ended. Another process may be
    // creating or removing the folder at this moment. Or the process ended but left the folder, because the disk had no
    // space for an outcome.
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
