import type { PeerContact, PeerKeyRow } from '../../db/peers/peers.ts'
import type { Lookups } from '../../db/records/lookups.ts'
import { ApiError } from '../../errors.ts'
import type { PublicKey } from '../../proof/crypto.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { parsePublicKey } from '../../proof/keys.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { PeerMacs } from '../../signing/peer-macs.ts'
import {
  isWithinWindow,
  parseRequestSignature,
  type RequestHeaders,
  type RequestSignature,
  RequestSignatureError,
  verifyRequestSignature,
} from './http-signature.ts'
import { authenticContact } from './peer-keys.ts'

export type PeerAuthDeps = {
  readonly lookups: Lookups
  readonly peerMacs: PeerMacs
  readonly publicUrl: string
  readonly now: () => number
}

/** The peering of a request, with its sender and receiver. Each id is given as text and as bytes. */
export type PeeringIds = {
  readonly ledger: string
  readonly ledgerId: Uuid
  readonly peer: string
  readonly peerId: Uuid
  readonly remoteLedger: string
  readonly remoteLedgerId: Uuid
}

/** A request whose signature by the peer's server was verified. */
export type PeerRequest = PeeringIds & {
  readonly nonce: Uint8Array
  readonly contact: PeerContact
}

/**
 * Parses the headers of a signed request. `path`: the request's path, unchanged. Verifies neither the signature nor
 * the digest of the body. Throws ApiError.
 */
export function readRequestSignature(
  { publicUrl }: Pick<PeerAuthDeps, 'publicUrl'>,
  {
    method,
    path,
    headers,
  }: { readonly method: string; readonly path: string; readonly headers: RequestHeaders },
): RequestSignature {
  try {
    return parseRequestSignature(headers, { method, targetUri: publicUrl + path })
  } catch (error) {
    if (error instanceof RequestSignatureError) throw new ApiError(error.code, error.message)
    throw error
  }
}

/**
 * Verifies that the peering is active, and that the peer signed the request recently, with the current key of its
 * ledger. Throws ApiError.
 */
export async function authenticatePeer(deps: PeerAuthDeps, signed: RequestSignature): Promise<PeerRequest> {
  const { ids, contact } = await getContact(deps, signed)
  const key = contact.keys.find(({ kid }) => kid === signed.keyid)
  if (!key) throw new ApiError('key_unknown', `the peer has no key ${signed.keyid}`)
  if (key.untilSeq !== null) {
    throw new ApiError(
      'key_not_current',
      `the peer has replaced ${signed.keyid} after its entry ${key.untilSeq}`,
    )
  }
  verifyFresh(deps, signed)
  verifySigned(signed, publicKeyOf(key))
  refuseState(contact)
  return { ...ids, nonce: signed.nonce, contact }
}

/**
 * Finds the peering that a request names. Throws `peer_unknown`, or `overloaded` if too many requests are looking up
 * peerings.
 */
export async function getContact(
  deps: Pick<PeerAuthDeps, 'lookups' | 'peerMacs'>,
  { peering, from, to }: RequestSignature,
): Promise<{ readonly ids: PeeringIds; readonly contact: PeerContact }> {
  const ids = {
    ledger: to,
    ledgerId: parseId('led', to),
    peer: peering,
    peerId: parseId('peer', peering),
    remoteLedger: from,
    remoteLedgerId: parseId('led', from),
  }
  const found = await deps.lookups.findContact(ids)
  const contact = found && authenticContact(deps, ids, found)
  if (!contact || contact.keys.length === 0) {
    throw new ApiError('peer_unknown', `${to} has no peering ${peering} with ${from}`)
  }
  return { ids, contact }
}

/** Cache of parsed keys. Parsing takes 4 µs, and one key signs all 500 entries of a request. */
const parsedKeys = new WeakMap<object, PublicKey>()

/** Parses a peer's key. The result is cached by the identity of `row`, so `row` MUST NOT change. */
export function publicKeyOf(row: Pick<PeerKeyRow, 'alg' | 'spki'>): PublicKey {
  const known = parsedKeys.get(row)
  if (known) return known
  const key = parsePublicKey(row.alg, row.spki)
  parsedKeys.set(row, key)
  return key
}

export function verifyFresh({ now }: Pick<PeerAuthDeps, 'now'>, { createdMs }: RequestSignature): void {
  if (isWithinWindow(createdMs, now())) return
  throw new ApiError(
    'request_expired',
    `the request was signed at ${new Date(createdMs).toISOString()}, too far from the time of this server`,
    {
      retryable: true,
    },
  )
}

export function verifySigned(signed: RequestSignature, key: PublicKey): void {
  if (verifyRequestSignature(signed, key, nativeProviders.verifySignature)) return
  throw new ApiError('signature_invalid', 'the key did not sign this request to this server and this ledger')
}

export function refuseState({ state }: Pick<PeerContact, 'state'>): void {
  if (state === 'suspended') {
    throw new ApiError('peer_suspended', 'this side has suspended the peering', {
      retryable: true,
      retryAfterMs: 60_000,
    })
  }
  if (state === 'revoked') throw new ApiError('peer_revoked', 'the peering was revoked')
}
