import { randomUUID } from 'node:crypto'
import { access, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../../sdk/node/make-directory.ts'
import { equalBytes, toHex } from '../../proof/bytes.ts'
import { isId, parseId, type Uuid } from '../../proof/ids.ts'
import { type Checkpoint, parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { syncDirectory } from '../../verify/sync-directory.ts'

export type StoredCheckpoint = {
  readonly ledger: string
  readonly ledgerId: Uuid
  readonly checkpoint: Checkpoint
}

type CheckpointLog = { error(details: object, message: string): void }

/**
 * Stores the newest checkpoint of each ledger in a file outside Postgres. When a backup is restored, the tables and the
 * chains become older, but these files do not.
 *
 * Several workers may share the folder. Each worker caches the checkpoints that it has written or read. If a file and
 * the cache differ, the file is right.
 */
export class StoredCheckpoints {
  readonly #dir: string
  /**
   * Maps a ledger to its newest checkpoint. Ordered by the time at which the checkpoint was written or read, newest
   * last.
   */
  readonly #newest = new Map<string, Checkpoint>()
  /** Ledgers that `nextToCheck` has not returned yet in this pass through all ledgers. */
  #remaining: string[] = []

  constructor(dir: string) {
    this.#dir = dir
  }

  /**
   * Reads all files. If a file is unreadable, this is logged, and the ledger gets no new checkpoint until the file is
   * readable.
   */
  async load(log: CheckpointLog): Promise<void> {
    const names = await readdir(this.#dir).catch(onlyMissing([]))
    for (const name of names) {
      const ledger = name.slice(0, -NOTE.length)
      if (!name.endsWith(NOTE) || !isId('led', ledger)) continue
      await this.find(ledger).catch((err) => log.error({ err, ledger }, 'a stored checkpoint cannot be read'))
    }
  }

  get all(): StoredCheckpoint[] {
    return [...this.#newest].map(toStored)
  }

  /**
   * Returns checkpoints to check: the last `newest` checkpoints that were written, and `others` more, round-robin among
   * all ledgers.
   */
  nextToCheck(newest: number, others: number): StoredCheckpoint[] {
    if (this.#remaining.length === 0) this.#remaining = [...this.#newest.keys()]
    const ledgers = new Set([...this.#newest.keys()].slice(-newest))
    for (const ledger of this.#remaining.splice(0, others)) ledgers.add(ledger)
    return [...ledgers].map((ledger) => toStored([ledger, this.#newest.get(ledger)!]))
  }

  /**
   * Reads the newest checkpoint of a ledger from its file, because another worker may have written it. If the file is
   * missing, returns the cached checkpoint, or null if no checkpoint is cached.
   */
  async find(ledger: string): Promise<Checkpoint | null> {
    const known = this.#newest.get(ledger) ?? null
    const note = await this.findNote(ledger)
    if (note === null) return known
    const { checkpoint } = parseCheckpoint(note)
    if (known === null || !isSame(known, checkpoint)) this.#remember(ledger, checkpoint)
    return checkpoint
  }

  /** Returns the newest note, or null if there is no file. */
  async findNote(ledger: string): Promise<string | null> {
    return readFile(this.#pathOf(ledger), 'utf8').catch(onlyMissing(null))
  }

  /** Tests whether `store` can write: writes a file in the same way and removes it. Throws file system errors. */
  async tryToWrite(): Promise<void> {
    const path = join(this.#dir, `trial-${randomUUID()}`)
    await this.#write(path, '')
    await rm(path)
  }

  /**
   * Writes a note and returns when it is on disk. After a crash, the file contains the whole old note or the whole new
   * note.
   */
  async store(ledger: string, note: string): Promise<void> {
    const { checkpoint } = parseCheckpoint(note)
    await this.#write(this.#pathOf(ledger), note)
    this.#remember(ledger, checkpoint)
  }

  /**
   * Copies the newest note to a file that later notes do not replace. The copy is evidence of the ledger's state, made
   * before the ledger continues from an older state. The file name depends only on the content, so repeating the call
   * is harmless.
   */
  async setAside(ledger: string): Promise<void> {
    const note = await readFile(this.#pathOf(ledger), 'utf8')
    const { size, chain } = parseCheckpoint(note).checkpoint
    const path = join(this.#dir, `${ledger}.${size}-${toHex(chain).slice(0, 8)}${NOTE}`)
    await this.#write(path, note)
  }

  #remember(ledger: string, checkpoint: Checkpoint): void {
    this.#newest.delete(ledger)
    this.#newest.set(ledger, checkpoint)
  }

  /**
   * Writes a file, and syncs the file and its directory. A new file name survives a crash only after the directory was
   * synced.
   */
  async #write(path: string, note: string): Promise<void> {
    const isMissing = await access(this.#dir).then(
      () => false,
      () => true,
    )
    if (isMissing && makeDirectory(this.#dir)) await syncDirectory(dirname(this.#dir))
    const file = await open(`${path}.new`, 'w', 0o600)
    try {
      await file.writeFile(note)
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(`${path}.new`, path)
    await syncDirectory(this.#dir)
  }

  #pathOf(ledger: string): string {
    return join(this.#dir, `${ledger}${NOTE}`)
  }
}

const NOTE = '.note'

function isSame(a: Checkpoint, b: Checkpoint): boolean {
  return a.size === b.size && equalBytes(a.chain, b.chain)
}

function toStored([ledger, checkpoint]: [string, Checkpoint]): StoredCheckpoint {
  return { ledger, ledgerId: parseId('led', ledger), checkpoint }
}

function onlyMissing<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return instead
    throw error
  }
}
