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
/** For another process that found the lock stale at the same moment to replace it as well: the last one has it. */
const SETTLE_MS = 50

/** Directories that this process has, by their locks' tokens. */
const held = new Map<string, string>()

/**
 * One process per directory, through `lock` in it. The holder touches the file again and again. A lock is stale when its
 * process is known to be gone, or nobody has touched it for `staleMs`, by the clock of the process that waits: killed processes leave
 * theirs, in a container every process has the pid 1, and what is on a shared disk has the time of another machine.
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

  /** `directory`: its real path. Throws SpoolError when another has it, or it can't be written, not even in the reserve. */
  static async acquire(
    directory: string,
    staleMs: number,
    reserve: Reserve | null = null,
  ): Promise<SpoolLock> {
    if (held.has(directory)) throw inUse(directory, 'this process, which has opened it before')
    const lock = new SpoolLock(directory, staleMs, reserve)
    held.set(directory, lock.#token)
    try {
      await lock.#acquire()
      return lock
    } catch (error) {
      held.delete(directory)
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
   * Throws SpoolError when another process has taken the lock for stale. Looks when that could be: a process that was stopped, or
   * did not come to touching its lock, must not write into what another one has sent and removed.
   */
  requireHeld(): void {
    const sinceMs = Date.now() - this.#seenAtMs
    // Less than none: the clock was set back, and says nothing.
    if (!this.#lost && sinceMs >= 0 && sinceMs <= this.#staleMs / 2) return
    if (!this.#lost && this.#isOwn()) {
      this.#seenAtMs = Date.now()
      return
    }
    this.#lost = true
    throw new SpoolError(
      `another process has taken the spool ${this.#directory}, because this one did not move`,
    )
  }

  async release(): Promise<void> {
    clearInterval(this.#beat)
    held.delete(this.#directory)
    let isOwn = false
    try {
      isOwn = !this.#lost && this.#isOwn()
    } catch {
      // It stays, and the next process takes it when it is stale.
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

  /** Returns when nobody has touched it for so long; throws when somebody does. */
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

  /** Whether the lock is ours, and not the other's who wanted to replace it too. */
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

  /** false: a full disk has no room for it but where the lock of a process that is gone lies; that has to be removed first. */
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
      // requireHeld looks itself when it has not been seen for too long.
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

  /** Throws SpoolError where the file can't be read: that says nothing about whose it is. */
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
    `the spool ${directory} is in use by ${who}. What to do: give each process a directory of its own, or end that one`,
  )
}
