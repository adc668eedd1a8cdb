/** Like those of src/proof/bytes.ts, which must be portable; Node's own take a tenth of the time. */
export function toHex(bytes: Uint8Array): string {
  return view(bytes).toString('hex')
}

export function toBase64(bytes: Uint8Array): string {
  return view(bytes).toString('base64')
}

/** Without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return view(bytes).toString('base64url')
}

function view(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
