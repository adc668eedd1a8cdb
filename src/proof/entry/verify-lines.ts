import { utf8Decode } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { parseEntryLine } from './entry-line.ts'
import type { EntryStep } from './entry-step.ts'
import { type DocumentsShown, type FindKey, type VerifiedEntry, verifyEntry } from './verify-entry.ts'

/** The entries up to the first that was refused, and why that one was. */
export type VerifiedLines = {
  readonly steps: readonly EntryStep[]
  readonly failure: ProofError | null
}

type LineContext = {
  readonly findKey: FindKey
  readonly providers: ProofProviders
  readonly documents: DocumentsShown
  /** Further check of each entry. MAY throw ProofError. */
  readonly also?: (entry: VerifiedEntry, index: number) => void
}

/** A stretch of whole lines of an export, each verified by itself. Every line MUST end with a newline. */
export function verifyLines(lines: Uint8Array, context: LineContext): VerifiedLines {
  const { findKey, providers, documents, also } = context
  const steps: EntryStep[] = []
  try {
    for (const text of linesOf(lines)) {
      const entry = verifyEntry(parseEntryLine(text), findKey, providers, documents)
      also?.(entry, steps.length)
      steps.push(entry.step)
    }
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    return { steps, failure: error }
  }
  return { steps, failure: null }
}

const NEWLINE = 0x0a

/** Decoded one by one, so that bytes that are no text spoil their own line only. */
function* linesOf(bytes: Uint8Array): Generator<string> {
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, from)
    yield utf8Decode(bytes.subarray(from, end))
    from = end + 1
  }
}
