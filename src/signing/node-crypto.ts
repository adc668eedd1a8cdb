import type { ProofProviders, PublicKey, Sha256 } from '../proof/crypto.ts'
import { isStrictEd25519 } from '../proof/ed25519-points.ts'
import { hasLowS } from '../proof/p256-low-s.ts'

/** Types of the functions of Node's crypto module that are used here. Bun and Deno have these functions too. */
export type NodeCrypto = {
  /** This function exists since Node 20.12. */
  hash?(algorithm: string, data: Uint8Array, encoding: 'buffer'): Uint8Array
  createHash(algorithm: string): { update(data: Uint8Array): { digest(): Uint8Array } }
  createPublicKey(key: { key: Uint8Array; format: 'der'; type: 'spki' }): object
  verify(algorithm: string | null, data: Uint8Array, key: object, signature: Uint8Array): boolean
}

type Process = { getBuiltinModule?(name: string): unknown }

/**
 * Returns Node's crypto module without an import, because an import would make the library unusable in browsers.
 * Returns null before Node 20.16.
 */
export function findNodeCrypto(): NodeCrypto | null {
  const { process } = globalThis as { process?: Process }
  return (process?.getBuiltinModule?.('crypto') as NodeCrypto | undefined) ?? null
}

export function makeNodeProviders(node: NodeCrypto): ProofProviders {
  const findKey = makeFindKeyObject(node)
  const { hash } = node
  const sha256: Sha256 = hash
    ? (data) => hash('sha256', data, 'buffer')
    : (data) => node.createHash('sha256').update(data).digest()
  return {
    sha256,
    verifySignature(key, message, signature) {
      if (key.alg === 'EdDSA' ? !isStrictEd25519(key.raw, signature) : !hasLowS(signature)) return false
      const keyObject = findKey(key)
      if (keyObject === null) return false
      if (key.alg === 'EdDSA') return node.verify(null, message, keyObject, signature)
      // Signatures are in COSE's form, r ‖ s (RFC 9053 §2.1), not in DER.
      return node.verify('sha256', message, { key: keyObject, dsaEncoding: 'ieee-p1363' }, signature)
    },
  }
}

/**
 * Returns a function that finds the key object of a public key. That function returns null if the bytes are no point of
 * the curve, because no signature can then be valid.
 */
function makeFindKeyObject(node: NodeCrypto): (key: PublicKey) => object | null {
  const known = new WeakMap<PublicKey, object | null>()
  const make = ({ spki }: PublicKey) => {
    try {
      return node.createPublicKey({ key: spki, format: 'der', type: 'spki' })
    } catch {
      return null
    }
  }
  return (key) => {
    if (!known.has(key)) known.set(key, make(key))
    return known.get(key)!
  }
}
