import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type Checkpoint, parseCheckpoint } from '../proof/checkpoint.ts'

/**
 * Each ledger's newest checkpoint in a file of its own, outside Postgres: a restored backup undoes the table
 * together with the chain, but not these.
 */
export class KeptCheckpoints {
  readonly #dir: string
  readonly #newest = new Map<string, Checkpoint>()

  constructor(dir: string) {
    this.#dir = dir
  }

  /** The newest checkpoint kept of the ledger; null where there is none. */
  async find(ledger: string): Promise<Checkpoint | null> {
    const known = this.#newest.get(ledger)
    if (known) return known
    let note: string
    try {
      note = await readFile(this.#pathOf(ledger), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
    const { checkpoint } = parseCheckpoint(note)
    this.#newest.set(ledger, checkpoint)
    return checkpoint
  }

  /** Returns when the note is on disk. A crash leaves the one before or this one, never a part. */
  async keep(ledger: string, note: string): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const path = this.#pathOf(ledger)
    const file = await open(`${path}.new`, 'w', 0o600)
    try {
      await file.writeFile(note)
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(`${path}.new`, path)
    this.#newest.set(ledger, parseCheckpoint(note).checkpoint)
  }

  #pathOf(ledger: string): string {
    return join(this.#dir, `${ledger}.note`)
  }
}
