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
 * Source of a ledger for verification: an export (from a file, stdin or a running server) or a database.
 *
 * A source MUST return all its entries, in order of seq. A source MUST NOT judge the entries, because the source is
 * what is verified. It throws `SourceError` only if it cannot continue to read.
 */
export type LedgerSource = {
  /** Name for messages: a file name, or a URL without secrets. */
  readonly name: string
  open(): Promise<OpenLedger>
}

export type OpenLedger = {
  /**
   * Id of the ledger (`led_…`) that the source claims to have. Only the chain's first entry proves which ledger it is.
   */
  readonly ledger: string
  /**
   * Envelope keys. They need not be trusted. A kid is the thumbprint of its key, so a false key is detected. The chain
   * determines which kid may sign when.
   */
  readonly keys: readonly KeyHint[]
  /** Sum of the `progress` of all ranges. Used only to show progress. */
  readonly total: number
  /** True if the ledger is so small that starting threads (about 100 ms each) would take longer than they save. */
  readonly isSmall: boolean
  /**
   * Says which documents the source has. Default: 'all'. A source that withholds documents MUST say so in `notices`.
   */
  readonly documents?: DocumentsShown
  /**
   * Notices for the user, for example about content that could not be verified. They are read after the verification.
   */
  readonly notices?: readonly string[]
  /** Yields the entries. Throws ProofError if the source contradicts itself at its current position. */
  ranges(): AsyncIterable<EntryRange>
  /** Receives the results of the verification in order, while the ledger is verified. */
  readonly observer?: LedgerObserver
  /** True if ranges have database rows. Default: false. */
  readonly hasRows?: boolean
  close(): Promise<void>
}

/** Compares further content of a source with the verified entries. */
type LedgerObserver = {
  /** Called for each perfect subtree of the Merkle tree when it is complete. */
  node(level: number, index: number, hash: Uint8Array): void
  /** Called for each event of a gated record, with the state after the event. Throws ProofError. */
  readonly gated: OnGated
  /** Called for each received event of another ledger's record, with the state after the event. Throws ProofError. */
  readonly remote: OnRemote
  /** Called for each answered offer. Throws ProofError. */
  readonly offer: OnOffer
  /** Called for each erasure, with its time. `isStored`: true if the document is still stored. */
  erasure(atMs: number, isStored: boolean): void
  /** Called for each verified entry, with the tree's frontier after the entry. */
  appended(step: EntryStep, frontier: Frontier): void
  /** Called after the last entry. Throws ProofError. */
  finish(summary: LedgerSummary, peerings: Iterable<PeeringState>): Promise<void>
}

/** A range of consecutive entries, as whole lines of an export (docs/formats/export.md). */
export type EntryRange = {
  readonly lines: Uint8Array
  /**
   * The ledger's own checkpoint notes, ascending by size. Each note is compared when the verification reaches its size.
   */
  readonly checkpoints: readonly string[]
  /** Database rows that are compared with the statements; null if the source has none. */
  readonly rows: RangeRows | null
  /** Part of `OpenLedger.total` that is done after this range. */
  readonly progress: number
}

type SourceErrorKind = 'usage' | 'unavailable' | 'io' | 'denied' | 'not_a_ledger'

/**
 * Thrown if reading failed. Such an error does not prove a fault of the ledger. The message is for the user and
 * contains no secrets.
 */
export class SourceError extends Error {
  readonly kind: SourceErrorKind

  constructor(kind: SourceErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SourceError'
    this.kind = kind
  }
}

/** Returns a URL without user name, password and query, because these may be secret. */
export function displayUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + (pathname === '/' ? '' : pathname)
}
