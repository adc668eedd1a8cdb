import type { DocumentsShown } from '../proof/verify-entry.ts'
import type { Erasure } from './erasures.ts'

/** What a verification found, and what the finding rests on (docs/cli.md). */
export type VerifyReport = Findings & Outcome

type Outcome =
  | { readonly ok: true; readonly failure: null }
  | { readonly ok: false; readonly failure: VerifyFailure }

export function outcomeOf(failure: VerifyFailure | null): Outcome {
  return failure === null ? { ok: true, failure } : { ok: false, failure }
}

type Findings = {
  readonly source: string
  /** As its first entry names it; null when not even that was read. */
  readonly ledger: string | null
  readonly entries: number
  readonly records: number
  /** `withheld`: the source showed none, so nothing is said about them. */
  readonly documents: DocumentsShown
  /** Whose word it is that the envelope keys are the ledger's. */
  readonly keys: KeyTrust
  /** The key that signed the first entry, hex. */
  readonly firstKid: string | null
  readonly checkpoint: CheckpointTrust
  /** Size of the largest checkpoint of that trust that the ledger was found to extend. */
  readonly covered: number
  /** In order. Of a ledger that was refused: those up to there. */
  readonly erasures: readonly Erasure[]
  readonly notices: readonly string[]
}

/**
 * `given`: the key of the first entry is one that the caller named. `pinned`: it is the one that was seen with this
 * ledger before. `self-asserted`: it is the ledger's own claim; whoever made another ledger of this id with other
 * keys would not be noticed.
 */
export type KeyTrust = 'given' | 'pinned' | 'self-asserted'

/** `given`: kept by the caller. `own`: came with the ledger; says nothing against its operator. */
export type CheckpointTrust = 'given' | 'own' | 'none'

/** `seq` is null where the finding is about the ledger as a whole. */
export type VerifyFailure = { readonly seq: number | null; readonly code: string; readonly reason: string }

/** The last line (docs/cli.md). Stable: scripts read it. */
export function formatReport(report: VerifyReport): string {
  const { failure } = report
  if (failure) {
    const at = failure.seq === null ? '' : `seq=${failure.seq} `
    return `INTEGRITY_FAILED ${at}code=${failure.code} reason=${JSON.stringify(failure.reason)}`
  }
  const parts = [
    `entries=${report.entries}`,
    `records=${report.records}`,
    `keys=${report.keys}`,
    `checkpoint=${report.checkpoint}`,
    `covered=${report.covered} of ${report.entries}`,
  ]
  if (report.erasures.length > 0) parts.push(`erased=${report.erasures.length}`)
  if (report.documents === 'withheld') parts.push('documents=withheld')
  return `INTEGRITY_OK ${parts.join(' ')}${report.entries === 0 ? ' (the ledger is empty)' : ''}`
}

/** What `--strict` asks for: throws away every finding that rests on the ledger's own word. */
export function strictFailure(report: VerifyReport): VerifyFailure | null {
  if (report.keys !== 'given') {
    return {
      seq: null,
      code: 'keys_not_given',
      reason: `the keys are ${report.keys}: name the first one with --key`,
    }
  }
  if (report.checkpoint !== 'given') {
    return {
      seq: null,
      code: 'checkpoint_not_given',
      reason: 'no checkpoint was given: keep one, and name it with --checkpoint',
    }
  }
  if (report.documents === 'withheld') {
    return {
      seq: null,
      code: 'documents_withheld',
      reason: 'no documents were shown: use an API key with the scope records:read',
    }
  }
  return null
}
