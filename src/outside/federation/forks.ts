import type { Db } from '../../db/connect/client.ts'
import { type ForkedPeer, type ForkRow, listForkedPeers, listPeerForks } from '../../db/peers/peer-forks.ts'
import type { PeerContact, PeerRow } from '../../db/peers/peers.ts'
import { Slice } from '../../load/slice.ts'
import { toBase64 } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'
import { PEER_FORKS_COUNTED_MAX } from './limits.ts'
import { findAuthenticContact } from './peer-keys.ts'
import { EntryRefused, verifyProposed } from './proposed.ts'

/*
 * The functions below read forks: entries by which a peer contradicts itself. A database row alone proves nothing. So
 * each fork is verified whenever it is shown or counted, with the key that the peer used at that position.
 */

export type ForkDeps = { readonly peerMacs: PeerMacs }

/**
 * Lists the forks of a page. Leaves out a row if the peer has not signed its entry. `after`: the last row of the
 * previous page. The returned `after` is null if there are no more rows.
 */
export async function readForks(
  deps: ForkDeps,
  db: Db,
  of: ForkedPeer,
  page: { readonly after: string; readonly limit: number },
): Promise<{ readonly forks: readonly ForkRow[]; readonly after: string | null }> {
  const rows = await listPeerForks(db, of, page)
  const last = rows.length < page.limit ? null : rows.at(-1)!.leaf
  const contact = rows.length === 0 ? null : await findAuthenticContact(deps, db, of)
  if (contact === null) return { forks: [], after: last }
  const forks: ForkRow[] = []
  const slice = new Slice()
  for (const row of rows) {
    if (slice.isOver) await slice.next()
    if (isSigned(of, contact, row)) forks.push(row)
  }
  return { forks, after: last }
}

/** Counts the forks of a peer. Stops at PEER_FORKS_COUNTED_MAX. */
async function countForks(deps: ForkDeps, db: Db, of: ForkedPeer): Promise<number> {
  let count = 0
  for (let after: string | null = ''; after !== null && count < PEER_FORKS_COUNTED_MAX; ) {
    const page = await readForks(deps, db, of, { after, limit: PEER_FORKS_COUNTED_MAX })
    count += page.forks.length
    after = page.after
  }
  return Math.min(count, PEER_FORKS_COUNTED_MAX)
}

/** Counts the forks of a peering. Makes no query for a peering without forks. Most peerings have none. */
export async function countForksOf(
  deps: ForkDeps & { readonly readPool: Db },
  { ledgerId }: Pick<ForkedPeer, 'ledgerId'>,
  { peerId, remoteLedgerId, mayHaveForks }: PeerRow,
): Promise<number> {
  if (!mayHaveForks || remoteLedgerId === null) return 0
  return countForks(deps, deps.readPool, { ledgerId, peerId, remoteLedgerId })
}

/** Counts the forks of all live peerings together. Stops at PEER_FORKS_COUNTED_MAX. */
export async function countAllForks(deps: ForkDeps, db: Db): Promise<number> {
  let count = 0
  for (const peer of await listForkedPeers(db, PEER_FORKS_COUNTED_MAX)) {
    count += await countForks(deps, db, peer)
    if (count >= PEER_FORKS_COUNTED_MAX) return PEER_FORKS_COUNTED_MAX
  }
  return count
}

/** Returns true if the peer's ledger has signed the fork's entry for exactly the position in the row. */
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
