import type { Db } from '../../db/connect/client.ts'
import type { DrainedPeer, SentResults } from '../../db/peers/peer-leases.ts'
import { findReceivedBefore } from '../../db/peers/shared-entries.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import { PEER_ENTRIES_SENT_MAX, PEER_REQUEST_ENTRY_BYTES_MAX } from './limits.ts'
import { type Outgoing, readOutgoing } from './outbox.ts'
import { PeerError } from './post.ts'
import { readOutcomes } from './read-outcomes.ts'

/**
 * Decides about one entry whose request was refused for its size or content, by the peer or by a proxy.
 *
 * A blocked network or a rate limit refuses every entry. So the entry becomes a dead letter only if the peer first
 * accepts another entry and then refuses this entry a second time. There is no third try. With a third try, a proxy
 * that refuses every other request could keep us trying for ever.
 *
 * `send` sends entries. It returns the answer, or a PeerError if the request was refused. It throws PeerError for any
 * other failure. Returns the outcomes to settle, or `unknown` for an ordinary failure. Throws PeerError if an answer is
 * invalid.
 */
export async function judgeRefused(
  db: Db,
  peer: DrainedPeer,
  refused: { readonly outgoing: Outgoing; readonly error: PeerError },
  send: (outgoing: Outgoing) => Promise<JsonObject | PeerError>,
): Promise<SentResults | 'unknown'> {
  const { outgoing, error } = refused
  const other = await readOther(db, peer, outgoing)
  if (other === null || (await send(other)) instanceof PeerError) return 'unknown'
  const again = await send(outgoing)
  if (!(again instanceof PeerError)) return readOutcomes(db, peer, outgoing, again)
  if (again.refusal !== error.refusal) return 'unknown'
  const detail = again.message.slice(again.code.length + 2)
  return readOutcomes(db, peer, outgoing, { outcomes: [{ outcome: 'refused', code: again.code, detail }] })
}

/**
 * Finds another entry to send: the newest earlier entry that the peer has received, or else the next entry of another
 * record. Returns null if neither exists.
 */
async function readOther(db: Db, peer: DrainedPeer, { entries }: Outgoing): Promise<Outgoing | null> {
  const { seq, recordId } = entries[0]!
  const received = await findReceivedBefore(db, peer, seq)
  const before = received === null ? null : await readOne(db, peer, received)
  if (before !== null) return before
  const max = { entries: PEER_ENTRIES_SENT_MAX, bytes: PEER_REQUEST_ENTRY_BYTES_MAX }
  const after = await readOutgoing(db, { ...peer, backlog: null, nextSeq: seq + 1 }, max)
  const next = after.entries.find((entry) => entry.recordId !== recordId)
  return next ? readOne(db, peer, next.seq) : null
}

async function readOne(db: Db, peer: DrainedPeer, seq: number): Promise<Outgoing | null> {
  const max = { entries: 1, bytes: PEER_REQUEST_ENTRY_BYTES_MAX }
  const one = await readOutgoing(db, { ...peer, backlog: null, nextSeq: seq, size: seq + 1 }, max)
  return one.entries.length === 1 ? one : null
}
