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
  /**
   * 40 bytes that Postgres can check: which key it is (8), and HMAC-SHA256 under a key of its own, derived from this one, over the
   * chunks one after another.
   */
  databaseMac(chunks: Iterable<Uint8Array>): Buffer
  /** Keys that Postgres checks `databaseMac` with: two while one master key replaces another. */
  databaseKeys(): DatabaseKey[]
  /** 32 bytes: HMAC-SHA256 under a key of its own, derived from this one. */
  mac(text: string, context: string): Buffer
  isMac(mac: Uint8Array, text: string, context: string): boolean
  /**
   * From now on `seal` and `mac` use the key that sealed this: the one of two master keys that the database says is in
   * use. Throws as `open` does.
   */
  followSealed(sealed: Uint8Array, context: string): void
}

/** HMAC-SHA256's key as Postgres needs it, which can hash but has no HMAC: its two padded blocks (RFC 2104 §2). */
export type DatabaseKey = { readonly id: Buffer; readonly innerPad: Buffer; readonly outerPad: Buffer }

const NONCE_BYTES = 12
const TAG_BYTES = 16
const SHA256_BLOCK_BYTES = 64

/** AES-256-GCM; sealed = nonce ‖ tag ‖ ciphertext. `key`: 32 bytes. */
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

/** Names a key without telling anything about it: 8 bytes. */
export function masterKeyId(key: Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'tallystick master key id', 8))
}
