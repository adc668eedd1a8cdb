import { sealEntry } from '../../append/entry.ts'
import { appendEntries } from '../../db/chain/append-entries.ts'
import type { PeerKeyRow } from '../../db/peers/peers.ts'
import { ApiError } from '../../errors.ts'
import type { Administration } from '../../ledgers/administration.ts'
import { fromBase64, toBase64, toHex } from '../../proof/bytes.ts'
import { verifySignedStatement } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { leafHash } from '../../proof/tree/merkle.ts'
import { nativeProviders } from '../../signing/native.ts'
import {
  getContact,
  type PeerAuthDeps,
  type PeerRequest,
  publicKeyOf,
  refuseState,
  verifyFresh,
  verifySigned,
} from './authenticate.ts'
import { refuseFull } from './budget.ts'
import type { RequestSignature } from './http-signature.ts'
import { type PeerKeyText, parsePeerKey } from './identity.ts'
import { authorOf, inTransaction, notAppended } from './peer-transaction.ts'
import { type ReceivedEntry, receivedOf, receivedRow } from './proposed.ts'
import type { ReceiveDeps } from './receive.ts'

/** A `server-key-rotated` entry of the peer's chain. `envelope` is in base64. */
type SentRotation = { readonly seq: number; readonly envelope: string }

type Rotation = ReceivedEntry & { readonly newKey: PeerKeyText }

/**
 * Receives a peer's key rotations. The first rotation is signed by the key that is known here. Each later rotation is
 * signed by the key that the previous rotation introduced. The newest key signs the request.
 *
 * Returns the envelopes (base64) of our entries for the new rotations. Throws ApiError.
 */
export async function receiveRotations(
  deps: ReceiveDeps & PeerAuthDeps,
  signed: RequestSignature,
  sent: readonly SentRotation[],
): Promise<string[]> {
  const { ids, contact } = await getContact(deps, signed)
  verifyFresh(deps, signed)
  const rotations = followKeys(ids.remoteLedger, contact.keys, sent)
  const newest = rotations.at(-1)?.newKey ?? currentOf(contact.keys)
  if (newest.kid !== signed.keyid)
    throw new ApiError(
      'key_unknown',
      `the newest key after the rotations is ${newest.kid}, but the request is signed by ${signed.keyid}`,
    )
  verifySigned(signed, parsePeerKey(newest))
  refuseState(contact)
  const request = { ...ids, nonce: signed.nonce, contact }
  return deps.inbox.run(ids, () =>
    inTransaction(deps, request, async (client, contact) => {
      refuseFull(contact)
      const author = authorOf(request)
      const signer = await deps.signers.signerOf(author)
      const receipts: string[] = []
      // Rotations are appended one by one, because each one replaces the key that the previous one introduced.
      for (const rotation of rotations) {
        const { entry } = sealEntry(signer, author, keyRotated(deps, request, rotation), deps.now())
        const [answer] = await appendEntries(client, [entry])
        if (answer!.outcome !== 'appended') throw notAppended(answer!.outcome)
        receipts.push(toBase64(entry.envelope))
      }
      return receipts
    }),
  )
}

function keyRotated(
  { peerMacs }: Pick<ReceiveDeps, 'peerMacs'>,
  { contact, ...ids }: PeerRequest,
  rotation: Rotation,
): Administration {
  const { newKey } = rotation
  const mac = peerMacs.key.of({ ...ids, ...newKey }).toString('hex')
  return {
    kind: 'peer-key-rotated',
    subject: { id: ids.peerId, name: ids.peer, digest: toHex(contact.handshake!) },
    predicate: { newKey, received: receivedOf(rotation) },
    detail: { received: receivedRow(ids, rotation), key: { peerId: ids.peerId, ...newKey, mac } },
  }
}

function currentOf(keys: readonly PeerKeyRow[]): PeerKeyText {
  const { kid, alg, spki } = keys.find(({ untilSeq }) => untilSeq === null)!
  return { kid, alg, spki: spki.toString('base64') }
}

/** Returns the new rotations. Skips known rotations, which the peer sends again if an answer was lost. */
function followKeys(ledger: string, keys: readonly PeerKeyRow[], sent: readonly SentRotation[]): Rotation[] {
  const rotations: Rotation[] = []
  let current = currentOf(keys)
  let last = Math.max(-1, ...keys.map(({ untilSeq }) => untilSeq ?? -1))
  for (const one of sent) {
    if (one.seq <= last) continue
    const rotation = readRotation(ledger, current, one)
    const known = [...keys, ...rotations.map(({ newKey }) => newKey)]
    if (known.some(({ kid }) => kid === rotation.newKey.kid))
      throw new ApiError(
        'key_not_current',
        `the rotation names the key ${rotation.newKey.kid}, which was already a key of ${ledger}`,
      )
    rotations.push(rotation)
    current = rotation.newKey
    last = one.seq
  }
  return rotations
}

function readRotation(ledger: string, current: PeerKeyText, { seq, envelope: text }: SentRotation): Rotation {
  try {
    const envelope = fromBase64(text)
    const key = publicKeyOf({ ...current, spki: Buffer.from(current.spki, 'base64') })
    const find = (kid: string) => (kid === current.kid ? key : null)
    const { statement } = verifySignedStatement(envelope, find, nativeProviders)
    if (statement.kind !== 'server-key-rotated' || statement.ledger !== ledger)
      throw new ProofError(
        'ledger_foreign',
        `a rotation must be server-key-rotated of ${ledger}, not ${statement.kind} of ${statement.ledger}`,
      )
    const leaf = toHex(leafHash(nativeProviders.sha256, envelope))
    const newKey = statement.predicate['newKey'] as PeerKeyText
    return { seq, envelope, leaf, statement, record: null, version: null, newKey }
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    const code = error.code === 'key_unknown' ? 'key_not_current' : 'signature_invalid'
    throw new ApiError(code, `the rotation at ${seq}: ${error.message}`)
  }
}
