import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** Seals private keys at rest, and authenticates rows that grant something. `context` binds a sealed secret to its place, so that rows can't be swapped. */
export type MasterKey = {
  seal(secret: Uint8Array, context: string): Buffer
  /** Throws when the key is another one, or the bytes or their context were changed. */
  open(sealed: Uint8Array, context: string): Buffer
  /** 32 bytes: HMAC-SHA256 under a key of its own, derived from this one. */
  mac(text: string, context: string): Buffer
  isMac(mac: Uint8Array, text: string, context: string): boolean
  /**
   * From now on `seal` and `mac` do as whoever sealed this did: of two master keys, the one that the database says is in use. Throws
   * as `open` does.
   */
  followSealed(sealed: Uint8Array, context: string): void
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM; sealed = nonce ‖ tag ‖ ciphertext. `key`: 32 bytes. */
export function makeMasterKey(key: Uint8Array): MasterKey {
  const macKey = Buffer.from(hkdfSync('sha256', key, '', 'tallystick mac', 32))
  const masterKey: MasterKey = {
    seal(secret, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
      const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
    },
    open(sealed, context) {
      const nonce = sealed.subarray(0, NONCE_BYTES)
      const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(context)).setAuthTag(tag)
      try {
        return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
      } catch {
        throw new Error(
          'a sealed key cannot be opened: TALLYSTICK_MASTER_KEY is not the one that sealed it, or the row was changed',
        )
      }
    },
    mac(text, context) {
      return createHmac('sha256', macKey)
        .update(JSON.stringify([context, text]))
        .digest()
    },
    isMac(mac, text, context) {
      const expected = masterKey.mac(text, context)
      return mac.length === expected.length && timingSafeEqual(mac, expected)
    },
    followSealed(sealed, context) {
      masterKey.open(sealed, context)
    },
  }
  return masterKey
}

/** Names a key without telling anything about it: 8 bytes. */
export function masterKeyId(key: Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'tallystick master key id', 8))
}
