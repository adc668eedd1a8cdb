import { makeKeyTest } from '../../ledgers/api-keys.ts'
import type { CallerCache, KnownKey } from '../../ledgers/caller.ts'
import { UNPROVEN } from '../../load/unproven.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /**
     * Proof of the request's owner. Set before the request begins. Absent if the request did not come over a
     * connection.
     */
    proof?: Proof
  }
}

/**
 * The owner of the operator's requests. It is separate from all ledgers, so that no ledger can use up the operator's
 * share.
 */
export const OPERATOR = 'operator'

export type Proof = {
  /** The owner for which the request is counted: a ledger (`led_…`), OPERATOR, or UNPROVEN. */
  readonly owner: string
  /** The API key of the request, even if the key has expired. null if the request has no key, or an unknown key. */
  readonly key: KnownKey | null
  /** The error with which the look-up of the key failed. null if it did not fail. */
  readonly failure: unknown
}

type Claims = { readonly authorization?: string | undefined }

/**
 * Decides who owns a request. Called once for each request. Returns a promise if the key must be looked up. Until the
 * promise is resolved, the request waits without a slot. It is admitted or refused afterwards. The promise never
 * rejects. The number of pending promises is limited.
 */
export type Prove = (claims: Claims) => Proof | Promise<Proof>

/** One way to prove an owner. The first prover whose `prefix` matches the token decides. */
type Prover = { readonly prefix: string; readonly prove: (token: string) => Proof | Promise<Proof> }

const NOTHING: Proof = { owner: UNPROVEN, key: null, failure: null }
const OPERATORS: Proof = { owner: OPERATOR, key: null, failure: null }

/**
 * Makes the function that decides who owns a request. No other code decides this. Each owner has a share of the server.
 * So the owner depends on what a token proves, never on what a request claims.
 *
 * For a request with a known key, the decision takes a SHA-256 and a look-up in a map, and is made at once. A request
 * without a key, with a wrong checksum or with a wrong operator key costs no more.
 */
export function makeProve(deps: {
  readonly callers: CallerCache
  readonly operatorKeys: readonly string[]
  readonly now: () => number
}): Prove {
  const isOperators = makeKeyTest(deps.operatorKeys)
  const provers: readonly Prover[] = [
    { prefix: 'tlo_', prove: (token) => (isOperators(token) ? OPERATORS : NOTHING) },
    { prefix: '', prove: makeKeyProver(deps) },
  ]
  return ({ authorization }) => {
    const token = findBearerToken(authorization)
    if (token === null) return NOTHING
    for (const { prefix, prove } of provers) if (token.startsWith(prefix)) return prove(token)
    return NOTHING
  }
}

/**
 * Returns a prover that finds the ledger of an API key. A key that this server has not seen before is looked up in the
 * database.
 */
function makeKeyProver({ callers, now }: { callers: CallerCache; now: () => number }): Prover['prove'] {
  const proofOf = (key: KnownKey | null): Proof => {
    if (!key?.caller) return NOTHING
    const { ledger, expiresAtMs } = key.caller
    // An expired key proves nothing, because it may be stolen.
    const isExpired = expiresAtMs !== null && expiresAtMs <= now()
    return { owner: isExpired ? UNPROVEN : ledger, key, failure: null }
  }
  return (token) => {
    const found = callers.find(token)
    if (!(found instanceof Promise)) return proofOf(found)
    return found.then(proofOf, (failure: unknown) => ({ ...NOTHING, failure }))
  }
}

export function findBearerToken(authorization: string | undefined): string | null {
  return /^Bearer ([\x21-\x7e]{1,256})$/i.exec(authorization ?? '')?.[1] ?? null
}
