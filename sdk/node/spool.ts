import { mkdirSync, realpathSync } from 'node:fs'
import { type FileHandle, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { SpoolError, UsageError } from '../errors.ts'
import { ITEM_BYTES_MAX, type Item } from '../notarizer/items.ts'
import type { Refused, Spool, SpooledBatch } from '../notarizer/spool.ts'
import { asSpoolError, BatchFile, type SpoolDirectory } from './batch-file.ts'
import { formatRefused, parseSegments } from './spool-lines.ts'
import { SpoolLock } from './spool-lock.ts'

export type { Spool } from '../notarizer/spool.ts'

export type SpoolOptions = {
  /** Of all files together; 1 GiB by default. */
  readonly bytesMax?: number | undefined
  /** After this time without a sign of life another process may take the directory; 5000 by default. */
  readonly lockStaleMs?: number | undefined
}

const BYTES_MAX_DEFAULT = 1024 ** 3
const LOCK_STALE_MS_DEFAULT = 5_000
/** An item with its tag and its batch's key. */
const LINE_BYTES_MAX = ITEM_BYTES_MAX + 2 * 1024
const BATCH_NAME = /^\d{16}\.ndjson$/
const REFUSED_NAME = 'refused.ndjson'

/**
 * A spool in a directory of its own: what `record` took survives the process, and what was to be sent survives the machine. Holds
 * payloads: directory and files are their owner's only. What the server never takes is kept in `refused.ndjson`, with
 * the reason, until somebody takes it away; what can't be understood is moved aside as `….damaged`.
 *
 * Throws SpoolError when another process has the directory, after at most `lockStaleMs`.
 */
export async function openSpool(
  directory: string,
  { bytesMax = BYTES_MAX_DEFAULT, lockStaleMs = LOCK_STALE_MS_DEFAULT }: SpoolOptions = {},
): Promise<Spool> {
  if (!(bytesMax >= LINE_BYTES_MAX)) throw new UsageError(`bytesMax is at least ${LINE_BYTES_MAX}`)
  if (!(lockStaleMs >= 100)) throw new UsageError('lockStaleMs is at least 100')
  let path: string
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    path = realpathSync(directory)
  } catch (error) {
    throw asSpoolError(error, directory)
  }
  const lock = await SpoolLock.acquire(path, lockStaleMs)
  try {
    const spool = new DirectorySpool(path, lock, bytesMax)
    await spool.open()
    return spool
  } catch (error) {
    await lock.release()
    throw asSpoolError(error, path)
  }
}

class DirectorySpool implements Spool, SpoolDirectory {
  readonly bytesMax: number
  usedBytes = 0
  readonly #path: string
  readonly #lock: SpoolLock
  #handle: FileHandle | null = null
  #nextNumber = 1
  #found: { batches: SpooledBatch[]; errors: SpoolError[] } | null = { batches: [], errors: [] }

  constructor(path: string, lock: SpoolLock, bytesMax: number) {
    this.#path = path
    this.#lock = lock
    this.bytesMax = bytesMax
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
      // Of a replacement that was not finished: what it should have replaced is there.
      if (name.endsWith('.tmp')) await unlink(path)
      else if (name === REFUSED_NAME) this.usedBytes += (await stat(path)).size
      else if (BATCH_NAME.test(name)) await this.#takeOver(path, Number(name.slice(0, 16)))
    }
  }

  async #takeOver(path: string, number: number): Promise<void> {
    this.#nextNumber = number + 1
    const { batches, errors } = this.#found!
    const bytes = await readFile(path)
    try {
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
    const refusedAt = new Date().toISOString()
    const bytes = Buffer.from(refused.map((one) => formatRefused(one, refusedAt)).join(''))
    try {
      const file = await open(path, 'a+', 0o600)
      const { size } = await file.stat()
      try {
        // A process that ended here has left half a line.
        const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
        if (size > 0 && buffer[0] !== 0x0a) await file.writeFile('\n')
        await file.writeFile(bytes)
        await file.sync()
      } catch (error) {
        // Half a line would spoil the next one.
        await file.truncate(size)
        throw error
      } finally {
        await file.close()
      }
      await this.sync()
    } catch (error) {
      throw asSpoolError(error, path)
    }
    this.usedBytes += bytes.length
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
