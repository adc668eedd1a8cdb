import { utf8Decode } from '../bytes.ts'
import { ProofError } from '../error.ts'
import { type EntryLine, parseEntryLine } from './entry-line.ts'
import type { EntryStep } from './entry-step.ts'

/**
 * Steps of all lines before the first refused line, and the error of the refused line. `failure` is null if no line was
 * refused.
 */
export type VerifiedLines<Step = EntryStep> = {
  readonly steps: readonly Step[]
  readonly failure: ProofError | null
}

/**
 * Verifies whole lines of an export, each on its own. Every line MUST end with a newline. `verify`: verifyEntry, or a
 * function that checks more. It MAY throw ProofError.
 */
export function verifyLines(
  lines: Uint8Array,
  verify: (line: EntryLine, index: number) => EntryStep,
): VerifiedLines {
  return verifyEachLine(lines, (text, index) => verify(parseEntryLine(text), index))
}

/** Verifies lines of any kind, in the same way as verifyLines. */
export function verifyEachLine<Step>(
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

/** Decodes line by line, so that invalid UTF-8 affects only the line that contains it. */
function* linesOf(bytes: Uint8Array): Generator<string> {
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, from)
    yield utf8Decode(bytes.subarray(from, end))
    from = end + 1
  }
}
