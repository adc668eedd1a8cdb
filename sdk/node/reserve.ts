import { randomFillSync } from 'node:crypto'
import { closeSync, constants, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { SpoolError } from '../errors.ts'
import { isOwnFile, NO_FOLLOW } from './files.ts'
import { InTurn } from './in-turn.ts'
import { isFull } from './spool-errors.ts'

const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW
/** Each is also a name and an inode: a disk may have room and no inode left. */
const FILES = 8
/** The reserve grows by so much. */
const STEP_BYTES = 64 * 1024
/** For the lock, the owner, and the blocks that small files take. */
const BASE_BYTES = 32 * 1024
/** For a record: its problem in `refused.ndjson`, its handle with its id. */
const RECORD_BYTES = 512

/** Reserve that lets a batch be replaced, and some of its records be set aside. */
export function reserveFor(bytes: number, records: number): number {
  return BASE_BYTES + bytes + records * RECORD_BYTES
}

/**
 * Room in the directory that records never take. On a full disk it is given up for what has to be written before records
 * can leave the spool, and made again afterwards.
 */
export class Reserve {
  readonly #directory: string
  /** Bytes that are there. */
  #bytes = 0
  /** Bytes that should be there. */
  #wanted = STEP_BYTES
  readonly #turns = new InTurn()

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Throws without room for so much; the reserve is as large as before then. */
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

  /** As much of it as there is room for. */
  restore(bytes = this.#wanted): boolean {
    this.#wanted = Math.max(this.#wanted, bytes)
    for (let wanted = this.#wanted; wanted >= STEP_BYTES; wanted /= 2) {
      try {
        this.ensure(wanted)
        return wanted >= bytes
      } catch {
        // The disk is full, or fails: whatever is written next says so.
      }
    }
    return false
  }

  /** Does work that may be done twice; on a full disk a second time, in the room of the reserve. */
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

  /** Makes its room free for others. */
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
    // Random, because some file systems keep no room for what they can compress.
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
    if (!isOwnFile(found)) throw new SpoolError(`${path} is no file of this user. What to do: remove it`)
    act(fd, found.size)
  } finally {
    closeSync(fd)
  }
}
