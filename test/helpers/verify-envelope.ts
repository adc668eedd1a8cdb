import type { PublicKey, VerifySignature } from '../../src/proof/crypto.ts'
import { type ParsedEnvelope, parseEnvelope, verifySigner } from '../../src/proof/envelope/cose.ts'

export function verifyEnvelope(
  bytes: Uint8Array,
  key: PublicKey,
  { verifySignature }: { readonly verifySignature: VerifySignature },
): ParsedEnvelope {
  const envelope = parseEnvelope(bytes)
  verifySigner(envelope, key, verifySignature)
  return envelope
}
