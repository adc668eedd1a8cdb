import { randomFillSync } from 'node:crypto'
import { closeSync, constants, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { SpoolError } from '../errors.ts'
import { isOwnFile, NO_FOLLOW } from './files.ts'
import { SerialTasks } from './serial-tasks.ts'
import { isFull } from './spool-errors.ts'

const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW
/** Number of files in the reserve. There are several, because a disk may have free space but no free inode. */
const FILES = 8
/** Step by which the reserve grows. */
const STEP_BYTES = 64 * 1024
/** Room for the lock, the owner file, and the unused ends of disk blocks of small files. */
const BASE_BYTES = 32 * 1024
/** Room for one record: its problem in `refused.ndjson`, and its handle with its id. */
const RECORD_BYTES = 512

/** Returns the size in bytes that is needed to replace a batch and to set some of the batch's records aside. */
export function reserveFor(bytes: number, records: number): number {
  return BASE_BYTES + bytes + records * RECORD_BYTES
}

/**
 * Disk space that records never use. If the disk is full, this space is freed for writes that let records leave the
 * spool. It is allocated again afterwards.
 */
export class Reserve {
  readonly #directory: string
  #bytes = 0
  /** Required size in bytes. */
  #wanted = STEP_BYTES
  readonly #turns = new SerialTasks()

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Grows the reserve to `bytes`. If the disk has no room, throws and leaves the size unchanged. */
  ensure(bytes: number): void {
    if (bytes <= this.#bytes) return
    const wanted = Math.ceil(bytes / STEP_BYTES) * STEP_BYTES
    try {
      for (const path of this.#paths()) growFile(path, wanted / FILES)
    } catch (error) {
      this.#shrink()
      throw error
    }
    this.#bytes = wanted
    this.#wanted = Math.max(this.#wanted, wanted)
  }

  /** Grows the reserve as far as the disk allows. Returns whether it reached `bytes`. */
  restore(bytes = this.#wanted): boolean {
    this.#wanted = Math.max(this.#wanted, bytes)
    for (let wanted = this.#wanted; wanted >= STEP_BYTES; wanted /= 2) {
      try {
        this.ensure(wanted)
        return wanted >= bytes
      } catch {
        // The disk is full or fails, so the reserve is smaller than required. The next write reports the cause.
      }
    }
    return false
  }

  /** Runs `work`. If the disk is full, frees the reserve and runs `work` again, so `work` must be repeatable. */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isFull(error)) throw error
      return this.#turns.do(async () => {
        this.giveUp()
        try {
          return await work()
        } finally {
          this.restore()
        }
      })
    }
  }

  giveUp(): void {
    this.#bytes = 0
    for (const path of this.#paths()) rmSync(path, { force: true })
  }

  #shrink(): void {
    if (this.#bytes === 0) this.giveUp()
    else for (const path of this.#paths()) shrinkFile(path, this.#bytes / FILES)
  }

  #paths(): string[] {
    return Array.from({ length: FILES }, (_, i) => join(this.#directory, `reserve.${i}`))
  }
}

function growFile(path: string, bytes: number): void {
  withFile(path, (fd, size) => {
    // Writes random bytes, because some file systems compress, and compressed bytes would reserve less space.
    const missing = randomFillSync(new Uint8Array(Math.max(0, bytes - size)))
    const written = missing.length === 0 ? 0 : writeSync(fd, missing)
    if (written < missing.length) throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC' })
  })
}

function shrinkFile(path: string, bytes: number): void {
  withFile(path, (fd, size) => {
    if (size > bytes) ftruncateSync(fd, bytes)
  })
}

function withFile(path: string, act: (fd: number, size: number) => void): void {
  const fd = openSync(path, FLAGS, 0o600)
  try {
    const found = fstatSync(fd)
    if (!isOwnFile(found)) throw new SpoolError(`${path} is not a file of this user. What to do: remove it`)
    act(fd, found.size)
  } finally {
    closeSync(fd)
  }
}
