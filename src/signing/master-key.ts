import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/**
 * Seals private keys at rest, and authenticates rows that grant a privilege. `context` binds a sealed secret to its
 * row, so that an attacker cannot swap the sealed secrets of two rows.
 */
export type MasterKey = {
  seal(secret: Uint8Array, context: string): Buffer
  /** Returns the secret. Throws if another key sealed it, or if the bytes or the context were changed. */
  open(sealed: Uint8Array, context: string): Buffer
  /**
   * Returns a MAC that Postgres can check: the key's id (8 bytes) and an HMAC-SHA256 (32 bytes) over the concatenated
   * chunks.
   *
   * The HMAC's key is derived from the master key for this purpose alone.
   */
  databaseMac(chunks: Iterable<Uint8Array>): Buffer
  /**
   * Returns the keys with which Postgres checks `databaseMac`. There are two keys while one master key replaces
   * another.
   */
  databaseKeys(): DatabaseKey[]
  /** Returns an HMAC-SHA256 (32 bytes). The HMAC's key is derived from the master key for this purpose alone. */
  mac(text: string, context: string): Buffer
  isMac(mac: Uint8Array, text: string, context: string): boolean
  /**
   * Makes `seal` and `mac` use the master key that sealed this secret. The secret comes from the database, so the
   * database decides which of two master keys is used. Throws if `open` would throw.
   */
  followSealed(sealed: Uint8Array, context: string): void
}

/**
 * HMAC-SHA256 key for Postgres, as the key's two padded blocks (RFC 2104 §2). Postgres needs these blocks, because it
 * has hash functions but no HMAC.
 */
export type DatabaseKey = { readonly id: Buffer; readonly innerPad: Buffer; readonly outerPad: Buffer }

const NONCE_BYTES = 12
const TAG_BYTES = 16
const SHA256_BLOCK_BYTES = 64

/** Returns a master key for AES-256-GCM. `key` has 32 bytes. A sealed secret is nonce ‖ tag ‖ ciphertext. */
export function makeMasterKey(key: Uint8Array): MasterKey {
  const macKey = Buffer.from(hkdfSync('sha256', key, '', 'tallystick mac', 32))
  const databaseKey = Buffer.from(hkdfSync('sha256', key, '', 'tallystick database mac', 32))
  const id = masterKeyId(key)
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
    databaseMac(chunks) {
      const hmac = createHmac('sha256', databaseKey)
      for (const chunk of chunks) hmac.update(chunk)
      return Buffer.concat([id, hmac.digest()])
    },
    databaseKeys: () => [{ id, innerPad: pad(databaseKey, 0x36), outerPad: pad(databaseKey, 0x5c) }],
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

function pad(key: Buffer, byte: number): Buffer {
  const block = Buffer.alloc(SHA256_BLOCK_BYTES, byte)
  key.forEach((each, i) => {
    block[i] = each ^ byte
  })
  return block
}

/** Returns 8 bytes that identify the key and reveal nothing else about it. */
export function masterKeyId(key: Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'tallystick master key id', 8))
}
