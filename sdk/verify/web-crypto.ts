import type { ProofProviders, PublicKey } from '../../src/proof/crypto.ts'
import { isStrictEd25519 } from '../../src/proof/ed25519-points.ts'
import { hasLowS } from '../../src/proof/p256-low-s.ts'
import type { Engine } from './engine.ts'

/** This type is derived from the value, because browsers and Node declare different types. */
export type Subtle = typeof globalThis.crypto.subtle
type ImportedKey = Awaited<ReturnType<Subtle['importKey']>>

/**
 * Makes an engine from WebCrypto, which is asynchronous, for the synchronous verifier.
 *
 * Pass 1 assumes that all signatures are valid and collects them. Then the engine checks the collected signatures. If
 * one is invalid, pass 2 runs with the known results and stops at that signature. Both passes are identical up to that
 * point, so their signatures have the same order.
 */
export function makeWebEngine(subtle: Subtle, portable: ProofProviders): Engine {
  const isSignature = makeIsSignature(subtle, portable)
  const { sha256 } = portable
  return {
    providers: portable,
    async run<T>(verify: (providers: ProofProviders) => T): Promise<T> {
      const answers: Promise<boolean>[] = []
      const outcome = attempt(() =>
        verify({ sha256, verifySignature: (...asked) => answers.push(isSignature(...asked)) > 0 }),
      )
      const known = await Promise.all(answers)
      if (known.every((isGood) => isGood)) return outcome()
      let next = 0
      return verify({ sha256, verifySignature: () => known[next++] === true })
    },
  }
}

/** Runs `work` now. Returns a function that returns or throws the result of `work`. */
function attempt<T>(work: () => T): () => T {
  try {
    const value = work()
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}

const ALGORITHMS = {
  EdDSA: { key: { name: 'Ed25519' }, signature: { name: 'Ed25519' } },
  ES256: { key: { name: 'ECDSA', namedCurve: 'P-256' }, signature: { name: 'ECDSA', hash: 'SHA-256' } },
} as const

/**
 * Makes a function that checks a signature as strictly as the other engines. WebCrypto checks Ed25519 by the equation
 * without cofactor, as its specification says and as BoringSSL, NSS and WebKit do. Libraries treat some points of the
 * curve differently. `isStrictEd25519` therefore refuses such points first.
 */
function makeIsSignature(subtle: Subtle, portable: ProofProviders) {
  const known = new WeakMap<PublicKey, Promise<ImportedKey | null>>()
  const findKey = (key: PublicKey) => {
    const made =
      known.get(key) ??
      subtle
        .importKey('raw', key.raw as Uint8Array<ArrayBuffer>, ALGORITHMS[key.alg].key, false, ['verify'])
        .catch(() => null)
    known.set(key, made)
    return made
  }
  return async (key: PublicKey, message: Uint8Array, signature: Uint8Array): Promise<boolean> => {
    if (key.alg === 'EdDSA' ? !isStrictEd25519(key.raw, signature) : !hasLowS(signature)) return false
    const imported = await findKey(key)
    if (imported)
      return subtle.verify(
        ALGORITHMS[key.alg].signature,
        imported,
        signature as Uint8Array<ArrayBuffer>,
        message as Uint8Array<ArrayBuffer>,
      )
    // The key could not be imported. Browsers have Ed25519 only since 2023 to 2025, so the portable code then checks an
    // Ed25519 signature. All browsers have P-256, so the import of a P-256 key fails only for a point that is not on
    // the curve.
    return key.alg === 'EdDSA' && portable.verifySignature(key, message, signature)
  }
}
