import { appendFile, readFile } from 'node:fs/promises'
import { equalBytes } from '../src/proof/bytes.ts'
import {
  type Checkpoint,
  parseVerifierKey,
  type VerifierKey,
  verifyCheckpoint,
} from '../src/proof/checkpoint.ts'
import type { ProofProviders } from '../src/proof/crypto.ts'
import { ProofError } from '../src/proof/error.ts'
import { SourceError } from '../src/verify/source.ts'

/**
 * The checkpoint notes of a file: one note as text, or lines `{"checkpoint":"<note>"}`, which is what an export ends
 * with. Throws SourceError where there is none, so that a mistaken file never counts as a kept checkpoint.
 */
export async function readCheckpointFile(path: string): Promise<string[]> {
  const text = await readText(path)
  if (!text.startsWith('{') && text.includes('\n\n— ')) return [text]
  const notes = lineNotes(text)
  if (notes.length === 0) throw new SourceError('not_a_ledger', `${path} holds no checkpoint note`)
  return notes
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SourceError('io', `the checkpoint file ${path} cannot be read (${code})`, { cause: error })
  }
}

/** Lines of an export that are no checkpoint are passed over: a whole export may be given. */
function lineNotes(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{"checkpoint":')) return []
    try {
      const { checkpoint } = JSON.parse(line) as { checkpoint: unknown }
      return typeof checkpoint === 'string' ? [checkpoint] : []
    } catch {
      return []
    }
  })
}

/** A file that a ledger's checkpoints are appended to as they are published. */
export class CheckpointFile {
  readonly #path: string
  readonly #key: VerifierKey
  readonly #providers: ProofProviders
  #newest: Checkpoint | null = null
  #isCut = false

  private constructor(path: string, key: VerifierKey, providers: ProofProviders) {
    this.#path = path
    this.#key = key
    this.#providers = providers
  }

  /**
   * Reads what the file holds already. Throws SourceError if that is of another ledger or under another note key: a
   * ledger keeps its note key, so another one is another ledger of that name.
   */
  static async open(
    path: string,
    ledger: { origin: string; verifierKey: string },
    providers: ProofProviders,
  ): Promise<CheckpointFile> {
    const key = parseVerifierKey(ledger.verifierKey, providers.sha256)
    const file = new CheckpointFile(path, key, providers)
    const text = await readText(path).catch((error) => {
      if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return ''
      throw error
    })
    // A crash may have left half a line, which would swallow the next one.
    file.#isCut = text !== '' && !text.endsWith('\n')
    for (const note of lineNotes(text)) {
      const reason = file.#contradiction(note)
      if (reason !== null)
        throw new SourceError('not_a_ledger', `${path} holds checkpoints of something else: ${reason}`)
    }
    return file
  }

  /** Appends the note if it is new. Returns why it contradicts what was kept, or null. */
  async keep(note: string): Promise<string | null> {
    const before = this.#newest
    const reason = this.#contradiction(note)
    if (reason !== null || this.#newest === before) return reason
    await appendFile(this.#path, `${this.#isCut ? '\n' : ''}${JSON.stringify({ checkpoint: note })}\n`)
    this.#isCut = false
    return null
  }

  #contradiction(note: string): string | null {
    const { sha256, verifySignature } = this.#providers
    let checkpoint: Checkpoint
    try {
      checkpoint = verifyCheckpoint(note, this.#key, sha256, verifySignature)
    } catch (error) {
      if (error instanceof ProofError) return error.message
      throw error
    }
    const newest = this.#newest
    if (newest && checkpoint.size < newest.size) {
      return `the ledger has ${checkpoint.size} entries now, it had ${newest.size}`
    }
    if (newest && checkpoint.size === newest.size) {
      const isSame = equalBytes(checkpoint.root, newest.root) && equalBytes(checkpoint.chain, newest.chain)
      return isSame ? null : `two different ledgers of ${newest.size} entries were signed`
    }
    this.#newest = checkpoint
    return null
  }
}
