import { concat, fromBase64, toBase64, utf8Encode } from '../../src/proof/bytes.ts'
import { CONTENT_TYPE } from '../../src/proof/envelope/envelope-layout.ts'
import { parseEnvelope } from '../../src/proof/envelope/parse-envelope.ts'
import { type Bytes, requireBytes } from '../bytes.ts'
import type { PublishedKey } from '../generated/api.ts'
import { envelope } from './envelope.ts'

/** Signer of a DSSE envelope. It uses a key of the exporter, never a key of the ledger. */
export type DsseSigner = {
  /** Name by which verifiers find the key. in-toto verifiers ignore signatures with another name. */
  readonly keyid: string
  /**
   * Returns the signature of `message`. The signature is Ed25519, or ECDSA with SHA-256 in DER, depending on the key.
   */
  readonly sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>
}

/** An envelope of DSSE v1 in JSON. `payload` and `sig` are base64. */
export type DsseEnvelope = {
  readonly payload: string
  readonly payloadType: string
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[]
}

/**
 * Returns the statement of an entry in DSSE, for tools that read in-toto statements. It contains the bytes that the
 * ledger signed, under a signature of the exporter. `entry` is the envelope of the entry.
 *
 * The DSSE signature states that the exporter verified the ledger's signature. It proves nothing about the ledger, so
 * store a receipt or a bundle with it. Throws the errors of `verify.envelope` before anything is signed.
 */
export async function toDsse(
  entry: Bytes | string,
  options: { readonly keys: readonly PublishedKey[]; readonly ledger?: string; readonly signer: DsseSigner },
): Promise<DsseEnvelope> {
  const { signer } = options
  await envelope(entry, options)
  const bytes = typeof entry === 'string' ? fromBase64(entry) : requireBytes(entry, 'an envelope')
  const { payload } = parseEnvelope(bytes)
  const signature = await signer.sign(preAuthEncoding(CONTENT_TYPE, payload))
  return {
    payload: toBase64(payload),
    payloadType: CONTENT_TYPE,
    signatures: [{ keyid: signer.keyid, sig: toBase64(signature) }],
  }
}

/**
 * Returns the bytes that DSSE v1 signs (PAE). They begin with `DSSEv1`, but the signed bytes of COSE begin with 84
 * (hex). So no signature is valid in both formats.
 */
function preAuthEncoding(type: string, payload: Uint8Array): Uint8Array {
  const start = `DSSEv1 ${utf8Encode(type).length} ${type} ${payload.length} `
  return concat([utf8Encode(start), payload])
}
