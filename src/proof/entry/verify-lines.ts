import { utf8Decode } from '../bytes.ts'
import { ProofError } from '../error.ts'
import { type EntryLine, parseEntryLine } from './entry-line.ts'
import type { EntryStep } from './entry-step.ts'

/** The entries up to the first that was refused, and why that one was. */
export type VerifiedLines<Step = EntryStep> = {
  readonly steps: readonly Step[]
  readonly failure: ProofError | null
}

/**
 * A stretch of whole lines of an export, each verified by itself. Every line MUST end with a newline. `verify`: verifyEntry or
 * more; MAY throw ProofError.
 */
export function verifyLines(
  lines: Uint8Array,
  verify: (line: EntryLine, index: number) => EntryStep,
): VerifiedLines {
  return verifyTexts(lines, (text, index) => verify(parseEntryLine(text), index))
}

/** The same for lines of any kind. */
export function verifyTexts<Step>(
  lines: Uint8Array,
  verify: (text: string, index: number) => Step,
): VerifiedLines<Step> {
  const steps: Step[] = []
  try {
    for (const text of linesOf(lines)) steps.push(verify(text, steps.length))
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
