import type { EntryColumns } from '../db/evidence/tables.ts'
import { utf8Decode } from '../proof/bytes.ts'
import type { EntryLine } from '../proof/entry/entry-line.ts'
import type { EntryStep } from '../proof/entry/entry-step.ts'
import { type DocumentsShown, type VerifiedEntry, verifyEntry } from '../proof/entry/verify-entry.ts'
import { verifyLines } from '../proof/entry/verify-lines.ts'
import { verifyStatementLine, verifyStep } from '../proof/entry/verify-step.ts'
import type { ProofErrorCode } from '../proof/error.ts'
import type { KeyHint } from '../proof/ledger/key-hint.ts'
import { makeFindKey } from '../proof/offline/key-hints.ts'
import { STATEMENT } from '../proof/statement/kinds.ts'
import { type PackedSteps, packSteps } from './packed-steps.ts'
import { loadProviders } from './providers.ts'
import { verifyStatementColumns } from './statement-columns.ts'
import { verifyStoredBatch } from './verify-batch.ts'

/** Data that a thread needs before its first range. */
export type EntryContext = {
  readonly keys: readonly KeyHint[]
  readonly documents: DocumentsShown
  /** False if no range has rows. Then neither the database code nor its driver is loaded. Default: true. */
  readonly hasRows?: boolean
}

export type RangeTask = { readonly lines: Uint8Array; readonly rows: RangeRows | null }

export type RangeRows = {
  /** Lines of JSON (EntryColumns), one for each line of the range. */
  readonly columns: Uint8Array
  /** Contents of all chunks of batches, in the order of the lines. */
  readonly contents: Uint8Array
}

/** The entries before the first refused entry. `failure`: error of the refused entry; null if no entry was refused. */
export type RangeResult = {
  readonly packed: PackedSteps
  readonly failure: { readonly code: ProofErrorCode; readonly detail: string } | null
  /** CPU time of the thread for this range in ms; absent if Node does not report it (before Node 24). */
  readonly cpuMs?: number
}

/**
 * Returns a function that verifies each entry of a range separately. The function has no state: ranges may come in any
 * order, on any thread.
 */
export async function makeRangeVerifier(context: EntryContext): Promise<(task: RangeTask) => RangeResult> {
  const providers = await loadProviders()
  const findKey = makeFindKey(context.keys, providers)
  const tables = context.hasRows === false ? null : await import('../db/evidence/tables.ts')
  const verifyWithRows = (line: EntryLine, columns: EntryColumns, contents: Uint8Array): EntryStep => {
    if (line.kind === STATEMENT) {
      const step = verifyStatementLine(line, providers.sha256)
      verifyStatementColumns(step, columns)
      return step
    }
    const entry: VerifiedEntry =
      line.kind === 'batch-notarized'
        ? verifyStoredBatch(line, columns, contents, findKey, providers)
        : verifyEntry(line, findKey, providers, context.documents)
    tables!.verifyColumns(entry, columns, providers.sha256)
    return entry.step
  }
  return ({ lines, rows }) => {
    const read = rows && rowReader(rows)
    const { steps, failure } = verifyLines(lines, (line, index) =>
      read ? verifyWithRows(line, ...read(index)) : verifyStep(line, findKey, providers, context.documents),
    )
    return {
      packed: packSteps(steps),
      failure: failure && { code: failure.code, detail: failure.detail },
    }
  }
}

/**
 * Returns a function that takes the index of a line, and returns the line's columns and the contents of its chunks. The
 * returned function MUST be called for all lines in order.
 */
function rowReader({ columns, contents }: RangeRows): (index: number) => [EntryColumns, Uint8Array] {
  const lines = utf8Decode(columns).split('\n')
  let at = 0
  return (index) => {
    const of = JSON.parse(lines[index]!) as EntryColumns
    const start = at
    for (const { contentBytes } of of.chunks) at += contentBytes
    return [of, contents.subarray(start, at)]
  }
}
