import type { Signer } from '../proof/crypto.ts'
import { encodeEnvelope, encodeProtected, toBeSigned } from '../proof/envelope/cose.ts'
import { leafHash } from '../proof/tree/merkle.ts'
import { nativeProviders } from './native.ts'

type SignedEntry = { readonly envelope: Uint8Array; readonly leaf: Uint8Array }

/** Signs a statement. Returns the envelope and its leaf (docs/formats/envelopes.md). */
export function signEntry(
  signer: Signer,
  about: { issuer: string; subject: string; recordedAtMs: number },
  statement: string,
): SignedEntry {
  const payload = Buffer.from(statement)
  const protectedBytes = encodeProtected({
    alg: signer.key.alg,
    kid: signer.kid,
    issuer: about.issuer,
    subject: about.subject,
    issuedAtSeconds: Math.floor(about.recordedAtMs / 1000),
  })
  const envelope = encodeEnvelope(protectedBytes, payload, signer.sign(toBeSigned(protectedBytes, payload)))
  return { envelope, leaf: leafHash(nativeProviders.sha256, envelope) }
}
