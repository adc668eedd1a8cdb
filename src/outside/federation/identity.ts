import type { Db } from '../../db/connect/client.ts'
import { getSelf } from '../../db/peers/peers.ts'
import { fromBase64, toBase64, toHex } from '../../proof/bytes.ts'
import type { PublicKey } from '../../proof/crypto.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import { keyThumbprint, parsePublicKey } from '../../proof/keys.ts'
import { nativeProviders } from '../../signing/native.ts'

/** Identity of a peer (docs/formats/federation.md, "Who a peer is"). */
export type Identity = {
  readonly ledger: string
  readonly url: string
  readonly origin: string
  /** Leaf hash of the ledger's first entry, in lower-case hex. */
  readonly genesis: string
  readonly envelopeKey: PeerKeyText
}

export type PeerKeyText = { readonly kid: string; readonly alg: 'EdDSA' | 'ES256'; readonly spki: string }

/** Returns the identity of a ledger of this server, with its current signing key. */
export async function identityOf(db: Db, ledgerId: Uuid, publicUrl: string): Promise<Identity> {
  const self = await getSelf(db, ledgerId)
  return {
    ledger: formatId('led', ledgerId),
    url: publicUrl,
    origin: self.origin,
    genesis: toHex(self.genesis),
    envelopeKey: { kid: self.envelopeKid, alg: self.alg, spki: toBase64(self.spki) },
  }
}

/**
 * Parses a peer's key. Throws ProofError if the text is not a key, or if `kid` is not the key's thumbprint. ES256 keys
 * are parsed too, although only Ed25519 keys can sign requests.
 */
export function parsePeerKey({ kid, alg, spki }: PeerKeyText): PublicKey {
  const key = parsePublicKey(alg, fromBase64(spki))
  const thumbprint = toHex(keyThumbprint(nativeProviders.sha256, key))
  if (thumbprint !== kid)
    throw new ProofError('kid_mismatch', `the key's thumbprint is ${thumbprint}, not ${kid}`)
  return key
}

export type Handshake = {
  readonly peer: string
  /** SHA-256 of the token, in lower-case hex. */
  readonly tokenHash: string
  readonly inviter: Identity
  readonly invited: Identity
}

/** Returns the digest that both sides sign, in lower-case hex. */
export function handshakeDigest(handshake: Handshake): string {
  return toHex(nativeProviders.sha256(Buffer.from(canonicalize(handshake))))
}
