import { appendEntries } from '../db/append-entries.ts'
import type { PeerKeyRow } from '../db/peers.ts'
import { toUuid } from '../db/uuid.ts'
import { ApiError } from '../errors.ts'
import { fromBase64, toBase64, toHex } from '../proof/bytes.ts'
import { ProofError } from '../proof/error.ts'
import { leafHash } from '../proof/merkle.ts'
import type { ParsedStatement } from '../proof/statement.ts'
import { verifySignedStatement } from '../proof/verify-entry.ts'
import { nativeProviders } from '../signing/native.ts'
import { type Author, signAdministration } from '../tenancy/administration.ts'
import {
  getContact,
  type PeerAuthDeps,
  publicKeyOf,
  refuseState,
  verifyFresh,
  verifySigned,
} from './authenticate.ts'
import type { RequestSignature } from './http-signature.ts'
import { type PeerKeyText, parsePeerKey } from './identity.ts'
import { inTransaction, type ReceiveDeps } from './receive.ts'

/** A `server-key-rotated` of the peer's chain, `envelope` in base64. */
export type SentRotation = { readonly seq: number; readonly envelope: string }

type Rotation = {
  readonly seq: number
  readonly envelope: Uint8Array
  readonly leaf: string
  readonly statement: ParsedStatement
  readonly newKey: PeerKeyText
}

/**
 * A peer's ledger signs with a new key: each statement is signed by the key before it, the first by the one that is known here, and
 * the request by the last. Answers the envelopes (base64) of the entries that received those that are new. Throws ApiError.
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
      `the rotations lead to ${newest.kid}, the request is signed by ${signed.keyid}`,
    )
  verifySigned(signed, parsePeerKey(newest))
  refuseState(contact)
  const author: Author = {
    ledger: ids.ledger,
    ledgerId: ids.ledgerId,
    issuer: contact.issuer,
    envelopeKid: contact.envelopeKid,
    agent: 'system',
  }
  return deps.inbox.run(() =>
    inTransaction(deps, { ...ids, nonce: signed.nonce, contact }, async (client) => {
      const signer = await deps.signers.signerOf(author)
      const receipts: string[] = []
      // One by one: each ends the key that the one before it began.
      for (const rotation of rotations) {
        const entry = signAdministration(
          signer,
          author,
          {
            kind: 'peer-key-rotated',
            subject: { id: ids.peerId, name: ids.peer, digest: toHex(contact.handshake!) },
            predicate: { newKey: rotation.newKey, received: receivedOf(rotation) },
            detail: {
              received: {
                peerId: toUuid(ids.peerId),
                seq: rotation.seq,
                kind: 'server-key-rotated',
                recordId: null,
                version: null,
                leaf: rotation.leaf,
                envelope: toBase64(rotation.envelope),
              },
              key: { peerId: toUuid(ids.peerId), ...rotation.newKey },
            },
          },
          deps.now(),
        )
        const [answer] = await appendEntries(client, [entry])
        if (answer!.outcome !== 'appended')
          throw new ApiError('unavailable', `nothing was written (${answer!.outcome}): try again`, {
            retryable: true,
            retryAfterMs: 1_000,
          })
        receipts.push(toBase64(entry.envelope))
      }
      return receipts
    }),
  )
}

function receivedOf({ seq, leaf, statement }: Rotation) {
  return { ledger: statement.ledger, seq, leaf, kind: 'server-key-rotated', record: null, version: null }
}

function currentOf(keys: readonly PeerKeyRow[]): PeerKeyText {
  const { kid, alg, spki } = keys.find(({ untilSeq }) => untilSeq === null)!
  return { kid, alg, spki: spki.toString('base64') }
}

/** Those that are new here. Of a request whose answer was lost they come again: what is known is skipped. */
function followKeys(ledger: string, keys: readonly PeerKeyRow[], sent: readonly SentRotation[]): Rotation[] {
  const rotations: Rotation[] = []
  let current = currentOf(keys)
  let last = Math.max(-1, ...keys.map(({ untilSeq }) => untilSeq ?? -1))
  for (const one of sent) {
    if (one.seq <= last) continue
    const rotation = readRotation(ledger, current, one)
    if (keys.some(({ kid }) => kid === rotation.newKey.kid))
      throw new ApiError('key_not_current', `${rotation.newKey.kid} has signed for this ledger before`)
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
      throw new ProofError('ledger_foreign', `${statement.kind} of ${statement.ledger}`)
    const leaf = toHex(leafHash(nativeProviders.sha256, envelope))
    return { seq, envelope, leaf, statement, newKey: statement.predicate['newKey'] as PeerKeyText }
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    const code = error.code === 'key_unknown' ? 'key_not_current' : 'signature_invalid'
    throw new ApiError(code, `the rotation at ${seq}: ${error.message}`)
  }
}
