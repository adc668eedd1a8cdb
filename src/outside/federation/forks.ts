import type { Db } from '../../db/connect/client.ts'
import { type ForkedPeer, type ForkRow, listForkedPeers, listPeerForks } from '../../db/peers/peer-forks.ts'
import type { PeerContact, PeerRow } from '../../db/peers/peers.ts'
import { Slice } from '../../load/slice.ts'
import { toBase64 } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'
import { PEER_FORKS_COUNTED_MAX } from './limits.ts'
import { findBelievedContact } from './peer-keys.ts'
import { EntryRefused, verifyProposed } from './proposed.ts'

/*
 * Entries by which a peer contradicts itself. A row is no evidence, and accuses nobody: a row is verified when it is
 * shown or counted, under the key with which the peer signed at that place.
 */

export type ForkDeps = { readonly peerMacs: PeerMacs }

/** As listPeerForks, without what the peer has not signed: `after` goes on from the last one that was read. */
export async function readForks(
  deps: ForkDeps,
  db: Db,
  of: ForkedPeer,
  page: { readonly after: string; readonly limit: number },
): Promise<{ readonly forks: readonly ForkRow[]; readonly after: string | null }> {
  const rows = await listPeerForks(db, of, page)
  const last = rows.length < page.limit ? null : rows.at(-1)!.leaf
  const contact = rows.length === 0 ? null : await findBelievedContact(deps, db, of)
  if (contact === null) return { forks: [], after: last }
  const forks: ForkRow[] = []
  const slice = new Slice()
  for (const row of rows) {
    if (slice.isOver) await slice.next()
    if (isSigned(of, contact, row)) forks.push(row)
  }
  return { forks, after: last }
}

/** Counted to PEER_FORKS_COUNTED_MAX. */
async function countForks(deps: ForkDeps, db: Db, of: ForkedPeer): Promise<number> {
  let count = 0
  for (let after: string | null = ''; after !== null && count < PEER_FORKS_COUNTED_MAX; ) {
    const page = await readForks(deps, db, of, { after, limit: PEER_FORKS_COUNTED_MAX })
    count += page.forks.length
    after = page.after
  }
  return Math.min(count, PEER_FORKS_COUNTED_MAX)
}

/** Number of forks of a peering. Most have no rows, and then the database is not asked. */
export async function countForksOf(
  deps: ForkDeps & { readonly readPool: Db },
  { ledgerId }: Pick<ForkedPeer, 'ledgerId'>,
  { peerId, remoteLedgerId, mayHaveForks }: PeerRow,
): Promise<number> {
  if (!mayHaveForks || remoteLedgerId === null) return 0
  return countForks(deps, deps.readPool, { ledgerId, peerId, remoteLedgerId })
}

/** The same of all peerings that live, together. */
export async function countAllForks(deps: ForkDeps, db: Db): Promise<number> {
  let count = 0
  for (const peer of await listForkedPeers(db, PEER_FORKS_COUNTED_MAX)) {
    count += await countForks(deps, db, peer)
    if (count >= PEER_FORKS_COUNTED_MAX) return PEER_FORKS_COUNTED_MAX
  }
  return count
}

/** Whether the peer's ledger has signed it, for the place in which the row has it. */
function isSigned({ remoteLedgerId }: ForkedPeer, contact: PeerContact, row: ForkRow): boolean {
  const remoteLedger = formatId('led', remoteLedgerId)
  try {
    const sent = { seq: row.remoteSeq, envelope: toBase64(row.envelope) }
    const { leaf, record, version } = verifyProposed({ remoteLedger }, contact, sent)
    const isPlace = (record?.id ?? null) === row.recordId && version === row.version
    return isPlace && leaf === row.leaf && leaf !== row.heldLeaf
  } catch (error) {
    if (error instanceof EntryRefused || error instanceof ProofError) return false
    throw error
  }
}
