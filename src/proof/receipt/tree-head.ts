import { encode, rfc8949EncodeOptions } from 'cborg'
import { concat, equalBytes, utf8Encode } from '../bytes.ts'
import { type PublicKey, type Sha256, SIGNATURE_BYTES, type Signer } from '../crypto.ts'
import { toBeSigned } from '../envelope/cose.ts'
import { ALG, CLAIM_ISSUER, CLAIM_SUBJECT, CLAIMS, EDDSA, KID } from '../envelope/cose-labels.ts'
import { parseCheckpoint } from '../tree/checkpoint.ts'
import { keyIdOf, signatureLine } from '../tree/note.ts'
import { RFC9162_SHA256, SIZE, VDS } from './labels.ts'

/*
 * The second signature of a checkpoint, from which receipts are made. It is a COSE signature over the root alone (RFC
 * 9942), with the size in the protected header. One signature serves every entry of the tree, so making receipts needs
 * no key. The note contains the signature in a line of our own type, which other parsers of notes ignore (C2SP
 * signed-note).
 */

export type TreeHead = {
  readonly issuer: string
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** Signature type of our own: 0xff, which signed-note reserves for types without a number, followed by our name. */
const LINE_TYPE = concat([new Uint8Array([0xff]), utf8Encode('tallystick.dev/receipt/v1')])

/**
 * Encodes the protected header, which is the same in all receipts of the tree. `kid`: kid of the note key, 32 bytes.
 */
export function encodeTreeHeader(
  { issuer, origin, size }: Omit<TreeHead, 'root'>,
  kid: Uint8Array,
): Uint8Array {
  const claims = new Map([
    [CLAIM_ISSUER, issuer],
    [CLAIM_SUBJECT, origin],
  ])
  const header = new Map<number, unknown>([
    [ALG, EDDSA],
    [KID, kid],
    [CLAIMS, claims],
    [VDS, RFC9162_SHA256],
    [SIZE, size],
  ])
  return encode(header, rfc8949EncodeOptions)
}

/** Returns the note with the signature of its tree head. `noteSigner`: the key that signed the note. */
export function addTreeHead(note: string, issuer: string, noteSigner: Signer, sha256: Sha256): string {
  const { origin, size, root } = parseCheckpoint(note).checkpoint
  const header = encodeTreeHeader({ issuer, origin, size }, noteSigner.kid)
  return (
    note +
    signatureLine(origin, lineId(sha256, origin, noteSigner.key), noteSigner.sign(toBeSigned(header, root)))
  )
}

/** Returns the signature of the note's tree head without verifying it. Returns null if the note has none. */
export function findTreeHead(note: string, noteKey: PublicKey, sha256: Sha256): Uint8Array | null {
  const { checkpoint, signatures } = parseCheckpoint(note)
  const id = lineId(sha256, checkpoint.origin, noteKey)
  const found = signatures.find(({ name, keyId }) => name === checkpoint.origin && equalBytes(keyId, id))
  return found?.signature.length === SIGNATURE_BYTES ? found.signature : null
}

function lineId(sha256: Sha256, origin: string, { raw }: PublicKey): Uint8Array {
  return keyIdOf(sha256, origin, concat([LINE_TYPE, raw]))
}
