import { makeKeyTest } from '../../ledgers/api-keys.ts'
import type { CallerCache, KnownKey } from '../../ledgers/caller.ts'
import { UNPROVEN } from '../../load/unproven.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** Set before the request begins. It is absent if the request did not come by a connection. */
    proof?: Proof
  }
}

/** The operator is an owner of its own, so that no ledger can cause a refusal of the operator's requests. */
export const OPERATOR = 'operator'

export type Proof = {
  /** The owner for which the request is counted: a ledger (`led_…`), OPERATOR, or UNPROVEN. */
  readonly owner: string
  /** The key of the request, even if it has expired; null: the request has no key, or an unknown key. */
  readonly key: KnownKey | null
  /** Error of the key's look-up; null if the look-up did not fail. */
  readonly failure: unknown
}

type Claims = { readonly authorization?: string | undefined }

/**
 * Decides who owns a request. Returns a promise if the key must be looked up. The request then waits without a slot,
 * and is admitted afterwards, when its owner is known. A promise never rejects, and the number of promises is
 * limited. Called once for each request.
 */
export type Prove = (claims: Claims) => Proof | Promise<Proof>

/**
 * One way to prove an owner. The prover whose `prefix` matches the token decides alone. If several match, the first
 * one decides.
 */
type Prover = { readonly prefix: string; readonly prove: (token: string) => Proof | Promise<Proof> }

const NOTHING: Proof = { owner: UNPROVEN, key: null, failure: null }
const OPERATORS: Proof = { owner: OPERATOR, key: null, failure: null }

/**
 * Makes the only function that decides who owns a request. Owners have shares of the server. So the owner follows
 * from what a token proves, never from what a request names.
 *
 * A request with a known key costs a SHA-256 and a look-up in a map, and is decided at once. A request without a key,
 * with a wrong checksum or with a wrong operator key costs no more.
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

/** Returns a prover that proves a ledger by its API key. A key that is new to the server is looked up. */
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
