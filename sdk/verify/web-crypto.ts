import type { ProofProviders, PublicKey } from '../../src/proof/crypto.ts'
import { isStrictEd25519 } from '../../src/proof/ed25519-points.ts'
import { hasLowS } from '../../src/proof/p256-low-s.ts'
import type { Engine } from './engine.ts'

/** Named from the value, which browsers and Node type each in its own way. */
export type Subtle = typeof globalThis.crypto.subtle
type ImportedKey = Awaited<ReturnType<Subtle['importKey']>>

/**
 * Signatures by WebCrypto, which answers later, under a verification that asks at once: it goes through with every signature taken
 * for good, and counts only when all of them have turned out to be. If one is not, it goes through again with the answers that there
 * are now, and ends where that one is: everything before it is the same, so the answers come in the order of the questions.
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

/** Returns or throws, when it is called, what `work` did now. */
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
 * As strict as the others: WebCrypto's Ed25519 is the equation without cofactor (its specification, and BoringSSL, NSS and WebKit do it),
 * and what libraries differ in is looked at before.
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
    // Browsers have had Ed25519 since 2023 to 2025, P-256 always: there, only what is no point of the curve is refused.
    return key.alg === 'EdDSA' && portable.verifySignature(key, message, signature)
  }
}
