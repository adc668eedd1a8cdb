import type { Erasure } from '../entry/erasures.ts'
import type { DocumentsShown } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import type { WitnessPolicy } from '../tree/cosignature.ts'
import type { LedgerVerifier } from './verify-ledger.ts'

export type LedgerFindings = {
  /** Id in the ledger's first entry; null if no entry was verified. */
  readonly ledger: string | null
  readonly entries: number
  readonly records: number
  /** Number of entries that agents signed with their own keys. The server signed the others. */
  readonly agentSigned: number
  /** Registered statements of other issuers. */
  readonly statements: number
  /** `withheld`: the source showed no documents, so they were not verified. */
  readonly documents: DocumentsShown
  /** Evidence that the envelope keys are the ledger's. */
  readonly keys: KeyTrust
  /** Kid of the key that signed the first entry, in hex. */
  readonly firstKid: string | null
  readonly checkpoint: CheckpointTrust
  /** Size of the largest checkpoint of that trust that the ledger extends. */
  readonly covered: number
  /** Size of the largest checkpoint of the ledger's own; 0: none. */
  readonly own: number
  /**
   * Whether that checkpoint reaches the ledger's end. It must cover each entry more than a minute older than the
   * newest one, and the gap behind it must be at most a minute.
   */
  readonly ownReachesEnd: boolean
  /**
   * Size of the largest checkpoint that enough of the given witnesses cosigned; 0: none. null: no witnesses were
   * given.
   */
  readonly witnessed: number | null
  /** Erasures in order. For a refused ledger, those before the fault. */
  readonly erasures: readonly Erasure[]
}

/**
 * Trust in the first entry's key.
 *
 * - `given`: the caller named it.
 * - `pinned`: it was seen with this ledger before.
 * - `self-asserted`: only the ledger claims it. A forged ledger of this id with other keys would not be noticed.
 */
export type KeyTrust = 'given' | 'pinned' | 'self-asserted'

/** `given`: stored by the caller. `own`: came with the ledger, and is no evidence against its operator. */
export type CheckpointTrust = 'given' | 'own' | 'none'

/** The caller's knowledge about the ledger's keys from elsewhere. */
export type LedgerTrust = {
  /** Trusted envelope keys by kid (hex). Each must be introduced by an entry of this ledger. */
  readonly kids?: readonly string[] | undefined
  /** First kids of ledgers that were seen before, by ledger id. */
  readonly pinned?: ReadonlyMap<string, string> | undefined
  readonly witnesses?: WitnessPolicy | undefined
}

export type LedgerSummary = LedgerVerifier['summary']

/**
 * Verifies what the caller and the source claim about the whole ledger against its chain. `said`: the ledger id that
 * the source claims.
 */
export function verifyTrust(
  { ledger, kids, firstKid }: LedgerSummary,
  claimedLedger: string,
  trust: LedgerTrust,
): void {
  if (ledger !== null && ledger !== claimedLedger) {
    throw new ProofError(
      'ledger_foreign',
      `the source says ${claimedLedger}, but the chain belongs to ${ledger}`,
    )
  }
  for (const kid of trust.kids ?? []) {
    if (!kids.has(kid)) throw new ProofError('trusted_key_absent', `no entry introduces the key ${kid}`)
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
  const { ledger, size, records, agentSigned, statements, firstKid, ownSize, ownReachesEnd } = summary
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
    ...checkpointTrust(summary),
    own: ownSize,
    ownReachesEnd,
    witnessed: trust.witnesses ? summary.witnessedSize : null,
    erasures,
  }
}

/**
 * Rotations lead only forwards, so only the first entry's key vouches for the whole chain. A later key never signed
 * what lies before it.
 */
function keyTrust(ledger: string | null, firstKid: string | null, trust: LedgerTrust): KeyTrust {
  if (ledger === null || firstKid === null) return 'self-asserted'
  if (trust.kids?.includes(firstKid)) return 'given'
  return trust.pinned?.get(ledger) === firstKid ? 'pinned' : 'self-asserted'
}

/** An outside checkpoint decides even if the ledger's own ones are larger: those bind nobody. */
function checkpointTrust({ outsideSize, ownSize }: LedgerSummary): {
  checkpoint: CheckpointTrust
  covered: number
} {
  if (outsideSize > 0) return { checkpoint: 'given', covered: outsideSize }
  return ownSize > 0 ? { checkpoint: 'own', covered: ownSize } : { checkpoint: 'none', covered: 0 }
}
