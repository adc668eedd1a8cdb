import type { Erasure } from '../entry/erasures.ts'
import type { DocumentsShown } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import type { WitnessPolicy } from '../tree/cosignature.ts'
import type { LedgerVerifier } from './verify-ledger.ts'

/** Findings of the verification of a ledger, and what they rest on. */
export type LedgerFindings = {
  /** As its first entry names it; null when not even that was read. */
  readonly ledger: string | null
  readonly entries: number
  readonly records: number
  /** How many entries agents signed with keys of their own; the server signed the others. */
  readonly agentSigned: number
  /** Registered statements of others. */
  readonly statements: number
  /** `withheld`: the source showed none, so nothing is said about them. */
  readonly documents: DocumentsShown
  /** Source that says that the envelope keys are the ledger's. */
  readonly keys: KeyTrust
  /** The key that signed the first entry, hex. */
  readonly firstKid: string | null
  readonly checkpoint: CheckpointTrust
  /** Size of the largest checkpoint of that trust that the ledger was found to extend. */
  readonly covered: number
  /** Size of the largest checkpoint of the ledger's own; 0: it brought none. */
  readonly own: number
  /** Whether that covers each entry that is more than a minute older than the newest one, and less than a minute lies behind it. */
  readonly ownReachesEnd: boolean
  /** Size of the largest checkpoint that as many of the given witnesses cosigned as were asked for; 0: of none. null: none were given. */
  readonly witnessed: number | null
  /** In order. For a ledger that was refused: those up to the fault. */
  readonly erasures: readonly Erasure[]
}

/**
 * `given`: the key of the first entry is one that the caller named. `pinned`: it is the one that was seen with this
 * ledger before. `self-asserted`: it is the ledger's own claim; the maker of another ledger of this id with other
 * keys would not be noticed.
 */
export type KeyTrust = 'given' | 'pinned' | 'self-asserted'

/** `given`: kept by the caller. `own`: came with the ledger; says nothing against its operator. */
export type CheckpointTrust = 'given' | 'own' | 'none'

/** Knowledge of the verifier about the ledger's keys from elsewhere. */
export type LedgerTrust = {
  /** Trusted envelope keys by kid (hex). Each must have signed in this ledger. */
  readonly kids?: readonly string[] | undefined
  /** Kids that were seen as a ledger's first before, by ledger id. */
  readonly pinned?: ReadonlyMap<string, string> | undefined
  readonly witnesses?: WitnessPolicy | undefined
}

export type LedgerSummary = LedgerVerifier['summary']

/** Verifies what caller and source (`said`: its ledger's id) say about the ledger as a whole against what its chain says. */
export function verifyTrust(
  { ledger, kids, firstKid }: LedgerSummary,
  said: string,
  trust: LedgerTrust,
): void {
  if (ledger !== null && ledger !== said) {
    throw new ProofError('ledger_foreign', `the source says ${said}, the chain is of ${ledger}`)
  }
  for (const kid of trust.kids ?? []) {
    if (!kids.has(kid)) throw new ProofError('trusted_key_absent', `no entry introduces the key ${kid}`)
  }
  const pinned = ledger === null ? undefined : trust.pinned?.get(ledger)
  if (pinned !== undefined && pinned !== firstKid) {
    throw new ProofError(
      'trusted_key_absent',
      `${ledger} began with the key ${pinned} when it was pinned, not ${firstKid}`,
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
 * A key is followed forwards through rotations, so only the first entry's key vouches for the whole chain: a later
 * one never signed what lies before it.
 */
function keyTrust(ledger: string | null, firstKid: string | null, trust: LedgerTrust): KeyTrust {
  if (ledger === null || firstKid === null) return 'self-asserted'
  if (trust.kids?.includes(firstKid)) return 'given'
  return trust.pinned?.get(ledger) === firstKid ? 'pinned' : 'self-asserted'
}

/** A kept checkpoint names the trust even where the ledger has larger ones of its own: those bind nobody. */
function checkpointTrust({ keptSize, ownSize }: LedgerSummary): {
  checkpoint: CheckpointTrust
  covered: number
} {
  if (keptSize > 0) return { checkpoint: 'given', covered: keptSize }
  return ownSize > 0 ? { checkpoint: 'own', covered: ownSize } : { checkpoint: 'none', covered: 0 }
}
