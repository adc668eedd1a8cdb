import type { LedgerFindings } from '../proof/ledger/findings.ts'
import { quoted } from '../proof/quoted.ts'

/** Findings of a verification, and the evidence for them (docs/reference/cli.md). */
export type VerifyReport = Findings & Outcome

type Outcome =
  | { readonly ok: true; readonly failure: null }
  | { readonly ok: false; readonly failure: VerifyFailure }

export function outcomeOf(failure: VerifyFailure | null): Outcome {
  return failure === null ? { ok: true, failure } : { ok: false, failure }
}

type Findings = LedgerFindings & { readonly source: string; readonly notices: readonly string[] }

/** A finding that makes the verification fail. `seq` is null if the finding concerns the whole ledger. */
export type VerifyFailure = { readonly seq: number | null; readonly code: string; readonly reason: string }

/** Returns the last line of the output (docs/reference/cli.md). Its format is stable, because scripts parse it. */
export function formatReport(report: VerifyReport): string {
  const { failure } = report
  if (failure) {
    const at = failure.seq === null ? '' : `seq=${failure.seq} `
    return `INTEGRITY_FAILED ${at}code=${failure.code} reason=${quoted(failure.reason)}`
  }
  const parts = [
    `entries=${report.entries}`,
    `records=${report.records}`,
    `keys=${report.keys}`,
    `checkpoint=${report.checkpoint}`,
    `covered=${report.covered}`,
    `own=${report.own} of ${report.entries}`,
  ]
  if (report.witnessed !== null) parts.push(`witnessed=${report.witnessed} of ${report.entries}`)
  if (report.agentSigned > 0) parts.push(`agent-signed=${report.agentSigned}`)
  if (report.erasures.length > 0) parts.push(`erased=${report.erasures.length}`)
  if (report.documents === 'withheld') parts.push('documents=withheld')
  return `INTEGRITY_OK ${parts.join(' ')}${report.entries === 0 ? ' (the ledger is empty)' : ''}`
}

/**
 * Applies `--strict`: a finding that rests only on the ledger's own claims becomes a failure. With a witness policy, a
 * checkpoint needs enough cosignatures of these witnesses. The user then need not supply a checkpoint.
 */
export function applyStrict(report: VerifyReport): VerifyReport {
  return { ...report, ...outcomeOf(report.failure ?? strictFailure(report)) }
}

function strictFailure(report: VerifyReport): VerifyFailure | null {
  if (report.keys !== 'given') {
    return {
      seq: null,
      code: 'keys_not_given',
      reason: `the keys are ${report.keys}: name the trusted first key with --key`,
    }
  }
  if (report.witnessed === 0) {
    return {
      seq: null,
      code: 'witnesses_too_few',
      reason:
        'no checkpoint has enough cosignatures of the witnesses: name one that has with --checkpoint ' +
        '(`tallystick checkpoints watch --witness` stores them), or verify again when the newest one has',
    }
  }
  if (report.witnessed === null && report.checkpoint !== 'given') {
    return {
      seq: null,
      code: 'checkpoint_not_given',
      reason: 'no checkpoint was given: store one, and name it with --checkpoint',
    }
  }
  if (!report.ownReachesEnd) {
    return {
      seq: null,
      code: 'checkpoint_missing_tail',
      reason:
        `the ledger's own checkpoint covers ${report.own} of ${report.entries} entries, and the entries after it are more than a minute ` +
        'older than the newest one, or earlier than entries that it covers: entries could have been removed there. Verify again when it has a newer checkpoint',
    }
  }
  if (report.documents === 'withheld') {
    return {
      seq: null,
      code: 'documents_withheld',
      reason: 'documents were not checked: use an API key with the scope records:read',
    }
  }
  return null
}
