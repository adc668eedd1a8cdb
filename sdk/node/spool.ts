import { realpathSync } from 'node:fs'
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  unlink,
} from 'node:fs/promises'
import { basename, join } from 'node:path'
import { SpoolError, type TallystickError, UsageError } from '../errors.ts'
import { makeIdempotencyKey } from '../idempotency-key.ts'
import { ITEM_BYTES_MAX, type Item } from '../notarizer/items.ts'
import type {
  Handles,
  Refused,
  Segment,
  Spool,
  SpoolContents,
  SpooledBatch,
  SpoolOwner,
} from '../notarizer/spool.ts'
import { BatchFile, type SpoolDirectory } from './batch-file.ts'
import { storeRefused } from './dead-letters.ts'
import { isOwnFile, replaceFile, takeDirectory } from './files.ts'
import { HANDLES_NAME, HandleFile } from './handle-file.ts'
import { INBOX, INBOX_NAME } from './inbox.ts'
import { makeDirectory } from './make-directory.ts'
import { Reserve, reserveFor } from './reserve.ts'
import { SerialTasks } from './serial-tasks.ts'
import { asSpoolError } from './spool-errors.ts'
import { formatSegments, parseSegments } from './spool-lines.ts'
import { SpoolLock } from './spool-lock.ts'
import { claimSpool } from './spool-owner.ts'

export type { Spool } from '../notarizer/spool.ts'

export type SpoolOptions = {
  /** Maximum number of bytes that wait to be sent. Default: 1 GiB. */
  readonly bytesMax?: number | undefined
  /**
   * Maximum size of `refused.ndjson`. When the file has this size, batches with refused records wait. Default: 256
   * MiB.
   */
  readonly refusedBytesMax?: number | undefined
  /**
   * Another process may take the directory if the lock was not touched for this time in milliseconds. Default: 5000.
   */
  readonly lockStaleMs?: number | undefined
}

const BYTES_MAX_DEFAULT = 1024 ** 3
const REFUSED_BYTES_MAX_DEFAULT = 256 * 1024 ** 2
const LOCK_STALE_MS_DEFAULT = 5_000
/** Maximum length of a line. A line contains either a batch's key, or an item with its tag and its handles. */
const LINE_BYTES_MAX = ITEM_BYTES_MAX + 3 * 1024
/** Maximum number of files that one call of `#adopt` moves out of the inbox. */
const ADOPTED_FILES_MAX = 1_000
/**
 * Maximum number of inbox records that are merged into one batch. Each of them may have its own type and parent, and a
 * server accepts only this many types and parents in one batch.
 */
const MERGED_FILES_MAX = 32
const MERGED_BYTES_MAX = 1_000_000
const PARTS_NAME = /^\d{16}\.parts$/
/**
 * Age in ms after which an unfinished file in the inbox is removed. Its process ended before the record was accepted.
 */
const UNFINISHED_MS = 60_000
const BATCH_NAME = /^\d{16}\.ndjson$/
/** Name of an unfinished replacement of a batch file. The old batch file still exists. */
const UNFINISHED_NAME = /^\d{16}\.ndjson\.tmp$/
const REFUSED_NAME = 'refused.ndjson'
const OWNER_NAME = 'owner.json'

/**
 * Opens a spool in a directory of its own, which is created if it is missing.
 *
 * Records that `record` accepted survive the process, and sealed batches survive a crash of the machine. The spool
 * contains payloads, so only its owner can read the directory and the files. Records that the server will never accept
 * are stored in `refused.ndjson` with the reason, until somebody removes them. Damaged files are renamed to
 * `….damaged`.
 *
 * Throws SpoolError if another process still uses the directory after at most `lockStaleMs`. Throws UsageError for
 * invalid options.
 */
export async function openSpool(
  directory: string,
  {
    bytesMax = BYTES_MAX_DEFAULT,
    refusedBytesMax = REFUSED_BYTES_MAX_DEFAULT,
    lockStaleMs = LOCK_STALE_MS_DEFAULT,
  }: SpoolOptions = {},
): Promise<Spool> {
  if (!(bytesMax >= LINE_BYTES_MAX))
    throw new UsageError(`the option \`bytesMax\` must be at least ${LINE_BYTES_MAX}`)
  if (!(refusedBytesMax >= 1)) throw new UsageError('the option `refusedBytesMax` must be at least 1')
  if (!(lockStaleMs >= 100)) throw new UsageError('the option `lockStaleMs` must be at least 100')
  let path: string
  try {
    makeDirectory(directory)
    path = realpathSync(directory)
    await takeDirectory(path)
  } catch (error) {
    throw asSpoolError(error, directory)
  }
  const reserve = new Reserve(path)
  const lock = await SpoolLock.acquire(path, lockStaleMs, reserve)
  try {
    const spool = new DirectorySpool(path, lock, reserve, { bytesMax, refusedBytesMax })
    await spool.open()
    return spool
  } catch (error) {
    await lock.release()
    throw asSpoolError(error, path)
  }
}

