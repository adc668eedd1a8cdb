import type { ErasedDocument } from '../entry/entry-step.ts'
import { ProofError } from '../error.ts'

type Missing = { readonly seq: number; readonly subject: string; readonly sha256: string }

/**
 * Documents lie beside the chain and may go missing in one way only: a `payload-erased` entry says so. The owner of
 * the database can delete a document, but cannot make that entry without the envelope key. A missing document
 * that no entry explains is found here.
 *
 * The other way round is legal for a while: the entry comes first, a worker removes the document after it.
 */
export class LedgerErasures {
  /** By the seq that is said to explain it. */
  readonly #missing = new Map<number, Missing>()
  readonly #erased = new Set<string>()

  /** A line at `seq` lacks this document. */
  miss(seq: number, document: ErasedDocument): void {
    const { subject, sha256, erasedBy } = document
    if (erasedBy <= seq)
      throw new ProofError(
        'erasure_unexplained',
        `${subject} was erased by seq ${erasedBy}, before it was made`,
      )
    if (this.#missing.has(erasedBy)) {
      throw new ProofError(
        'erasure_unexplained',
        `seq ${erasedBy} is said to have erased ${subject} and another document`,
      )
    }
    this.#missing.set(erasedBy, { seq, subject, sha256 })
  }

  /**
   * The entry at `by` says that it erased this subject of the entry at `seq`. False: the document is still there, so
   * that the caller must check that it ever was.
   */
  explain(by: number, seq: number, subject: string, sha256: string): boolean {
    if (this.#erased.has(`${seq} ${subject}`))
      throw new ProofError('duplicate_subject', `${subject} of seq ${seq} is erased twice`)
    this.#erased.add(`${seq} ${subject}`)
    const missing = this.#missing.get(by)
    if (!missing) return false
    if (missing.seq !== seq || missing.subject !== subject || missing.sha256 !== sha256) {
      throw new ProofError(
        'erasure_unexplained',
        `seq ${by} erases ${subject} of seq ${seq}, not ${missing.subject} of seq ${missing.seq}`,
      )
    }
    this.#missing.delete(by)
    return true
  }

  /**
   * Called after each entry, with the erasures that it explained taken out: those that were due at `seq` are due no
   * longer.
   */
  verifyExplained(seq: number): void {
    const missing = this.#missing.get(seq)
    if (missing)
      throw new ProofError(
        'erasure_unexplained',
        `the document of ${missing.subject} at seq ${missing.seq} is missing, and the entry that is said to explain it is no erasure`,
      )
  }

  /** Throws if a document is missing that no entry explains, at the end of the chain. */
  finish(): void {
    for (const [by, { seq, subject }] of this.#missing) {
      throw new ProofError(
        'erasure_unexplained',
        `the document of ${subject} at seq ${seq} is missing, and seq ${by} is beyond the end`,
      )
    }
  }
}
