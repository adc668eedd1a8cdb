import type { ErasedDocument } from '../entry/entry-step.ts'
import { ProofError } from '../error.ts'

type Missing = { readonly seq: number; readonly subject: string; readonly sha256: string }

/**
 * Verifies that every missing document was erased by a `payload-erased` entry. The owner of the database can delete a
 * document, but cannot sign that entry without the envelope key. So this check finds a document that was deleted
 * without such an entry.
 *
 * For a while, a document may be present although it was erased: the entry is written first, and a worker removes the
 * document later.
 */
export class LedgerErasures {
  /** Maps the seq of an erasing entry to the missing document for which the export names that entry. */
  readonly #missing = new Map<number, Missing>()
  readonly #erased = new Set<string>()

  /**
   * Records that the line at `seq` lacks this document. Throws if the entry that the line names cannot have erased the
   * document.
   */
  miss(seq: number, document: ErasedDocument): void {
    const { subject, sha256, erasedBy } = document
    if (erasedBy <= seq)
      throw new ProofError(
        'erasure_unexplained',
        `${subject} was erased by seq ${erasedBy}, before it existed`,
      )
    if (this.#missing.has(erasedBy)) {
      throw new ProofError(
        'erasure_unexplained',
        `seq ${erasedBy} is named as the erasure of ${subject} and of another document`,
      )
    }
    this.#missing.set(erasedBy, { seq, subject, sha256 })
  }

  /**
   * Records that the entry at `by` erases a document of the entry at `seq`. Returns false if the line at `seq` still
   * has the document. Then the caller must verify that the entry at `seq` digests the document.
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
   * Throws if a missing document names the entry at `seq` as its erasure, but that entry erases something else or
   * nothing. The caller must call this method after each entry.
   */
  verifyExplained(seq: number): void {
    const missing = this.#missing.get(seq)
    if (missing)
      throw new ProofError(
        'erasure_unexplained',
        `the document of ${missing.subject} at seq ${missing.seq} is missing, and the entry named as its erasure is not an erasure`,
      )
  }

  /** Throws if a missing document names an erasure beyond the end of the chain. */
  finish(): void {
    for (const [by, { seq, subject }] of this.#missing) {
      throw new ProofError(
        'erasure_unexplained',
        `the document of ${subject} at seq ${seq} is missing, and its erasure seq ${by} is beyond the end`,
      )
    }
  }
}
