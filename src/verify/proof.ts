import { utf8Decode } from '../proof/bytes.ts'
import { ProofError } from '../proof/error.ts'
import type { CompromisedKeys } from '../proof/ledger/compromised-keys.ts'
import { parseConsistencyProof, parseEntryProof } from '../proof/offline/entry-proof.ts'
import { findingsOfProof, type ProofFindings } from '../proof/offline/proof-findings.ts'
import { verifyProof } from '../proof/offline/verify-proof.ts'
import { verifyRecord } from '../proof/offline/verify-record.ts'
import { quoted } from '../proof/quoted.ts'
import type { WitnessPolicy } from '../proof/tree/cosignature.ts'
import { loadProviders } from './providers.ts'

/** Contents of the files to verify, and facts that the user knows from other sources. */
type ProofInput = {
  readonly proof: Uint8Array
  readonly record: Uint8Array | null
  readonly consistency: Uint8Array | null
  readonly storedCheckpoints: readonly string[]
  readonly kids: readonly string[]
  readonly noteKey: string | null
  readonly compromised?: CompromisedKeys
  readonly witnesses?: WitnessPolicy | undefined
}

/** Findings about a proof, and the evidence for them (docs/reference/cli.md). */
export type ProofReport = ({ readonly ok: true } & ProofFindings) | ProofFailure

type ProofFailure = {
  readonly ok: false
  readonly code: string
  readonly reason: string
  readonly notices: readonly string[]
}

/** Verifies a proof. A fault of the proof becomes a finding and is not thrown. */
export async function checkProof(input: ProofInput): Promise<ProofReport> {
  const { notice, ...providers } = await loadProviders()
  const notices = notice === null ? [] : [notice]
  try {
    const proof = parseEntryProof(utf8Decode(input.proof))
    const { kids, noteKey, storedCheckpoints, compromised, witnesses } = input
    const consistency =
      input.consistency === null ? null : parseConsistencyProof(utf8Decode(input.consistency))
    const trust = { kids, noteKey, storedCheckpoints, consistency, compromised, witnesses }
    const verified = verifyProof(proof, trust, providers)
    if (input.record !== null) verifyRecord(utf8Decode(input.record), verified, providers)
    const findings = findingsOfProof(verified, input)
    return { ok: true, ...findings, notices: [...notices, ...findings.notices] }
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    return { ok: false, code: error.code, reason: error.detail, notices }
  }
}

/**
 * Applies `--strict`: a finding that rests only on the proof's own claims becomes a failure. With a witness policy, the
 * checkpoint needs enough cosignatures of these witnesses. The user then need not supply a checkpoint.
 */
export function applyStrictToProof(report: ProofReport, witnesses?: WitnessPolicy): ProofReport {
  if (!report.ok) return report
  const { notices } = report
  if (report.keys !== 'given') {
    const reason = `the key is ${report.keys}: name the trusted key with --key`
    return { ok: false, code: 'keys_not_given', reason, notices }
  }
  if (witnesses) {
    const { cosigned } = report
    if (cosigned! >= witnesses.min) return report
    const reason = `${cosigned} of the ${witnesses.witnesses.length} witnesses cosigned its checkpoint, but ${witnesses.min} are needed: get a proof with --cosignatures`
    return { ok: false, code: 'witnesses_too_few', reason, notices }
  }
  if (report.checkpoint !== 'given') {
    const reason = 'no checkpoint that covers the entry was given: store one, and name it with --checkpoint'
    return { ok: false, code: 'checkpoint_not_given', reason, notices }
  }
  return report
}

/** Returns the last line of the output (docs/reference/cli.md). Its format is stable, because scripts parse it. */
export function formatProofReport(report: ProofReport): string {
  if (!report.ok) return `PROOF_FAILED code=${report.code} reason=${quoted(report.reason)}`
  const { ledger, seq, kind, subject, recordedAt, keys, noteKey, checkpoint, covered, treeSize } = report
  const { record, signal, version, signedBy } = report
  const parts = [
    `ledger=${ledger}`,
    `entry=${seq}`,
    `kind=${kind}`,
    `subject=${subject}`,
    `recorded=${recordedAt}`,
    `keys=${keys}`,
    `note-key=${noteKey}`,
    `checkpoint=${checkpoint}`,
    `covered=${covered} of ${treeSize}`,
  ]
  if (signedBy === 'agent') parts.push('signed-by=agent')
  if (report.cosigned !== null) parts.push(`cosigned=${report.cosigned}`)
  if (report.unknownCosignatures) parts.push(`unknown-cosignatures=${report.unknownCosignatures}`)
  if (record === 'same') parts.push('record=same')
  if (signal !== null) parts.push(`signal=${signal.decision}`)
  if (version !== null) parts.push(`version=${version}`)
  return `PROOF_OK ${parts.join(' ')}`
}
