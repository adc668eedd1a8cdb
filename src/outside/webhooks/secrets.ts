import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import type { Uuid } from '../../proof/ids.ts'
import type { Entropy } from '../../signing/entropy.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from '../../signing/native.ts'

/*
 * Signing keys of deliveries (Standard Webhooks): each secret is an HMAC key, which the receiver is told once, and an Ed25519
 * key, of which the receiver is shown the public half. Both are sealed together.
 */

const HMAC_KEY_BYTES = 32
const ED25519_SEED_BYTES = 32

/** Owner of a secret: sealed bytes that are moved to another endpoint, or to another ledger, cannot be opened there. */
type WebhookOf = { readonly ledgerId: Uuid; readonly webhookId: Uuid }

export type NewWebhookSecret = {
  /** UUIDv7: in the order in which an endpoint's secrets were made. */
  readonly secretId: Uuid
  readonly sealed: Buffer
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array
  /** `whsec_…`: it is shown once, and never again. */
  readonly secret: string
}

export function makeWebhookSecret(
  masterKey: Pick<MasterKey, 'seal'>,
  nowMs: number,
  entropy: Pick<Entropy, 'uuidv7'>,
  of: WebhookOf,
): NewWebhookSecret {
  const secretId = entropy.uuidv7(nowMs)
  const keys = randomBytes(HMAC_KEY_BYTES + ED25519_SEED_BYTES)
  const { key } = makeEd25519Signer(nativeProviders.sha256, keys.subarray(HMAC_KEY_BYTES), 'plain')
  return {
    secretId,
    sealed: masterKey.seal(keys, webhookSecretContext(of, secretId)),
    publicKey: key.raw,
    secret: `whsec_${keys.toString('base64', 0, HMAC_KEY_BYTES)}`,
  }
}

/** As receivers are shown it. `raw`: 32 bytes. */
export function formatWebhookPublicKey(raw: Uint8Array): string {
  return `whpk_${Buffer.from(raw).toString('base64')}`
}

/** Both signatures of a message, as the header has them. */
export type WebhookSigner = (message: Uint8Array) => readonly [v1: string, v1a: string]

/** Throws where the master key is another one, or the sealed bytes are another secret's. */
export function openWebhookSecret(
  masterKey: Pick<MasterKey, 'open'>,
  { secretId, sealed, ...of }: WebhookOf & { readonly secretId: Uuid; readonly sealed: Uint8Array },
): WebhookSigner {
  const keys = masterKey.open(sealed, webhookSecretContext(of, secretId))
  // Made once: given the bytes each time, an HMAC of a body costs 16 µs instead of 3.
  const hmacKey = createSecretKey(keys.subarray(0, HMAC_KEY_BYTES))
  const signer = makeEd25519Signer(nativeProviders.sha256, keys.subarray(HMAC_KEY_BYTES), 'plain')
  return (message) => [
    `v1,${createHmac('sha256', hmacKey).update(message).digest('base64')}`,
    `v1a,${Buffer.from(signer.sign(message)).toString('base64')}`,
  ]
}

/**
 * The value of `webhook-signature`. `signers`: one for each secret that is valid, newest first; `timestampSeconds`: the
 * value of `webhook-timestamp`. Receivers MUST check the bytes of the body as they came.
 */
export function signatureHeader(
  signers: readonly WebhookSigner[],
  id: string,
  timestampSeconds: number,
  body: string | Uint8Array,
): string {
  const text = typeof body === 'string' ? Buffer.from(body) : body
  const message = Buffer.concat([Buffer.from(`${id}.${timestampSeconds}.`), text])
  return signers.flatMap((sign) => sign(message)).join(' ')
}

/** Context that a secret is sealed for. */
export function webhookSecretContext({ ledgerId, webhookId }: WebhookOf, secretId: Uuid): string {
  return `webhook ${ledgerId} ${webhookId} ${secretId}`
}
