import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rename, rm, unlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SpoolError, SpoolInUseError } from '../errors.ts'
import { makeFile } from './files.ts'
import { type Holder, isGone, type Lock, parseHolder, place, readLock, startedAtMs } from './lock-holder.ts'
import type { Reserve } from './reserve.ts'
import { asSpoolError, isFull } from './spool-errors.ts'

const BEATS_PER_STALE = 5
const POLLS_PER_STALE = 50
/**
 * Pause in ms after a process replaces a stale lock. Another process may have found the same stale lock and may replace
 * it too. The process that writes last gets the lock.
 */
const SETTLE_MS = 50

/** Maps each directory that this process has locked to the lock's token. */
const acquiredDirectories = new Map<string, string>()

/**
 * Lets only one process use a directory, by the file `lock` in it. The process that has the lock touches the file
 * regularly.
 *
 * A lock is stale if its process is known to have ended. It is also stale if no process has touched the file for
 * `staleMs`, measured by the clock of the waiting process. The pid or the file's time alone proves nothing: killed
 * processes leave their lock, every container has a process with pid 1, and another machine may have written the time
 * of a file on a shared disk.
 */
export class SpoolLock {
  readonly #path: string
  readonly #directory: string
  readonly #staleMs: number
  readonly #reserve: Reserve | null
  readonly #token = randomUUID()
  #beat: ReturnType<typeof setInterval> | undefined
  #seenAtMs = 0
  #lost = false

  /**
   * Acquires the lock. `directory` is a real path. If the disk is full, the disk space of `reserve` is freed for the
   * lock file. Throws SpoolError if another process has the lock, or if the lock file cannot be written.
   */
  static async acquire(
    directory: string,
    staleMs: number,
    reserve: Reserve | null = null,
  ): Promise<SpoolLock> {
    if (acquiredDirectories.has(directory)) throw inUse(directory, 'this process, which opened it before')
    const lock = new SpoolLock(directory, staleMs, reserve)
    acquiredDirectories.set(directory, lock.#token)
    try {
      await lock.#acquire()
      return lock
    } catch (error) {
      acquiredDirectories.delete(directory)
      throw asSpoolError(error, lock.#path)
    }
  }

  private constructor(directory: string, staleMs: number, reserve: Reserve | null) {
    this.#directory = directory
    this.#path = join(directory, 'lock')
    this.#staleMs = staleMs
    this.#reserve = reserve
  }

  /**
   * Throws SpoolError if another process has replaced the lock. Reads the file if the lock was not touched recently. A
   * process that was suspended, or that could not touch its lock, must not write to files that another process has sent
   * and removed.
   */
  requireLock(): void {
    const sinceMs = Date.now() - this.#seenAtMs
    // A negative time means that the clock was set back, so the file is read.
    if (!this.#lost && sinceMs >= 0 && sinceMs <= this.#staleMs / 2) return
    if (!this.#lost && this.#isOwn()) {
      this.#seenAtMs = Date.now()
      return
    }
    this.#lost = true
    throw new SpoolError(
      `another process has taken over the spool ${this.#directory}, because this one was suspended`,
    )
  }

  async release(): Promise<void> {
    clearInterval(this.#beat)
    acquiredDirectories.delete(this.#directory)
    let isOwn = false
    try {
      isOwn = !this.#lost && this.#isOwn()
    } catch {
      // The error is ignored and the lock file stays, because it may belong to another process. The next process
      // replaces a stale lock.
    }
    if (isOwn) await unlink(this.#path)
    this.#lost = true
  }

  async #acquire(): Promise<void> {
    while (!(await this.#create())) {
      const found = await readLock(this.#path)
      if (found === null) continue
      if (!isGone(found.holder)) await this.#waitUntilStale(found)
      if (await this.#replace(found)) break
    }
    this.#seenAtMs = Date.now()
    this.#beat = setInterval(() => void this.#touch(), this.#staleMs / BEATS_PER_STALE)
    this.#beat.unref()
  }

  async #create(): Promise<boolean> {
    try {
      await this.#makeFile(this.#path)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    }
  }

  /**
   * Returns when no process has touched the lock for `staleMs`, or when the lock is removed. Throws SpoolInUseError if
   * another process touches it.
   */
  async #waitUntilStale(found: Lock): Promise<void> {
    const until = performance.now() + this.#staleMs
    while (performance.now() < until) {
      await sleep(this.#staleMs / POLLS_PER_STALE)
      const now = await readLock(this.#path)
      if (now === null) return
      if (now.text !== found.text || now.touchedAtMs !== found.touchedAtMs) {
        const { holder } = now
        const who = holder ? `process ${holder.pid} of ${holder.place.split(' ')[0]}` : 'another process'
        throw inUse(this.#directory, who)
      }
    }
  }

  /**
   * Replaces a stale lock. Returns true if this process now has the lock, false if a competing process has replaced it.
   */
  async #replace(found: Lock): Promise<boolean> {
    const own = `${this.#path}.${this.#token}`
    try {
      const isMade = await this.#makeReplacement(own, found)
      const now = await readLock(this.#path)
      if (now !== null && now.text !== found.text) return false
      if (isMade) await rename(own, this.#path)
      else {
        await rm(this.#path, { force: true })
        if (!(await this.#create())) return false
      }
    } finally {
      await rm(own, { force: true })
    }
    await sleep(SETTLE_MS)
    return this.#isOwn()
  }

  /**
   * Writes the file that replaces the lock. Returns false if the disk is full and the process of the old lock is gone.
   * The caller must then remove the old lock first.
   */
  async #makeReplacement(path: string, { holder }: Lock): Promise<boolean> {
    try {
      await this.#makeFile(path)
      return true
    } catch (error) {
      if (isFull(error) && isGone(holder)) return false
      throw error
    }
  }

  async #makeFile(path: string): Promise<void> {
    try {
      await makeFile(path, this.#text())
    } catch (error) {
      if (!isFull(error) || this.#reserve === null) throw error
      this.#reserve.giveUp()
      await makeFile(path, this.#text())
    }
  }

  async #touch(): Promise<void> {
    try {
      const lock = await readLock(this.#path)
      if (lock?.holder?.token === this.#token) {
        await utimes(this.#path, new Date(), new Date())
        this.#seenAtMs = Date.now()
      } else {
        this.#lost = true
      }
    } catch {
      // The error is ignored. If the lock was not touched for too long, `requireLock` reads the file and reports the
      // error.
    }
  }

  #text(): string {
    const holder: Holder = {
      token: this.#token,
      pid: process.pid,
      place: place(),
      startedAtMs: startedAtMs(),
    }
    return JSON.stringify(holder)
  }

  /**
   * Returns whether this process has the lock. Throws SpoolError if the file cannot be read, because its owner is then
   * unknown.
   */
  #isOwn(): boolean {
    try {
      return parseHolder(readFileSync(this.#path, 'utf8'))?.token === this.#token
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw asSpoolError(error, this.#path)
    }
  }
}

function inUse(directory: string, who: string): SpoolInUseError {
  return new SpoolInUseError(
    `the spool ${directory} is in use by ${who}. What to do: give each process its own directory, or end the other process`,
  )
}
