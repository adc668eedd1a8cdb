import { closeSync, fdatasync, ftruncateSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { open, readFile, unlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Item } from '../notarizer/items.ts'
import type { Segment, SpooledBatch } from '../notarizer/spool.ts'
import { replaceFile } from './files.ts'
import { type Reserve, reserveFor } from './reserve.ts'
import { asSpoolError, isFull } from './spool-errors.ts'
import { formatItem, formatKey, formatSegments, parseSegments } from './spool-lines.ts'

const syncData = promisify(fdatasync)

export type SpoolDirectory = {
  usedBytes: number
  readonly reserve: Reserve
  /** Throws SpoolError if another process has taken the lock. */
  requireLock(): void
  /** Resolves when the names of the directory's files are on disk. */
  sync(): Promise<void>
}

/**
 * A batch in a file. Accepted records are written at once to the page cache, where they survive the end of the process.
 * The file and its name are on disk before the first byte is sent. So a request that was sent before a power cut can be
 * repeated unchanged after it.
 */
export class BatchFile implements SpooledBatch {
  readonly #path: string
  readonly #directory: SpoolDirectory
  /** Descriptor of the open file, or null if the batch accepts no more records. */
  #fd: number | null = null
  #bytes: number
  #records: number
  /** True after a failed write or fsync. A later fsync does not prove that the data is on disk. */
  #suspect = false
  #durable: Promise<void> | null = null

  /** Creates a batch file with its first item. If that fails, throws SpoolError and leaves no file. */
  static begin(directory: SpoolDirectory, path: string, idempotencyKey: string, item: Item): BatchFile {
    directory.requireLock()
    const batch = new BatchFile(directory, path, 0, 0)
    const bytes = Buffer.from(formatKey(idempotencyKey) + formatItem(item))
    try {
      batch.#reserveFor(bytes)
      batch.#fd = openSync(path, 'ax', 0o600)
      batch.#write(bytes)
      return batch
    } catch (error) {
      if (batch.#fd !== null) {
        closeSync(batch.#fd)
        unlinkSync(path)
      }
      throw asSpoolError(error, path)
    }
  }

  /** Returns a batch that an earlier process left. */
  static leftBehind(directory: SpoolDirectory, path: string, bytes: number, records: number): BatchFile {
    directory.usedBytes += bytes
    directory.reserve.restore(reserveFor(bytes, records))
    return new BatchFile(directory, path, bytes, records)
  }

  private constructor(directory: SpoolDirectory, path: string, bytes: number, records: number) {
    this.#directory = directory
    this.#path = path
    this.#bytes = bytes
    this.#records = records
  }

  get records(): number {
    return this.#records
  }

  append(item: Item): void {
    this.#directory.requireLock()
    const bytes = Buffer.from(formatItem(item))
    try {
      this.#reserveFor(bytes)
      this.#append(bytes)
    } catch (error) {
      throw asSpoolError(error, this.#path)
    }
  }

  #append(bytes: Uint8Array): void {
    try {
      this.#write(bytes)
    } catch (error) {
      this.#suspect = true
      if (isFull(error)) {
        // Truncates the file to its previous content. Truncating needs no disk space.
        ftruncateSync(this.#fd!, this.#bytes)
        this.#suspect = false
      }
      throw error
    }
  }

  /**
   * Reserves disk space that is needed later, when the record is removed from the spool. Throws if the disk has too
   * little space.
   */
  #reserveFor({ length }: Uint8Array): void {
    this.#directory.reserve.ensure(reserveFor(this.#bytes + length, this.#records + 1))
  }

  #write(bytes: Uint8Array): void {
    const written = writeSync(this.#fd!, bytes)
    if (written < bytes.length)
      throw Object.assign(new Error(`only ${written} of ${bytes.length} bytes were written`), {
        code: 'ENOSPC',
      })
    this.#bytes += bytes.length
    this.#directory.usedBytes += bytes.length
    this.#records++
  }

  seal(): void {
    this.#durable = this.#makeDurable()
    // The error is ignored here, because `read` reports it and tries again.
    this.#durable.catch(() => {})
  }

  async #makeDurable(): Promise<void> {
    const fd = this.#fd
    this.#fd = null
    if (fd !== null) {
      try {
        await syncData(fd)
      } catch {
        this.#suspect = true
      } finally {
        closeSync(fd)
      }
    } else {
      const file = await open(this.#path, 'r+')
      await file.datasync().finally(() => file.close())
    }
    if (this.#suspect) await this.#rewrite(await this.#parse())
    await this.#directory.sync()
  }

  async read(): Promise<readonly Segment[]> {
    this.#directory.requireLock()
    this.#durable ??= this.#makeDurable()
    try {
      await this.#durable
      return await this.#parse()
    } catch (error) {
      this.#durable = null
      throw asSpoolError(error, this.#path)
    }
  }

  /** Parses the file. Ignores bytes at the end of the file that a failed write may have left. */
  async #parse(): Promise<Segment[]> {
    const bytes = await readFile(this.#path)
    return parseSegments(this.#path, bytes.toString('utf8', 0, this.#bytes), 'is as written')
  }

  async replace(segments: readonly Segment[]): Promise<void> {
    this.#directory.requireLock()
    try {
      await this.#rewrite(segments)
      await this.#directory.sync()
    } catch (error) {
      throw asSpoolError(error, this.#path)
    }
  }

  async #rewrite(segments: readonly Segment[]): Promise<void> {
    const bytes = Buffer.from(formatSegments(segments))
    await this.#directory.reserve.lend(() => replaceFile(this.#path, bytes))
    this.#suspect = false
    this.#directory.usedBytes += bytes.length - this.#bytes
    this.#bytes = bytes.length
    this.#records = segments.reduce((sum, { items }) => sum + items.length, 0)
  }

  async remove(): Promise<void> {
    try {
      await unlink(this.#path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw asSpoolError(error, this.#path)
    }
    this.#directory.usedBytes -= this.#bytes
    this.#bytes = 0
    this.#records = 0
    this.#directory.reserve.restore()
  }
}
