import { fromBase64, toHex, utf8Decode } from '../proof/bytes.ts'
import type { ProofProviders } from '../proof/crypto.ts'
import { parseEntryLine } from '../proof/entry-line.ts'
import type { EntryStep } from '../proof/entry-step.ts'
import { ProofError, type ProofErrorCode } from '../proof/error.ts'
import { keyThumbprint, type PublicKey, parsePublicKey } from '../proof/keys.ts'
import { type DocumentsShown, type FindKey, verifyEntry } from '../proof/verify-entry.ts'
import { verifyColumns } from './columns.ts'
import type { EntryColumns } from './entry-columns.ts'
import { type PackedSteps, packSteps } from './packed-steps.ts'
import { loadProviders } from './providers.ts'
import type { KeyHint } from './source.ts'

/** What a thread needs to know before the first chunk. */
export type EntryContext = { readonly keys: readonly KeyHint[]; readonly documents: DocumentsShown }

/** A stretch of whole lines; for a database `columns` has one more line of JSON for each. */
export type ChunkTask = { readonly lines: Uint8Array; readonly columns: Uint8Array | null }

/** The entries up to the first that was refused, and why that one was. */
export type ChunkResult = {
  readonly packed: PackedSteps
  readonly failure: { readonly code: ProofErrorCode; readonly detail: string } | null
}

/** Verifies entries each by itself. Stateless: chunks may come in any order, on any thread. */
export async function makeChunkVerifier(context: EntryContext): Promise<(task: ChunkTask) => ChunkResult> {
  const providers = await loadProviders()
  const findKey = makeFindKey(context.keys, providers)
  return ({ lines, columns }) => {
    const steps: EntryStep[] = []
    try {
      const columnLines = columns === null ? null : splitLines(columns)
      for (const [i, text] of splitLines(lines).entries()) {
        const line = parseEntryLine(text)
        const entry = verifyEntry(line, findKey, providers, context.documents)
        if (columnLines) verifyColumns(entry, JSON.parse(columnLines[i]!) as EntryColumns, providers.sha256)
        steps.push(entry.step)
      }
    } catch (error) {
      if (!(error instanceof ProofError)) throw error
      return { packed: packSteps(steps), failure: { code: error.code, detail: error.detail } }
    }
    return { packed: packSteps(steps), failure: null }
  }
}

/** Each line ends with a newline; there is no line in a chunk without one. */
function splitLines(bytes: Uint8Array): string[] {
  const lines = utf8Decode(bytes).split('\n')
  lines.pop()
  return lines
}

/** Keys as the source gives them: taken only under the kid that they have, so a wrong one finds nothing. */
function makeFindKey(hints: readonly KeyHint[], { sha256 }: ProofProviders): FindKey {
  const keys = new Map<string, PublicKey>()
  for (const { alg, spki } of hints) {
    const key = parseHint(alg, spki)
    if (key) keys.set(toHex(keyThumbprint(sha256, key)), key)
  }
  return (kid) => keys.get(kid) ?? null
}

function parseHint(alg: string, spki: string): PublicKey | null {
  if (alg !== 'EdDSA' && alg !== 'ES256') return null
  try {
    return parsePublicKey(alg, fromBase64(spki))
  } catch {
    return null
  }
}
