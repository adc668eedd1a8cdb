import { utf8Decode } from '../proof/bytes.ts'
import type { DocumentsShown, VerifiedEntry } from '../proof/entry/verify-entry.ts'
import { verifyLines } from '../proof/entry/verify-lines.ts'
import type { ProofErrorCode } from '../proof/error.ts'
import type { KeyHint } from '../proof/ledger/key-hint.ts'
import { makeFindKey } from '../proof/offline/key-hints.ts'
import { verifyColumns } from './columns.ts'
import type { EntryColumns } from './entry-columns.ts'
import { type PackedSteps, packSteps } from './packed-steps.ts'
import { loadProviders } from './providers.ts'

/** Facts that a thread needs before the first portion. */
export type EntryContext = { readonly keys: readonly KeyHint[]; readonly documents: DocumentsShown }

/** A stretch of whole lines; for a database `columns` has one more line of JSON for each. */
export type PortionTask = { readonly lines: Uint8Array; readonly columns: Uint8Array | null }

/** The entries up to the first that was refused, and why that one was. */
export type PortionResult = {
  readonly packed: PackedSteps
  readonly failure: { readonly code: ProofErrorCode; readonly detail: string } | null
  /** CPU that it took in a thread, where Node can say it (24). */
  readonly cpuMs?: number
}

/** Verifies entries each by itself. Stateless: portions may come in any order, on any thread. */
export async function makePortionVerifier(context: EntryContext): Promise<(task: PortionTask) => PortionResult> {
  const providers = await loadProviders()
  const findKey = makeFindKey(context.keys, providers)
  const { documents } = context
  return ({ lines, columns }) => {
    const columnLines = columns === null ? null : utf8Decode(columns).split('\n')
    const also = (entry: VerifiedEntry, index: number) => {
      if (columnLines === null) return
      verifyColumns(entry, JSON.parse(columnLines[index]!) as EntryColumns, providers.sha256)
    }
    const { steps, failure } = verifyLines(lines, { findKey, providers, documents, also })
    return {
      packed: packSteps(steps),
      failure: failure && { code: failure.code, detail: failure.detail },
    }
  }
}
