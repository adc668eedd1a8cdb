import { appendFile, readFile } from 'node:fs/promises'
import { type Tallystick, verify } from '@tallystick/sdk'

/**
 * A ledger's checkpoints in a file, one per line, as `tallystick checkpoints watch` writes them. Each checkpoint
 * extends the one before. Store the file where the ledger's operator cannot write it.
 */
export class KeptCheckpoints {
  readonly notes: string[]
  readonly #file: string
  readonly #noteKey: string
  readonly #tallystick: Tallystick

  private constructor(file: string, notes: string[], noteKey: string, tallystick: Tallystick) {
    this.#file = file
    this.notes = notes
    this.#noteKey = noteKey
    this.#tallystick = tallystick
  }

  static async open(file: string, noteKey: string, tallystick: Tallystick): Promise<KeptCheckpoints> {
    return new KeptCheckpoints(file, await readNotes(file), noteKey, tallystick)
  }

  /**
   * Appends a checkpoint. Throws VerificationError if the checkpoint's ledger does not begin with the stored ledger,
   * because its history was cut or rewritten.
   */
  async keep(note: string): Promise<void> {
    if (this.notes.includes(note)) return
    const noteKey = this.#noteKey
    const to = await verify.checkpoint(note, { noteKey })
    const last = this.notes.at(-1)
    if (last !== undefined) {
      const from = await verify.checkpoint(last, { noteKey })
      // A smaller checkpoint proves nothing new. Verifying the export shows whether the ledger still has its size.
      if (to.size < from.size) return
      const proof = await this.#findProof(from.size, to.size)
      await verify.consistency(proof, { from: last, to: note, noteKey })
    }
    await appendFile(this.#file, `${JSON.stringify({ checkpoint: note })}\n`)
    this.notes.push(note)
  }

  /**
   * Reads the consistency proof. Checkpoints of equal size need no proof: they are the same, or contradict each other.
   */
  async #findProof(from: number, to: number) {
    return from === to ? { from, to, path: [] } : this.#tallystick.checkpoints.consistency(from, to)
  }
}

async function readNotes(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => (JSON.parse(line) as { checkpoint: string }).checkpoint)
}
