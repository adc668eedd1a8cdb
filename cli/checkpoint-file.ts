import { appendFile, readdir, writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { equalBytes } from '../src/proof/bytes.ts'
import type { ProofProviders } from '../src/proof/crypto.ts'
import { ProofError } from '../src/proof/error.ts'
import { parseConsistencyProof } from '../src/proof/offline/entry-proof.ts'
import {
  type Checkpoint,
  parseVerifierKey,
  type VerifierKey,
  verifyCheckpoint,
} from '../src/proof/tree/checkpoint.ts'
import { verifyConsistency } from '../src/proof/tree/merkle.ts'
import { lineNotes, readNotes } from '../src/verify/checkpoint-file.ts'
import { SourceError } from '../src/verify/source.ts'
import { RefusedError } from './run.ts'

type VerifiedNote = { readonly note: string; readonly checkpoint: Checkpoint }

/**
 * Fetches a consistency proof from the ledger's server. It proves that the ledger of `to` entries begins with the
 * ledger of `from` entries.
 */
export type Prove = (from: number, to: number) => Promise<object>

/**
 * A file to which a ledger's published checkpoints are appended. Each checkpoint is proved to continue the checkpoint
 * before it. If two signed notes contradict each other, they are evidence against their signer. Both notes are then
 * stored beside the file. The file accepts no more checkpoints until a person has moved these two notes away.
 */
export class CheckpointFile {
  readonly #path: string
  readonly #key: VerifierKey
  readonly #providers: ProofProviders
  #newest: VerifiedNote | null = null
  #isCut = false

  private constructor(path: string, key: VerifierKey, providers: ProofProviders) {
    this.#path = path
    this.#key = key
    this.#providers = providers
  }

  /**
   * Opens the file and reads its checkpoints. Throws SourceError if they are of another ledger or note key, because a
   * ledger never changes its note key. Throws RefusedError if evidence is stored beside the file.
   */
  static async open(
    path: string,
    ledger: { origin: string; noteKey: string },
    providers: ProofProviders,
  ): Promise<CheckpointFile> {
    await refuseEvidence(path)
    const key = parseVerifierKey(ledger.noteKey, providers.sha256)
    const file = new CheckpointFile(path, key, providers)
    const text = await readNotes(path).catch((error) => {
      if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return ''
      throw error
    })
    // A crash may have left half a line at the end. The next append then first writes a line break, so that the new
    // line is not corrupted too.
    file.#isCut = text !== '' && !text.endsWith('\n')
    for (const note of lineNotes(text)) {
      const shown = file.#read(note)
      const reason = typeof shown === 'string' ? shown : contradictionOf(file.#newest, shown)
      if (reason !== null)
        throw new SourceError('not_a_ledger', `${path} has checkpoints of another ledger: ${reason}`)
      file.#newest = shown as VerifiedNote
    }
    return file
  }

  /**
   * Appends the note if it is new. Returns the reason if the note contradicts a stored note, otherwise null. Throws
   * the errors of `prove`.
   */
  async append(note: string, prove: Prove): Promise<string | null> {
    const shown = this.#read(note)
    if (typeof shown === 'string') return shown
    const newest = this.#newest
    const reason = contradictionOf(newest, shown) ?? (await this.#forkOf(newest, shown, prove))
    if (reason !== null)
      return `${reason}; both notes are stored: ${await this.#storeEvidence(newest!, shown)}`
    if (newest?.checkpoint.size === shown.checkpoint.size) return null
    await appendFile(this.#path, `${this.#isCut ? '\n' : ''}${JSON.stringify({ checkpoint: note })}\n`)
    this.#isCut = false
    this.#newest = shown
    return null
  }

  /**
   * Verifies a note. If the ledger's note key did not sign the note, returns the reason. An unsigned note is no
   * evidence against anybody.
   */
  #read(note: string): VerifiedNote | string {
    const { sha256, verifySignature } = this.#providers
    try {
      return { note, checkpoint: verifyCheckpoint(note, this.#key, sha256, verifySignature) }
    } catch (error) {
      if (error instanceof ProofError) return error.message
      throw error
    }
  }

  /**
   * Returns the reason if the larger ledger does not continue the stored ledger. This needs a proof, because the size
   * alone proves nothing.
   */
  async #forkOf(
    newest: VerifiedNote | null,
    { checkpoint }: VerifiedNote,
    prove: Prove,
  ): Promise<string | null> {
    const earlier = newest?.checkpoint
    if (!earlier || earlier.size === checkpoint.size) return null
    const ends = { from: earlier.size, to: checkpoint.size }
    const answer = await prove(ends.from, ends.to)
    try {
      const { from, to, path } = parseConsistencyProof(JSON.stringify(answer))
      if (from !== ends.from || to !== ends.to)
        throw new ProofError(
          'consistency_missing',
          `the server's proof joins the sizes ${from} and ${to}, but ${ends.from} and ${ends.to} were requested`,
        )
      verifyConsistency(this.#providers.sha256, from, to, path, earlier.root, checkpoint.root)
      return null
    } catch (error) {
      if (!(error instanceof ProofError)) throw error
      return `the server does not prove that its ledger of ${ends.to} entries begins with the stored checkpoint of ${ends.from} entries (${error.message})`
    }
  }

  async #storeEvidence(kept: VerifiedNote, shown: VerifiedNote): Promise<string> {
    const files = [
      [`${this.#path}${EVIDENCE}${kept.checkpoint.size}-kept.note`, kept.note],
      [`${this.#path}${EVIDENCE}${shown.checkpoint.size}-shown.note`, shown.note],
    ] as const
    for (const [path, note] of files) await writeFile(path, note)
    return files.map(([path]) => path).join(', ')
  }
}

/** Part of the names of evidence files, after the name of the checkpoint file. */
const EVIDENCE = '.contradiction-'

async function refuseEvidence(path: string): Promise<void> {
  const names = await readdir(dirname(path)).catch(() => [])
  const evidence = names.filter((name) => name.startsWith(`${basename(path)}${EVIDENCE}`))
  if (evidence.length > 0)
    throw new RefusedError(
      `the ledger contradicted a checkpoint of ${path} in an earlier run; the evidence is in ${evidence.sort().join(', ')}. ` +
        'Compare these files, tell everybody who relies on the ledger, and move the files away to continue',
    )
}

function contradictionOf(newest: VerifiedNote | null, { checkpoint }: VerifiedNote): string | null {
  if (!newest) return null
  const { size, root, chain } = newest.checkpoint
  if (checkpoint.size < size) return `the ledger has ${checkpoint.size} entries now, and had ${size}`
  if (checkpoint.size > size) return null
  const isSame = equalBytes(checkpoint.root, root) && equalBytes(checkpoint.chain, chain)
  return isSame ? null : `two different ledgers of ${size} entries were signed`
}
