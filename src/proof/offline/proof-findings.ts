import type { JsonObject } from '../json/json-value.ts'
import { ENTRY_KINDS, type EntryKind } from '../statement/kinds.ts'
import type { VerifiedProof } from './verify-proof.ts'

export type ProofFindings = {
  readonly ledger: string
  readonly seq: number
  readonly kind: EntryKind
  readonly recordedAt: string
  /** Subject of the entry. If the proof is about an item of a batch, the item's record. */
  readonly subject: string
  /** Version of the gated record after the step. null if the entry is not a step of a gated record. */
  readonly version: number | null
  /**
   * Settlement signal of a verdict or of its overturning. null if the entry is neither. The settling party must act
   * only once for each record and version.
   */
  readonly signal: Signal | null
  readonly kid: string
  /** `agent` if the agent signed with its own key, which the server had registered. `server` if the server signed. */
  readonly signedBy: 'agent' | 'server'
  readonly treeSize: number
  readonly record: 'same' | 'not given'
  readonly keys: 'given' | 'self-asserted'
  readonly noteKey: 'given' | 'self-asserted'
  /**
   * `given` if a checkpoint that the caller stored covers the entry. `own` if only the proof's own checkpoint covers
   * the entry.
   */
  readonly checkpoint: 'given' | 'own'
  readonly covered: number
  /** Number of the caller's witnesses that cosigned the proof's checkpoint. null if the caller gave no witnesses. */
  readonly cosigned: number | null
  /**
   * Number of signature lines of the proof's checkpoint by unknown keys, which belong neither to the ledger nor to one
   * of the caller's witnesses. null if the caller gave no witnesses.
   */
  readonly unknownCosignatures: number | null
  /** Remarks for people about things that the findings do not show. */
  readonly notices: readonly string[]
}

export type Signal = {
  readonly decision: 'SETTLE' | 'HOLD' | 'RELEASE'
  readonly code: string
  readonly failingRules: readonly string[]
  readonly validUntil: string | null
}

type ProofInputs = {
  readonly kids: readonly string[]
  readonly noteKey: string | null
  readonly record: unknown
}

export function findingsOfProof(verified: VerifiedProof, inputs: ProofInputs): ProofFindings {
  const { statement, item, stored, checkpoint, seq, kid, signedBy, cosignatures } = verified
  const isCovered = stored !== null && stored.size > seq
  return {
    ledger: statement.ledger,
    seq,
    kind: statement.kind,
    recordedAt: statement.recordedAt,
    subject: item?.record ?? statement.subjects[0].name,
    version: gatedVersion(statement.kind, statement.predicate),
    signal: signalOf(statement.predicate),
    kid,
    signedBy,
    treeSize: checkpoint.size,
    record: inputs.record === null ? 'not given' : 'same',
    keys: inputs.kids.length > 0 ? 'given' : 'self-asserted',
    noteKey: inputs.noteKey === null ? 'self-asserted' : 'given',
    checkpoint: isCovered ? 'given' : 'own',
    covered: isCovered ? Math.min(stored.size, checkpoint.size) : checkpoint.size,
    cosigned: cosignatures?.cosigned ?? null,
    unknownCosignatures: cosignatures?.unknown ?? null,
    notices: stored === null || isCovered ? [] : [olderNotice(stored.size)],
  }
}

export function gatedVersion(kind: EntryKind, { version = null }: JsonObject): number | null {
  return ENTRY_KINDS[kind].movesRecord && kind !== 'record-notarized' ? (version as number | null) : null
}

/**
 * Returns the signal in a predicate, or null if the predicate has none. parseStatement has checked the signal's
 * members.
 */
export function signalOf({ signal = null }: JsonObject): Signal | null {
  return signal as Signal | null
}

function olderNotice(size: number): string {
  return (
    `the stored checkpoint of ${size} entries is older than the entry. The ledger extends it, ` +
    'but only the proof’s own checkpoint says that the ledger has this entry'
  )
}
