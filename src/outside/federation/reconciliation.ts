import type pg from 'pg'
import {
  countExchange,
  type ExchangeCounts,
  findLeavesOfVersions,
  findPeerSummary,
  listSharedRecordStates,
  type SharedRecordState,
  wantPeerSummary,
} from '../../db/peers/peer-reconciliation.ts'
import type { PeerState } from '../../db/peers/peers.ts'
import { ApiError } from '../../errors.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'
import { countForksOf } from './forks.ts'
import { PEER_DIFFERENCES_SHOWN_MAX, PEER_SUMMARY_PAGES_MAX, PEER_SUMMARY_RECORDS_MAX } from './limits.ts'
import { getPeer } from './peerings.ts'
import type { SummaryRecord } from './summary.ts'

/*
 * The functions below compare what this server and a peer have stored. They use the entries exchanged here and the
 * peer's last summary. Neither is proof. For proof, compare two exports (src/proof/federation/reconcile.ts).
 */

type ReconcileDeps = { readonly readPool: pg.Pool; readonly peerMacs: PeerMacs }
type PeeringKey = { readonly ledgerId: Uuid; readonly peerId: Uuid }
type ExchangeTotals = ExchangeCounts & { readonly forks: number }
type StoredVersion = Pick<SummaryRecord, 'version' | 'leaf'>

/**
 * Kinds of differences between both sides of a record.
 *
 * - `leaf`: both sides have the version, with different entries. This is a fault.
 * - `unknown`: the peer has a version of our record that our chain lacks. This is a fault.
 * - `theirs_behind`, `ours_behind`: one side has fewer versions. The missing versions were on their way at the time of
 *   the summary.
 */
export const DIFFERENCES = ['leaf', 'unknown', 'theirs_behind', 'ours_behind'] as const
type DifferenceKind = (typeof DIFFERENCES)[number]

const FAULTS: ReadonlySet<DifferenceKind> = new Set(['leaf', 'unknown'])

type RecordDifference = {
  readonly record: string
  readonly difference: DifferenceKind
  /** Side whose ledger is the record's home. null if only the peer has named the record. */
  readonly home: 'ours' | 'theirs' | null
  readonly ours: StoredVersion | null
  readonly theirs: StoredVersion | null
}

export const UNRECONCILED = [
  'not_asked',
  'summary_incomplete',
  'records_differ',
  'dead_letters',
  'forks',
] as const
type Unreconciled = (typeof UNRECONCILED)[number]

export type PeerReconciliation = {
  readonly peer: string
  readonly state: PeerState
  readonly reasons: readonly Unreconciled[]
  readonly counts: ExchangeTotals
  readonly summary: {
    readonly at: Date
    readonly isWhole: boolean
    readonly records: number
    /** Differing records, faults first. Contains at most PEER_DIFFERENCES_SHOWN_MAX records. */
    readonly differences: readonly RecordDifference[]
    readonly faults: number
    readonly behind: number
  } | null
  readonly isRequested: boolean
}

/** Compares both sides of a peering. Throws `not_found`. */
export async function reconcilePeer(deps: ReconcileDeps, of: PeeringKey): Promise<PeerReconciliation> {
  const peer = await getPeer(deps, of, of.peerId)
  const forks = await countForksOf(deps, of, peer)
  const counts = { ...(await countExchange(deps.readPool, of)), forks }
  const row = await findPeerSummary(deps.readPool, of)
  const summary =
    row?.summary == null
      ? null
      : { at: row.summaryAt!, ...(await compareSummary(deps.readPool, of, row.summary)) }
  return {
    peer: formatId('peer', of.peerId),
    state: peer.state,
    reasons: reasonsOf(counts, summary),
    counts,
    summary,
    isRequested: row?.isAsked ?? false,
  }
}

/** Requests a new summary of the peer. The worker fetches the summary later. Throws `not_found` or `state_conflict`. */
export async function requestSummary(deps: ReconcileDeps, of: PeeringKey): Promise<PeerReconciliation> {
  const { state } = await getPeer(deps, of, of.peerId)
  if (state !== 'active')
    throw new ApiError('state_conflict', `the peering is ${state}: no reconciliation can be requested`)
  await wantPeerSummary(deps.readPool, of)
  return reconcilePeer(deps, of)
}

