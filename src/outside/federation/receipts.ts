import type { DrainedPeer } from '../../db/peers/peer-leases.ts'
import type { SharedEntry } from '../../db/peers/shared-entries.ts'
import { verifySignedStatement } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import { nativeProviders } from '../../signing/native.ts'
import { fromBase64 } from '../../signing/text-of-bytes.ts'
import { publicKeyOf } from './authenticate.ts'
import { PeerError } from './post.ts'

/**
 * Reads the receipt of an entry: a signed envelope of the peer's chain that names the entry. Throws PeerError if the
 * value is not such an envelope.
 */
export function readReceipt(
  peer: DrainedPeer,
  entry: Pick<SharedEntry, 'seq' | 'leaf'>,
  text: unknown,
): Uint8Array {
  try {
    const envelope = fromBase64(typeof text === 'string' ? text : '')
    const { statement } = verifySignedStatement(envelope, (kid) => findKey(peer, kid), nativeProviders)
    const { predicate } = statement
    const named = (predicate['received'] ?? predicate['offer']) as NamedEntry | undefined
    const isOurs =
      statement.ledger === formatId('led', peer.remoteLedgerId) &&
      named?.ledger === formatId('led', peer.ledgerId) &&
      named.leaf === entry.leaf.toString('hex') &&
      named.seq === entry.seq
    if (!isOurs) throw new PeerError('receipt_invalid', `the receipt is not about entry ${entry.seq}`)
    return envelope
  } catch (error) {
    if (error instanceof ProofError)
      throw new PeerError('receipt_invalid', `receipt of entry ${entry.seq}: ${error.message}`)
    throw error
  }
}

type NamedEntry = { readonly ledger: string; readonly seq: number; readonly leaf: string }

/** Finds a key of the peer. Replaced keys count too, because a receipt may be old. */
function findKey({ keys }: DrainedPeer, kid: string) {
  const key = keys.find((one) => one.kid === kid)
  return key ? publicKeyOf(key) : null
}
