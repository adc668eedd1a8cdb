import {
  findWitnessingPeer,
  listUncosignedPeers,
  type WitnessingPeer,
} from '../../db/peers/peer-witnesses.ts'
import { PeerError, type PostDeps, postToPeer } from '../../outside/federation/post.ts'
import { witnessKeyText } from '../../outside/federation/witness-peer.ts'
import type { Signer } from '../../proof/crypto.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import { formatNoteKey, parseNoteKey } from '../../proof/tree/note.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { PeerWitnessKeys } from '../../signing/peer-witness-keys.ts'
import {
  PEER_WITNESS_POSTS_MAX,
  PEER_WITNESSES_MAX,
  WITNESS_ANSWER_BYTES_MAX,
  WITNESS_LEDGERS_WAITING_MAX,
  WITNESS_PAUSE_MS_MAX,
} from '../limits.ts'
import { type CosignerAnswer, type SendDeps, sendCheckpoint, WitnessError } from './send-checkpoint.ts'
import type { WitnessTarget } from './witness-sender.ts'

type PeerWitnessDeps = SendDeps &
  PostDeps & {
    readonly peerWitnessKeys: PeerWitnessKeys
    readonly noteSigner: Signer
    readonly stopping: AbortSignal
  }

export const PEERS_TARGET = 'peers'

/**
 * Makes the target for all peers that act as witnesses. Each peer gets the checkpoints of the ledgers that have a
 * peering with it.
 */
export function peerWitnesses(deps: PeerWitnessDeps): WitnessTarget {
  const { pool } = deps
  return {
    name: PEERS_TARGET,
    pausesAsOne: false,
    postsMax: PEER_WITNESS_POSTS_MAX,
    expand: (ledgerIds) =>
      listUncosignedPeers(pool, {
        ledgerIds,
        ageMs: 0,
        peersMax: PEER_WITNESSES_MAX,
        limit: WITNESS_LEDGERS_WAITING_MAX,
      }),
    sweep: (ageMs, limit) =>
      listUncosignedPeers(pool, { ledgerIds: null, ageMs, peersMax: PEER_WITNESSES_MAX, limit }),
    async send({ ledgerId, peerId }) {
      const peer = await findWitnessingPeer(pool, { ledgerId, peerId: peerId! })
      if (peer === null) return false
      const key =
        peer.remoteKey === null ? null : parseNoteKey(peer.remoteKey, 'cosignature', nativeProviders.sha256)
      return sendCheckpoint(deps, { key, peerId, send: (body) => ask(deps, peer, body) }, ledgerId)
    },
  }
}

async function ask(deps: PeerWitnessDeps, peer: WitnessingPeer, checkpoint: string): Promise<CosignerAnswer> {
  const { noteSigner, peerWitnessKeys, stopping } = deps
  const log = formatNoteKey(peer.origin, 'signature', noteSigner.key.raw, nativeProviders.sha256)
  const witness = witnessKeyText(peer.origin, peerWitnessKeys.of(peer))
  try {
    const answer = await postToPeer(deps, peer, {
      path: '/v1/federation/checkpoint',
      body: JSON.stringify({ log, witness, checkpoint }),
      answerBytesMax: WITNESS_ANSWER_BYTES_MAX,
      signal: stopping,
    })
    return readAnswer(answer)
  } catch (error) {
    if (!(error instanceof PeerError)) throw error
    // The peer is not a witness. An older server has no route for cosigning, and a newer server may have it switched
    // off.
    if (error.code === 'witness_off' || error.code === 'not_found')
      throw new WitnessError('declined', error.message, WITNESS_PAUSE_MS_MAX)
    throw new WitnessError('unreachable', error.message, error.retryAfterMs)
  }
}

/** Converts the answer of a peer to an answer as C2SP tlog-witness defines it. */
function readAnswer({ outcome, line, size }: JsonObject): CosignerAnswer {
  if (outcome === 'cosigned') return { status: 200, text: String(line) }
  if (outcome === 'conflict') return { status: 409, text: `${size}\n` }
  return { status: 422, text: '' }
}
