import { concat, fromBase64, toBase64, utf8Encode } from '../../src/proof/bytes.ts'
import { CONTENT_TYPE } from '../../src/proof/envelope/envelope-layout.ts'
import { parseEnvelope } from '../../src/proof/envelope/parse-envelope.ts'
import { type Bytes, requireBytes } from '../bytes.ts'
import type { PublishedKey } from '../generated/api.ts'
import { envelope } from './envelope.ts'

/** Signer of a DSSE envelope: the exporter's own key, never one of the ledger's. */
export type DsseSigner = {
  /** Name by which verifiers find the key; those of in-toto pass over a signature of another name. */
  readonly keyid: string
  /** Signs these bytes: Ed25519, or ECDSA with SHA-256 in DER, as the verifier expects of the key. */
  readonly sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>
}

/** DSSE v1, as JSON has it. `payload`, `sig`: base64. */
export type DsseEnvelope = {
  readonly payload: string
  readonly payloadType: string
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[]
}

/**
 * The statement of an entry for tools that read in-toto statements in DSSE: the very bytes that the ledger signed, under a signature of
 * the exporter. It says that the exporter has verified the ledger's signature, and nothing of the ledger itself: keep a receipt or a
 * bundle with it. `entry`: the envelope. Throws what `verify.envelope` throws, before anything is signed.
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

/** PAE of DSSE v1. It begins with `DSSEv1`, and what COSE signs with 84 (hex): no signature of one passes for the other. */
function preAuthEncoding(type: string, payload: Uint8Array): Uint8Array {
  const start = `DSSEv1 ${utf8Encode(type).length} ${type} ${payload.length} `
  return concat([utf8Encode(start), payload])
}
