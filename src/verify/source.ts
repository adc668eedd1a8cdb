import type { EntryStep } from '../proof/entry/entry-step.ts'
import type { DocumentsShown } from '../proof/entry/verify-entry.ts'
import type { LedgerSummary } from '../proof/ledger/findings.ts'
import type { KeyHint } from '../proof/ledger/key-hint.ts'
import type { OnOffer } from '../proof/ledger/offers.ts'
import type { OnRemote, PeeringState } from '../proof/ledger/peers.ts'
import type { OnGated } from '../proof/ledger/records.ts'
import type { Frontier } from '../proof/tree/merkle.ts'
import type { RangeRows } from './verify-range.ts'

/**
 * Source of a ledger for verification: an export (file, stdin, running server) or a database.
 *
 * A source MUST return every entry it has, in order of seq, and MUST NOT judge them, because the source is what is
 * verified. It throws `SourceError` only if it cannot read on.
 */
export type LedgerSource = {
  /** For messages: a file name, or a URL without secrets. */
  readonly name: string
  open(): Promise<OpenLedger>
}

export type OpenLedger = {
  /** The ledger id (`led_…`) that the source claims. The chain's first entry decides. */
  readonly ledger: string
  /**
   * Envelope keys. Hints: a kid is its key's thumbprint, so a false key is detected. Which kid may sign when is
   * rebuilt from the chain.
   */
  readonly keys: readonly KeyHint[]
  /** Total of `EntryRange.progress`, for progress only. */
  readonly total: number
  /** Whether starting threads (about 100 ms each) would take longer than they save. */
  readonly isSmall: boolean
  /** Default: 'all'. A source that withholds documents MUST say so in `notices`. */
  readonly documents?: DocumentsShown
  /** Notices for the user, such as content that could not be verified. Read after the verification. */
  readonly notices?: readonly string[]
  /** Throws ProofError if the source contradicts itself at its current position. */
  ranges(): AsyncIterable<EntryRange>
  /** Called in order, while the ledger is verified. */
  readonly observer?: LedgerObserver
  /** Whether ranges have database rows. Default: false. */
  readonly hasRows?: boolean
  close(): Promise<void>
}

/** Compares what a source has besides entries. */
type LedgerObserver = {
  /** Called for each perfect subtree of the Merkle tree when it is complete. */
  node(level: number, index: number, hash: Uint8Array): void
  /** Called for each event of a gated record, with the state after it. Throws ProofError. */
  readonly gated: OnGated
  /** Called for each received event of another ledger's record, with the state after it. Throws ProofError. */
  readonly remote: OnRemote
  /** Called for each answered offer. Throws ProofError. */
  readonly offer: OnOffer
  /** Called for each erasure, with its time and whether the document is still stored. */
  erasure(atMs: number, isStored: boolean): void
  /** Called for each verified entry, with the tree after it. */
  appended(step: EntryStep, frontier: Frontier): void
  /** Called after the last entry. Throws ProofError. */
  finish(summary: LedgerSummary, peerings: Iterable<PeeringState>): Promise<void>
}

/** A range of entries, in order, as whole lines of an export (docs/formats/export.md). */
export type EntryRange = {
  readonly lines: Uint8Array
  /** The ledger's own checkpoint notes, ascending. Each is compared when its size is reached. */
  readonly checkpoints: readonly string[]
  /** Database rows, which are compared with the statements. */
  readonly rows: RangeRows | null
  /** Part of `OpenLedger.total`. */
  readonly progress: number
}

type SourceErrorKind = 'usage' | 'unavailable' | 'io' | 'denied' | 'not_a_ledger'

/** Reading failed, which says nothing about the ledger's integrity. The message is for the user and has no secrets. */
export class SourceError extends Error {
  readonly kind: SourceErrorKind

  constructor(kind: SourceErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SourceError'
    this.kind = kind
  }
}

/** Returns a URL without user name, password and query, which may be secret. */
export function displayUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + (pathname === '/' ? '' : pathname)
}
