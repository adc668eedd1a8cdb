import { parseConsistencyProof, parseEntryProof } from '../proof/entry-proof.ts'
import { ProofError } from '../proof/error.ts'
import { type VerifiedProof, verifyProof } from '../proof/verify-proof.ts'
import { verifyRecord } from '../proof/verify-record.ts'
import { loadProviders } from './providers.ts'

/** Texts of files, and what the user knows from elsewhere. */
export type ProofInput = {
  readonly proof: string
  readonly record: string | null
  readonly consistency: string | null
  readonly keptCheckpoints: readonly string[]
  readonly kids: readonly string[]
  readonly noteKey: string | null
}

/** What was found, and what the finding rests on (docs/cli.md). */
export type ProofReport = ProofFindings | ProofFailure

export type ProofFindings = {
  readonly ok: true
  readonly ledger: string
  readonly seq: number
  readonly kind: string
  readonly recordedAt: string
  /** What the entry is about; of an item's proof the record. */
  readonly subject: string
  readonly kid: string
  /** Size of the proof's checkpoint. */
  readonly treeSize: number
  readonly record: 'same' | 'not given'
  readonly keys: 'given' | 'self-asserted'
  readonly noteKey: 'given' | 'self-asserted'
  /** `given`: one that the caller kept covers the entry. `own`: only the proof's does. */
  readonly checkpoint: 'given' | 'own'
  /** Size of that checkpoint. */
  readonly covered: number
  readonly notices: readonly string[]
}

type ProofFailure = {
  readonly ok: false
  readonly code: string
  readonly reason: string
  readonly notices: readonly string[]
}

/** Whether the proof holds; whatever is wrong with it is a finding, not an error. */
export async function checkProof(input: ProofInput): Promise<ProofReport> {
  const { notice, ...providers } = await loadProviders()
  const notices = notice === null ? [] : [notice]
  try {
    const proof = parseEntryProof(input.proof)
    const { kids, noteKey, keptCheckpoints } = input
    const consistency = input.consistency === null ? null : parseConsistencyProof(input.consistency)
    const verified = verifyProof(proof, { kids, noteKey, keptCheckpoints, consistency }, providers)
    if (input.record !== null) verifyRecord(input.record, verified, providers)
    return findingsOf(verified, input, notices)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    return { ok: false, code: error.code, reason: error.detail, notices }
  }
}

function findingsOf(verified: VerifiedProof, input: ProofInput, notices: readonly string[]): ProofFindings {
  const { statement, item, kept, checkpoint, seq, kid } = verified
  const isCovered = kept !== null && kept.size > seq
  const older =
    kept === null || isCovered
      ? []
      : [
          `the kept checkpoint of ${kept.size} entries is older than the entry: the ledger extends it, ` +
            'but that it holds this entry is the word of the proof’s own checkpoint',
        ]
  return {
    ok: true,
    ledger: statement.ledger,
    seq,
    kind: statement.kind,
    recordedAt: statement.recordedAt,
    subject: item?.record ?? statement.subjects[0].name,
    kid,
    treeSize: checkpoint.size,
    record: input.record === null ? 'not given' : 'same',
    keys: input.kids.length > 0 ? 'given' : 'self-asserted',
    noteKey: input.noteKey === null ? 'self-asserted' : 'given',
    checkpoint: isCovered ? 'given' : 'own',
    covered: isCovered ? kept.size : checkpoint.size,
    notices: [...notices, ...older],
  }
}

/** What `--strict` asks for: throws away every finding that rests on the proof's own word. */
export function strictly(report: ProofReport): ProofReport {
  if (!report.ok) return report
  const { notices } = report
  if (report.keys !== 'given') {
    const reason = `the key is ${report.keys}: name it with --key`
    return { ok: false, code: 'keys_not_given', reason, notices }
  }
  if (report.checkpoint !== 'given') {
    const reason = 'no checkpoint that covers the entry was given: keep one, and name it with --checkpoint'
    return { ok: false, code: 'checkpoint_not_given', reason, notices }
  }
  return report
}

/** The last line (docs/cli.md). Stable: scripts read it. */
export function formatProofReport(report: ProofReport): string {
  if (!report.ok) return `PROOF_FAILED code=${report.code} reason=${JSON.stringify(report.reason)}`
  const { ledger, seq, kind, subject, recordedAt, keys, noteKey, checkpoint, covered, treeSize } = report
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
  if (report.record === 'same') parts.push('record=same')
  return `PROOF_OK ${parts.join(' ')}`
}
