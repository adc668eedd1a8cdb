import type { Erasure } from '../entry/erasures.ts'
import type { DocumentsShown } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import type { WitnessPolicy } from '../tree/cosignature.ts'
import type { LedgerVerifier } from './verify-ledger.ts'

export type LedgerFindings = {
  /** Ledger id in the first entry. null if no entry was verified. */
  readonly ledger: string | null
  readonly entries: number
  readonly records: number
  /** Number of entries that agents signed with their own keys. The server signed the other entries. */
  readonly agentSigned: number
  /** Number of registered statements of other issuers. */
  readonly statements: number
  /** `withheld` if the source showed no documents. Then no documents were verified. */
  readonly documents: DocumentsShown
  /** How the caller knows that the envelope keys belong to the ledger. */
  readonly keys: KeyTrust
  /** Kid (hex) of the key that signed the first entry. null if no entry was verified. */
  readonly firstKid: string | null
  /** Kids (hex) of the ledger's own envelope keys, in the order of the chain. The last one signs now. */
  readonly kids: readonly string[]
  readonly checkpoint: CheckpointTrust
  /**
   * Size of the largest checkpoint that agrees with the ledger. If `checkpoint` is `given`, only stored checkpoints
   * count. 0 if there is no checkpoint.
   */
  readonly covered: number
  /** Size of the largest checkpoint that came with the ledger. 0 if there is none. */
  readonly own: number
  /**
   * True if the ledger's own checkpoint reaches the ledger's end. For this, two conditions must be true:
   *
   * - The checkpoint covers all entries that are more than a minute older than the newest entry.
   * - At most a minute lies between the last covered entry and the next entry.
   */
  readonly ownReachesEnd: boolean
  /**
   * Size of the largest checkpoint that enough of the given witnesses cosigned. 0 if there is none, null if no
   * witnesses were given.
   */
  readonly witnessed: number | null
  /** Erasures in order. If the ledger was refused, only the erasures before the fault. */
  readonly erasures: readonly Erasure[]
}

/**
 * Reason why the first entry's key is trusted.
 *
 * - `given`: the caller named the key.
 * - `pinned`: the key was seen with this ledger before.
 * - `self-asserted`: only the ledger itself claims the key. A forged ledger with this id and other keys would not be
 *   noticed.
 */
export type KeyTrust = 'given' | 'pinned' | 'self-asserted'

/**
 * Origin of the checkpoint that covers the entries.
 *
 * - `given`: the caller stored the checkpoint.
 * - `own`: the checkpoint came with the ledger, so it is no evidence against the ledger's operator.
 * - `none`: there is no checkpoint.
 */
export type CheckpointTrust = 'given' | 'own' | 'none'

/** Facts that the caller knows about the ledger's keys from another source. */
export type LedgerTrust = {
  /** Kids (hex) of trusted envelope keys. The ledger's entries must introduce each of them. */
  readonly kids?: readonly string[] | undefined
  /** Maps the id of a ledger that was seen before to its first kid. */
  readonly pinned?: ReadonlyMap<string, string> | undefined
  readonly witnesses?: WitnessPolicy | undefined
}

export type LedgerSummary = LedgerVerifier['summary']

/** Verifies that the ledger's chain agrees with what the caller knows and with the ledger id that the source claims. */
export function verifyTrust(
  { ledger, kids, firstKid }: LedgerSummary,
  claimedLedger: string,
  trust: LedgerTrust,
): void {
  if (ledger !== null && ledger !== claimedLedger) {
    throw new ProofError(
      'ledger_foreign',
      `the source names the ledger ${claimedLedger}, but the chain belongs to ${ledger}`,
    )
  }
  for (const kid of trust.kids ?? []) {
    if (!kids.has(kid))
      throw new ProofError('trusted_key_absent', `no entry introduces the key ${kid}, which was given`)
  }
  const pinned = ledger === null ? undefined : trust.pinned?.get(ledger)
  if (pinned !== undefined && pinned !== firstKid) {
    throw new ProofError(
      'trusted_key_absent',
      `${ledger} had the first key ${pinned} when it was pinned, and now has ${firstKid}`,
    )
  }
}

export function findingsOf(
  summary: LedgerSummary,
  trust: LedgerTrust,
  read: { readonly documents: DocumentsShown; readonly erasures: readonly Erasure[] },
): LedgerFindings {
  const { ledger, size, records, agentSigned, statements, firstKid, kids, ownSize, ownReachesEnd } = summary
  const { documents, erasures } = read
  return {
    ledger,
    entries: size,
    records,
    agentSigned,
    statements,
    documents,
    keys: keyTrust(ledger, firstKid, trust),
    firstKid,
    kids: [...kids],
    ...checkpointTrust(summary),
    own: ownSize,
    ownReachesEnd,
    witnessed: trust.witnesses ? summary.witnessedSize : null,
    erasures,
  }
}

/**
 * Returns the trust in the first entry's key. Only this key vouches for the whole chain, because a key from a later
 * rotation did not sign the entries before that rotation.
 */
function keyTrust(ledger: string | null, firstKid: string | null, trust: LedgerTrust): KeyTrust {
  if (ledger === null || firstKid === null) return 'self-asserted'
  if (trust.kids?.includes(firstKid)) return 'given'
  return trust.pinned?.get(ledger) === firstKid ? 'pinned' : 'self-asserted'
}

/**
 * Returns the checkpoint that covers the entries. A checkpoint from outside is preferred even if the ledger's own
 * checkpoints are larger, because the operator can replace the ledger's own checkpoints.
 */
function checkpointTrust({ outsideSize, ownSize }: LedgerSummary): {
  checkpoint: CheckpointTrust
  covered: number
} {
  if (outsideSize > 0) return { checkpoint: 'given', covered: outsideSize }
  return ownSize > 0 ? { checkpoint: 'own', covered: ownSize } : { checkpoint: 'none', covered: 0 }
}
