/** Returns 128 random bits as hex. Unlike `crypto.randomUUID`, it needs no secure context in browsers. */
export function makeIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