function reasonsOf(
  { deadLetters, forks }: ExchangeTotals,
  summary: { readonly isWhole: boolean; readonly faults: number } | null,
): Unreconciled[] {
  const found: Readonly<Record<Unreconciled, boolean>> = {
    not_asked: summary === null,
    summary_incomplete: summary?.isWhole === false,
    records_differ: (summary?.faults ?? 0) > 0,
    dead_letters: deadLetters > 0,
    forks: forks > 0,
  }
  return UNRECONCILED.filter((reason) => found[reason])
}

type StoredSummary = {
  readonly whole: boolean
  readonly records: readonly (readonly [string, number, string])[]
}

/**
 * Compares all records with the peer's summary. Reads our records page by page, because there may be a hundred thousand
 * of them.
 */
async function compareSummary(db: pg.Pool, of: PeeringKey, text: string) {
  const { whole, records } = JSON.parse(text) as StoredSummary
  const theirs = new Map(records.map(([record, version, leaf]) => [record, { version, leaf }]))
  const last = whole ? null : records.at(-1)![0]
  const found: RecordDifference[] = []
  let after: Uuid | null = null
  for (let page = 0; page < PEER_SUMMARY_PAGES_MAX; page++) {
    const held = await listSharedRecordStates(db, of, { after, limit: PEER_SUMMARY_RECORDS_MAX })
    // An incomplete summary ends at `last`, so later records are not compared. Ids as text sort like ids as bytes.
    const named = held.filter(({ recordId }) => last === null || formatId('rec', recordId) <= last)
    found.push(...(await comparePage(db, of, named, theirs)))
    if (held.length < PEER_SUMMARY_RECORDS_MAX || named.length < held.length) break
    after = held.at(-1)!.recordId
  }
  for (const [record, held] of theirs)
    found.push({ record, difference: 'ours_behind', home: null, ours: null, theirs: held })
  const faults = found.filter(({ difference }) => FAULTS.has(difference))
  const behind = found.filter(({ difference }) => !FAULTS.has(difference))
  return {
    isWhole: whole,
    records: records.length,
    differences: [...faults, ...behind].slice(0, PEER_DIFFERENCES_SHOWN_MAX),
    faults: faults.length,
    behind: behind.length,
  }
}

/** Compares one page of our records. Removes the compared records from `theirs`. */
async function comparePage(
  db: pg.Pool,
  of: PeeringKey,
  ours: readonly SharedRecordState[],
  theirs: Map<string, StoredVersion>,
): Promise<RecordDifference[]> {
  const pairs = ours.map(({ recordId, isOwn, version, leaf }) => {
    const record = formatId('rec', recordId)
    const said = theirs.get(record) ?? null
    theirs.delete(record)
    return { record, recordId, isOwn, ours: { version, leaf: leaf.toString('hex') }, theirs: said }
  })
  const older = pairs.flatMap(({ recordId, isOwn, ours, theirs }) =>
    theirs !== null && theirs.version < ours.version ? [{ recordId, isOwn, version: theirs.version }] : [],
  )
  const leaves = older.length === 0 ? [] : await findLeavesOfVersions(db, of, older)
  let at = 0
  return pairs.flatMap(({ record, isOwn, ours, theirs }) => {
    const isOlder = theirs !== null && theirs.version < ours.version
    const before = isOlder ? leaves[at++]! : null
    const home = isOwn ? ('ours' as const) : ('theirs' as const)
    const difference = compareVersions(home, ours, theirs, before)
    return difference === null ? [] : [{ record, difference, home, ours, theirs }]
  })
}

/**
 * Compares one record. Returns null if both sides are equal. `before`: if the peer's version is lower than ours, our
 * leaf hash of that lower version; otherwise null.
 */
export function compareVersions(
  home: 'ours' | 'theirs',
  ours: StoredVersion,
  theirs: StoredVersion | null,
  before: string | null,
): DifferenceKind | null {
  if (theirs === null) return 'theirs_behind'
  if (theirs.version < ours.version) return before === theirs.leaf ? 'theirs_behind' : 'leaf'
  if (theirs.version > ours.version) return home === 'ours' ? 'unknown' : 'ours_behind'
  return theirs.leaf === ours.leaf ? null : 'leaf'
}
