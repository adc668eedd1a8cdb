import { mkdirSync, realpathSync } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { SpoolError, UsageError } from '../errors.ts'
import { ITEM_BYTES_MAX, type Item } from '../notarizer/items.ts'
import type { Refused, Spool, SpooledBatch, SpoolOwner } from '../notarizer/spool.ts'
import { BatchFile, type SpoolDirectory } from './batch-file.ts'
import { keepRefused } from './dead-letters.ts'
import { isOwnFile, takeDirectory } from './files.ts'
import { asSpoolError } from './spool-errors.ts'
import { parseSegments } from './spool-lines.ts'
import { SpoolLock } from './spool-lock.ts'
import { claimSpool } from './spool-owner.ts'

export type { Spool } from '../notarizer/spool.ts'

export type SpoolOptions = {
  /** Bytes that wait to be sent; 1 GiB by default. */
  readonly bytesMax?: number | undefined
  /** From which `refused.ndjson` takes no more, and batches with such records wait; 256 MiB by default. */
  readonly refusedBytesMax?: number | undefined
  /** After this time without a sign of life another process may take the directory; 5000 by default. */
  readonly lockStaleMs?: number | undefined
}

const BYTES_MAX_DEFAULT = 1024 ** 3
const REFUSED_BYTES_MAX_DEFAULT = 256 * 1024 ** 2
const LOCK_STALE_MS_DEFAULT = 5_000
/** An item with its tag and its batch's key. */
const LINE_BYTES_MAX = ITEM_BYTES_MAX + 2 * 1024
const BATCH_NAME = /^\d{16}\.ndjson$/
/** Unfinished replacement: the file that it should have replaced is there. */
const UNFINISHED_NAME = /^\d{16}\.ndjson\.tmp$/
const REFUSED_NAME = 'refused.ndjson'
const OWNER_NAME = 'owner.json'

/**
 * A spool in a directory of its own. Records that `record` took survive the process, and sealed batches survive the
 * machine. Holds payloads: directory and files are their owner's only. Records that the server never takes are kept in
 * `refused.ndjson`, with the reason, until somebody takes them away. Files that can't be understood are moved aside as
 * `….damaged`.
 *
 * Throws SpoolError when another process has the directory, after at most `lockStaleMs`.
 */
export async function openSpool(
  directory: string,
  {
    bytesMax = BYTES_MAX_DEFAULT,
    refusedBytesMax = REFUSED_BYTES_MAX_DEFAULT,
    lockStaleMs = LOCK_STALE_MS_DEFAULT,
  }: SpoolOptions = {},
): Promise<Spool> {
  if (!(bytesMax >= LINE_BYTES_MAX)) throw new UsageError(`bytesMax is at least ${LINE_BYTES_MAX}`)
  if (!(refusedBytesMax >= 1)) throw new UsageError('refusedBytesMax is at least 1')
  if (!(lockStaleMs >= 100)) throw new UsageError('lockStaleMs is at least 100')
  let path: string
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    path = realpathSync(directory)
    await takeDirectory(path)
  } catch (error) {
    throw asSpoolError(error, directory)
  }
  const lock = await SpoolLock.acquire(path, lockStaleMs)
  try {
    const spool = new DirectorySpool(path, lock, { bytesMax, refusedBytesMax })
    await spool.open()
    return spool
  } catch (error) {
    await lock.release()
    throw asSpoolError(error, path)
  }
}

class DirectorySpool implements Spool, SpoolDirectory {
  readonly isDurable: boolean = true
  readonly bytesMax: number
  usedBytes = 0
  readonly #refusedBytesMax: number
  readonly #path: string
  readonly #lock: SpoolLock
  #handle: FileHandle | null = null
  #nextNumber = 1
  #found: { batches: SpooledBatch[]; errors: SpoolError[] } | null = { batches: [], errors: [] }

  constructor(
    path: string,
    lock: SpoolLock,
    limits: { readonly bytesMax: number; readonly refusedBytesMax: number },
  ) {
    this.#path = path
    this.#lock = lock
    this.bytesMax = limits.bytesMax
    this.#refusedBytesMax = limits.refusedBytesMax
  }

  get hasRoom(): boolean {
    return this.usedBytes + LINE_BYTES_MAX <= this.bytesMax
  }

  requireHeld(): void {
    this.#lock.requireHeld()
  }

  async open(): Promise<void> {
    // Windows opens no directories, and needs no such thing.
    if (process.platform !== 'win32') this.#handle = await open(this.#path, 'r')
    for (const name of (await readdir(this.#path)).sort()) {
      const path = join(this.#path, name)
      if (UNFINISHED_NAME.test(name)) await unlink(path)
      else if (BATCH_NAME.test(name)) await this.#takeOver(path, Number(name.slice(0, 16)))
    }
  }

  async #takeOver(path: string, number: number): Promise<void> {
    this.#nextNumber = number + 1
    const { batches, errors } = this.#found!
    try {
      if (!isOwnFile(await lstat(path))) throw new SpoolError(`${path} is no file of this user`)
      const bytes = await readFile(path)
      const segments = parseSegments(path, bytes.toString('utf8'), 'is JSON')
      const records = segments.reduce((sum, { items }) => sum + items.length, 0)
      // The process ended while it made the file: no record was taken.
      if (records === 0) await unlink(path)
      else batches.push(BatchFile.leftBehind(this, path, bytes.length, records))
    } catch (error) {
      if (!(error instanceof SpoolError)) throw error
      await rename(path, `${path}.damaged`)
      errors.push(
        new SpoolError(`${error.message}: it is moved aside, as ….damaged, and what it holds is not sent`),
      )
    }
  }

  recover() {
    const found = this.#found
    if (found === null) throw new UsageError('a spool is of one notarizer')
    this.#found = null
    return found
  }

  begin(idempotencyKey: string, item: Item): SpooledBatch {
    const name = `${this.#nextNumber}`.padStart(16, '0')
    const batch = BatchFile.begin(this, join(this.#path, `${name}.ndjson`), idempotencyKey, item)
    this.#nextNumber++
    return batch
  }

  async refuse(refused: readonly Refused[]): Promise<void> {
    const path = join(this.#path, REFUSED_NAME)
    try {
      await keepRefused(path, refused, this.#refusedBytesMax)
      await this.sync()
    } catch (error) {
      throw asSpoolError(error, path)
    }
  }

  async claim(owner: SpoolOwner): Promise<void> {
    const path = join(this.#path, OWNER_NAME)
    this.requireHeld()
    try {
      await claimSpool(this.#path, path, owner)
      await this.sync()
    } catch (error) {
      throw asSpoolError(error, path)
    }
  }

  async sync(): Promise<void> {
    await this.#handle?.sync()
  }

  async close(): Promise<void> {
    await this.#handle?.close()
    this.#handle = null
    await this.#lock.release()
  }
}
