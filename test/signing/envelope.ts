import { utf8Encode } from '../../src/proof/bytes.ts'
import type { Signer } from '../../src/proof/crypto.ts'
import { encodeEnvelope, encodeProtected, toBeSigned } from '../../src/proof/envelope/cose.ts'
import { vectors } from '../proof/vectors.ts'

export const PAYLOAD = utf8Encode(vectors.entries[1]!.statement)

export function envelopeOf(signer: Signer): Uint8Array {
  const protectedBytes = encodeProtected({
    alg: signer.key.alg,
    kid: signer.kid,
    issuer: vectors.issuer,
    subject: 'rec_01jegv5gyme05800000000000a',
    issuedAtSeconds: 1_795_176_001,
  })
  return encodeEnvelope(protectedBytes, PAYLOAD, signer.sign(toBeSigned(protectedBytes, PAYLOAD)))
}