type AdoptedBatches = { readonly batches: SpooledBatch[]; readonly errors: TallystickError[] }

class DirectorySpool implements Spool, SpoolDirectory {
  readonly isDurable: boolean = true
  readonly bytesMax: number
  usedBytes = 0
  readonly reserve: Reserve
  readonly #refusedBytesMax: number
  readonly #path: string
  readonly #lock: SpoolLock
  #handle: FileHandle | null = null
  #nextNumber = 1
  readonly #adoptions = new SerialTasks()
  readonly #refusals = new SerialTasks()
  #found: AdoptedBatches | null = { batches: [], errors: [] }
  #handles: Handles | null = null

  constructor(
    path: string,
    lock: SpoolLock,
    reserve: Reserve,
    limits: { readonly bytesMax: number; readonly refusedBytesMax: number },
  ) {
    this.#path = path
    this.#lock = lock
    this.reserve = reserve
    this.bytesMax = limits.bytesMax
    this.#refusedBytesMax = limits.refusedBytesMax
  }

  get hasRoom(): boolean {
    return this.usedBytes + LINE_BYTES_MAX <= this.bytesMax
  }

  get handles(): Handles {
    return this.#handles!
  }

  requireLock(): void {
    this.#lock.requireLock()
  }

  async open(): Promise<void> {
    // Opens the directory, so that the directory can be synced. Does nothing on Windows, which cannot open
    // directories and needs no such sync.
    if (process.platform !== 'win32') this.#handle = await open(this.#path, 'r')
    this.reserve.restore()
    this.#handles = await HandleFile.load(join(this.#path, HANDLES_NAME), this.reserve)
    for (const name of (await readdir(this.#path)).sort())
      if (PARTS_NAME.test(name)) await this.#merge(name.slice(0, 16), this.#found!.errors)
    for (const name of (await readdir(this.#path)).sort()) {
      const path = join(this.#path, name)
      if (UNFINISHED_NAME.test(name)) await unlink(path)
      else if (BATCH_NAME.test(name)) await this.#takeOver(path, Number(name.slice(0, 16)), this.#found!)
    }
  }

  async #takeOver(path: string, number: number, { batches, errors }: AdoptedBatches): Promise<void> {
    this.#nextNumber = Math.max(this.#nextNumber, number + 1)
    try {
      const { bytes, segments } = await readBatch(path)
      const records = segments.reduce((sum, { items }) => sum + items.length, 0)
      // The process ended during its first write to the file, so no record in the file was accepted.
      if (records === 0) await unlink(path)
      else batches.push(BatchFile.leftBehind(this, path, bytes, records))
    } catch (error) {
      if (!(error instanceof SpoolError)) throw error
      errors.push(await moveAside(path, `${path}.damaged`, error))
    }
  }

  recover() {
    const found = this.#found
    if (found === null) throw new UsageError('a spool can only be used by one notarizer')
    this.#found = null
    return found
  }

  adopt(): Promise<SpoolContents> {
    return this.#adoptions.do(() => this.#adopt())
  }

  /**
   * Moves records from the inbox to the spool. It renames files, so a record is always in exactly one of the two
   * places, even if the process ends during the move. Never throws.
   */
  async #adopt(): Promise<SpoolContents> {
    const inbox = join(this.#path, INBOX)
    const taken: AdoptedBatches = { batches: [], errors: [] }
    try {
      for (const names of (await listInbox(inbox)).flatMap((group) => this.#mergeable(group))) {
        if (!this.hasRoom) break
        this.requireLock()
        // Takes the number before any await, because `record` may take a number during an await. If the merge of the
        // files fails, the next process merges them under the same number.
        const number = this.#nextNumber++
        const path = this.#pathOf(number)
        if (names.length === 1) await rename(join(inbox, names[0]!), path)
        else {
          const parts = path.replace(/ndjson$/, 'parts')
          await this.reserve.lend(() => mkdir(parts, { mode: 0o700 }))
          for (const name of names) await rename(join(inbox, name), join(parts, name))
          await this.#merge(basename(path).slice(0, 16), taken.errors)
        }
        await this.#takeOver(path, number, taken)
      }
    } catch (error) {
      taken.errors.push(asSpoolError(error, inbox))
    }
    return taken
  }

  /**
   * Returns lists of file names. The files of each list are merged into one batch. If the disk has no room for a merge,
   * each file becomes a batch of its own.
   */
  #mergeable({ names, bytes }: InboxGroup): string[][] {
    return this.reserve.restore(reserveFor(bytes, names.length)) ? [names] : names.map((name) => [name])
  }

  /**
   * Merges the files of the folder `number`.parts into one batch file, and removes the folder. If the batch file
   * already exists, it contains all records of the folder, and only the folder is removed.
   */
  async #merge(number: string, errors: TallystickError[]): Promise<void> {
    const path = join(this.#path, `${number}.ndjson`)
    const parts = join(this.#path, `${number}.parts`)
    if (!(await exists(path))) {
      const items: Item[] = []
      for (const [i, name] of (await readdir(parts)).sort().entries()) {
        try {
          items.push(...(await readBatch(join(parts, name))).segments.flatMap((segment) => segment.items))
        } catch (error) {
          if (!(error instanceof SpoolError)) throw error
          errors.push(await moveAside(join(parts, name), `${path}.${i}.damaged`, error))
        }
      }
      const text = formatSegments([{ idempotencyKey: makeIdempotencyKey(), items }])
      await this.reserve.lend(() => replaceFile(path, text))
      await this.sync()
    }
    await rm(parts, { recursive: true })
  }

  #pathOf(number: number): string {
    return join(this.#path, `${`${number}`.padStart(16, '0')}.ndjson`)
  }

  begin(idempotencyKey: string, item: Item): SpooledBatch {
    const batch = BatchFile.begin(this, this.#pathOf(this.#nextNumber), idempotencyKey, item)
    this.#nextNumber++
    return batch
  }

  /** Stores refused records. Calls run one after another, because otherwise lines of several batches would mix. */
  refuse(refused: readonly Refused[]): Promise<void> {
    return this.#refusals.do(() => this.#refuse(refused))
  }

  async #refuse(refused: readonly Refused[]): Promise<void> {
    const path = join(this.#path, REFUSED_NAME)
    try {
      await this.reserve.lend(() => storeRefused(path, refused, this.#refusedBytesMax))
      await this.sync()
    } catch (error) {
      throw asSpoolError(error, path)
    }
  }

  async claim(owner: SpoolOwner): Promise<void> {
    const path = join(this.#path, OWNER_NAME)
    this.requireLock()
    try {
      await this.reserve.lend(() => claimSpool(this.#path, path, owner))
      await this.sync()
    } catch (error) {
      throw asSpoolError(error, path)
    }
  }

  async sync(): Promise<void> {
    await this.#handle?.sync()
  }

  async close(): Promise<void> {
    // Waits for running adoptions. After `close`, another process may use the spool and take the same file numbers.
    await this.#adoptions.over
    await this.#handle?.close()
    this.#handle = null
    await this.#lock.release()
  }
}

async function readBatch(path: string): Promise<{ readonly bytes: number; readonly segments: Segment[] }> {
  if (!isOwnFile(await lstat(path))) throw new SpoolError(`${path} is not a file of this user`)
  const bytes = await readFile(path)
  return { bytes: bytes.length, segments: parseSegments(path, bytes.toString('utf8'), 'is JSON') }
}

async function moveAside(path: string, aside: string, { message }: SpoolError): Promise<SpoolError> {
  await rename(path, aside)
  return new SpoolError(`${message}: the file was renamed to ….damaged, and its records are not sent`)
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

type InboxGroup = { readonly names: string[]; bytes: number }

/** Groups the inbox files for merging, in the order in which they were put. */
async function listInbox(inbox: string): Promise<InboxGroup[]> {
  let names: string[]
  try {
    names = await readdir(inbox)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  for (const name of names) if (name.endsWith('.tmp')) await removeUnfinished(join(inbox, name))
  const groups: InboxGroup[] = []
  const found = names.filter((name) => INBOX_NAME.test(name)).sort()
  for (const name of found.slice(0, ADOPTED_FILES_MAX)) {
    const group = groups.at(-1)
    const { size } = await lstat(join(inbox, name))
    if (
      group !== undefined &&
      group.names.length < MERGED_FILES_MAX &&
      group.bytes + size <= MERGED_BYTES_MAX
    ) {
      group.names.push(name)
      group.bytes += size
    } else groups.push({ names: [name], bytes: size })
  }
  return groups
}

async function removeUnfinished(path: string): Promise<void> {
  try {
    if (Date.now() - (await stat(path)).mtimeMs > UNFINISHED_MS) await unlink(path)
  } catch {
    // The error is ignored, because another process may have renamed or removed the file.
  }
}
