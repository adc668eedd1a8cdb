import type { EntryStep } from '../proof/entry/entry-step.ts'
import type { DocumentsShown } from '../proof/entry/verify-entry.ts'
import type { LedgerSummary } from '../proof/ledger/findings.ts'
import type { KeyHint } from '../proof/ledger/key-hint.ts'
import type { OnOffer } from '../proof/ledger/offers.ts'
import type { OnRemote, PeeringStanding } from '../proof/ledger/peers.ts'
import type { OnGated } from '../proof/ledger/records.ts'
import type { Frontier } from '../proof/tree/merkle.ts'
import type { PortionRows } from './verify-portion.ts'

/**
 * Source of a ledger for verification: an export (file, stdin, running server) or a database.
 *
 * A source MUST give every entry it has, in order of seq, and MUST NOT judge them: it is the suspect. It throws `SourceError`
 * if it cannot read on, and only then.
 */
export type LedgerSource = {
  /** For messages: a file name, a URL without secrets. */
  readonly name: string
  open(): Promise<OpenLedger>
}

export type OpenLedger = {
  /** The ledger id (`led_…`) that the source says it is about. The chain's first entry decides. */
  readonly ledger: string
  /**
   * Keys by which envelopes may be checked. Hints: a kid is the thumbprint of its key, so a false one is found,
   * and which kid may sign when is rebuilt from the chain.
   */
  readonly keys: readonly KeyHint[]
  /** How much there is, for progress only. `unit` is what `EntryPortion.progress` counts. */
  readonly total: number
  /** Whether starting threads (about 100 ms each) would take longer than they save. */
  readonly isSmall: boolean
  /** By default 'all'. A source that withholds them MUST say so in `notices`. */
  readonly documents?: DocumentsShown
  /** Remarks for the user, such as parts that could not be looked at. Read when all was verified. */
  readonly notices?: readonly string[]
  /** Throws ProofError where the source contradicts itself at the place that it has reached. */
  portions(): AsyncIterable<EntryPortion>
  /** Called as the ledger is verified, in order. */
  readonly observer?: LedgerObserver
  /** Whether portions have rows of a database beside their lines. Default: no. */
  readonly hasRows?: boolean
  close(): Promise<void>
}

/** Compares what a source holds beside its entries. */
type LedgerObserver = {
  /** Each perfect subtree of the Merkle tree, as it is completed. */
  node(level: number, index: number, hash: Uint8Array): void
  /** Each event of a gated record, with the record after it. Throws ProofError. */
  readonly gated: OnGated
  /** The same of records of other ledgers, as their events came. */
  readonly remote: OnRemote
  /** Each offer that was answered. Throws ProofError. */
  readonly offer: OnOffer
  /** Each erasure: when it was signed, and whether its document is still there. */
  erasure(atMs: number, isStored: boolean): void
  /** Each entry that was verified, with the tree after it. */
  appended(step: EntryStep, frontier: Frontier): void
  /** After the last. Throws ProofError. */
  finish(summary: LedgerSummary, peerings: Iterable<PeeringStanding>): Promise<void>
}

/** A stretch of entries, in order, as whole lines of an export (docs/formats/export.md). */
export type EntryPortion = {
  readonly lines: Uint8Array
  /** The ledger's own checkpoint notes that are compared when their size is reached; ascending. */
  readonly checkpoints: readonly string[]
  /** Rows of a database beside the lines, which are compared with the statements. */
  readonly rows: PortionRows | null
  /** Out of `OpenLedger.total`. */
  readonly progress: number
}

type SourceErrorKind = 'usage' | 'unavailable' | 'io' | 'denied' | 'not_a_ledger'

/** Reading failed: says nothing about the ledger's integrity. The message is for the user, without secrets. */
export class SourceError extends Error {
  readonly kind: SourceErrorKind

  constructor(kind: SourceErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SourceError'
    this.kind = kind
  }
}

/** Without user name, password and query: a URL may hold secrets. */
export function displayUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + (pathname === '/' ? '' : pathname)
}
