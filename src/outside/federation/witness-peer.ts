import type pg from 'pg'
import { findWitnessedPeer, storePeerWitness, type WitnessedPeer } from '../../db/peers/peer-witnesses.ts'
import { ApiError } from '../../errors.ts'
import type { Signer } from '../../proof/crypto.ts'
import { ProofError } from '../../proof/error.ts'
import { keyThumbprint } from '../../proof/keys.ts'
import { isFork, type Judgement, judgeCheckpoint } from '../../proof/tree/add-checkpoint.ts'
import { cosign } from '../../proof/tree/cosignature.ts'
import {
  formatNoteKey,
  type NoteKey,
  parseNoteKey,
  signatureLine,
  signaturesOf,
} from '../../proof/tree/note.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { PeerWitnessKeys } from '../../signing/peer-witness-keys.ts'
import type { PeerRequest } from './authenticate.ts'
import type { Inbox } from './inbox.ts'
import { inTransaction, type PeerTransactionDeps } from './peer-transaction.ts'

/**
 * A checkpoint of the peer's ledger. `log`: the key that signs the checkpoint. `witness`: the key by which the peer
 * cosigns this ledger's checkpoints, or null if the peer does not cosign.
 */
export type PeerCheckpoint = {
  readonly log: string
  readonly witness: string | null
  /** The checkpoint with its proof, in the form of a request body of C2SP tlog-witness. */
  readonly checkpoint: string
}

export type WitnessAnswer =
  | { readonly outcome: 'cosigned'; readonly line: string }
  | { readonly outcome: 'conflict'; readonly size: number }
  | { readonly outcome: 'refused'; readonly reason: string }

export type WitnessPeerDeps = PeerTransactionDeps & {
  readonly inbox: Inbox
  /** Keys for cosigning. null if this deployment does not witness peers. */
  readonly peerWitnessKeys: PeerWitnessKeys | null
  readonly now: () => number
  readonly log: { warn(details: object, message: string): void }
}

/**
 * Cosigns a checkpoint of a peer if it continues the largest checkpoint that this side has cosigned. The new tree is
 * stored before the cosignature is returned. Throws ApiError.
 */
export async function witnessPeer(
  deps: WitnessPeerDeps,
  request: PeerRequest,
  sent: PeerCheckpoint,
): Promise<WitnessAnswer> {
  const { peerWitnessKeys: keys, inbox, now } = deps
  if (keys === null) throw new ApiError('witness_off', 'this deployment has TALLYSTICK_PEER_WITNESSES=false')
  const logKey = parseKey('/log', sent.log, 'signature')
  const [judgement, ownOrigin] = await inbox.run(request, () =>
    inTransaction(deps, request, async (client) => {
      const peer = await findWitnessedPeer(client, request)
      if (peer === null) throw new ApiError('state_conflict', 'the handshake of the peering is not complete')
      return [await judge(deps, client, request, { ...sent, logKey }, peer), peer.ownOrigin] as const
    }),
  )
  const { refusal, signed } = judgement
  if (refusal?.status === 409) return { outcome: 'conflict', size: refusal.size }
  if (refusal) return { outcome: 'refused', reason: refusal.reason }
  const seconds = Math.floor(now() / 1_000)
  const line = cosign(signed!.note.text, seconds, ownOrigin, keys.of(request), nativeProviders.sha256)
  return { outcome: 'cosigned', line }
}

/** Decides whether to cosign. Stores the new state, on which later decisions depend. */
async function judge(
  { log }: WitnessPeerDeps,
  client: pg.PoolClient,
  request: PeerRequest,
  { logKey, witness, checkpoint }: PeerCheckpoint & { readonly logKey: NoteKey },
  { origin, remoteKey, seen }: WitnessedPeer,
): Promise<Judgement> {
  // The signature of the request proves that `log` is the key of the peer's ledger. The stored tree (`seen`) still
  // applies after the peer has changed its key.
  const find = (name: string) =>
    name === origin && logKey.name === origin ? { origin, keys: [logKey] } : null
  const judgement = judgeCheckpoint(checkpoint, find, () => seen, nativeProviders)
  const { refusal, signed } = judgement
  const note = signed && `${signed.note.text}\n${linesOf(signed.note.signatures, logKey)}`
  const forks = signed !== null && isFork(seen, signed.tree)
  const named = { ledger: request.ledger, peer: request.peer }
  if (forks)
    log.warn(
      named,
      'a peer has signed two different trees of one size: both are stored (docs/guides/federation.md)',
    )
  else if (refusal?.status === 422) log.warn(named, `a peer's checkpoint was not cosigned: ${refusal.reason}`)
  await storePeerWitness(client, request, {
    remote: witness === null || witness === remoteKey ? null : remoteOf(witness, origin),
    seen: refusal === null ? { ...signed!.tree, note: note! } : null,
    fork: forks ? note : null,
  })
  return judgement
}

function linesOf(signatures: Parameters<typeof signaturesOf>[0], key: NoteKey): string {
  return signaturesOf(signatures, key)
    .map(({ name, keyId, signature }) => signatureLine(name, keyId, signature))
    .join('')
}

function remoteOf(vkey: string, origin: string) {
  const { name, key } = parseKey('/witness', vkey, 'cosignature')
  if (name !== origin) throw invalid('/witness', `the key's name is not the origin of the ledger, ${origin}`)
  return { key: vkey, kid: keyThumbprint(nativeProviders.sha256, key) }
}

function parseKey(path: string, vkey: string, type: 'signature' | 'cosignature'): NoteKey {
  try {
    return parseNoteKey(vkey, type, nativeProviders.sha256)
  } catch (error) {
    if (error instanceof ProofError) throw invalid(path, error.detail)
    throw error
  }
}

function invalid(path: string, why: string): ApiError {
  return new ApiError('invalid_request', `${path}: ${why}`, { members: { path } })
}

/** Returns the verifier key by which a ledger cosigns peers' checkpoints. Its name is the ledger's origin. */
export function witnessKeyText(origin: string, signer: Signer): string {
  return formatNoteKey(origin, 'cosignature', signer.key.raw, nativeProviders.sha256)
}
