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
import type { Found, Handles, Refused, Segment, Spool, SpooledBatch, SpoolOwner } from '../notarizer/spool.ts'
import { BatchFile, type SpoolDirectory } from './batch-file.ts'
import { keepRefused } from './dead-letters.ts'
import { isOwnFile, replaceFile, takeDirectory } from './files.ts'
import { HANDLES_NAME, HandleFile } from './handle-file.ts'
import { InTurn } from './in-turn.ts'
import { INBOX, INBOX_NAME } from './inbox.ts'
import { makeDirectory } from './make-directory.ts'
import { Reserve, reserveFor } from './reserve.ts'
import { asSpoolError } from './spool-errors.ts'
import { formatSegments, parseSegments } from './spool-lines.ts'
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
/** An item with its tag, its handles and its batch's key. */
const LINE_BYTES_MAX = ITEM_BYTES_MAX + 3 * 1024
/** Moved out of the inbox at once. */
const ADOPTED_FILES_MAX = 1_000
/** Records of the inbox that become one batch: of no more types or parents than the server takes in one. */
const MERGED_FILES_MAX = 32
const MERGED_BYTES_MAX = 1_000_000
const PARTS_NAME = /^\d{16}\.parts$/
/** After which half a file in the inbox is one whose process ended, and took nothing. */
const UNFINISHED_MS = 60_000
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

type Taken = { readonly batches: SpooledBatch[]; readonly errors: TallystickError[] }

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
  readonly #adoptions = new InTurn()
  readonly #refusals = new InTurn()
  #found: Taken | null = { batches: [], errors: [] }
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

  requireHeld(): void {
    this.#lock.requireHeld()
  }

  async open(): Promise<void> {
    // Windows opens no directories, and needs no such thing.
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

  async #takeOver(path: string, number: number, { batches, errors }: Taken): Promise<void> {
    this.#nextNumber = Math.max(this.#nextNumber, number + 1)
    try {
      const { bytes, segments } = await readBatch(path)
      const records = segments.reduce((sum, { items }) => sum + items.length, 0)
      // The process ended while it made the file: no record was taken.
      if (records === 0) await unlink(path)
      else batches.push(BatchFile.leftBehind(this, path, bytes, records))
    } catch (error) {
      if (!(error instanceof SpoolError)) throw error
      errors.push(await moveAside(path, `${path}.damaged`, error))
    }
  }

  recover() {
    const found = this.#found
    if (found === null) throw new UsageError('a spool is of one notarizer')
    this.#found = null
    return found
  }

  /** One after another. */
  adopt(): Promise<Found> {
    return this.#adoptions.do(() => this.#adopt())
  }

  /** A record is in the inbox or in the spool, never in both: a rename moves it, whatever ends the process. Never throws. */
  async #adopt(): Promise<Found> {
    const inbox = join(this.#path, INBOX)
    const taken: Taken = { batches: [], errors: [] }
    try {
      for (const names of (await listInbox(inbox)).flatMap((group) => this.#mergeable(group))) {
        if (!this.hasRoom) break
        this.requireHeld()
        // Taken before anything waits: a record may be taken meanwhile, and a failure leaves what the next process merges.
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

  /** Files that become one batch; where the disk has no room for that, one each, which needs none. */
  #mergeable({ names, bytes }: InboxGroup): string[][] {
    return this.reserve.restore(reserveFor(bytes, names.length)) ? [names] : names.map((name) => [name])
  }

  /** Makes one batch of the files in a folder, which are in no other place. If the batch is there, it has all of them. */
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

  /** One after another, as the lines of several batches would be mixed. */
  refuse(refused: readonly Refused[]): Promise<void> {
    return this.#refusals.do(() => this.#refuse(refused))
  }

  async #refuse(refused: readonly Refused[]): Promise<void> {
    const path = join(this.#path, REFUSED_NAME)
    try {
      await this.reserve.lend(() => keepRefused(path, refused, this.#refusedBytesMax))
      await this.sync()
    } catch (error) {
      throw asSpoolError(error, path)
    }
  }

  async claim(owner: SpoolOwner): Promise<void> {
    const path = join(this.#path, OWNER_NAME)
    this.requireHeld()
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
    // It would move records to where the next process has its own.
    await this.#adoptions.over
    await this.#handle?.close()
    this.#handle = null
    await this.#lock.release()
  }
}

async function readBatch(path: string): Promise<{ readonly bytes: number; readonly segments: Segment[] }> {
  if (!isOwnFile(await lstat(path))) throw new SpoolError(`${path} is no file of this user`)
  const bytes = await readFile(path)
  return { bytes: bytes.length, segments: parseSegments(path, bytes.toString('utf8'), 'is JSON') }
}

async function moveAside(path: string, aside: string, { message }: SpoolError): Promise<SpoolError> {
  await rename(path, aside)
  return new SpoolError(`${message}: it is moved aside, as ….damaged, and what it holds is not sent`)
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

/** Files of the inbox that are to become one batch. */
type InboxGroup = { readonly names: string[]; bytes: number }

/** In the order in which they were put. */
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
    // It has its name by now.
  }
}
