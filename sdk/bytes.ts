import { UsageError } from './errors.ts'

/** Bytes of any runtime and realm: a Buffer, `await request.arrayBuffer()`, any view. */
export type Bytes = ArrayBufferLike | ArrayBufferView

/**
 * Returns the bytes as a Uint8Array of this realm, without a copy. Shared memory is copied, because another thread
 * could change it during verification. Returns null if the value is not bytes, or if its buffer was transferred.
 */
export function asBytes(value: unknown): Uint8Array<ArrayBuffer> | null {
  try {
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, byteLength } = value
      return unshared(new Uint8Array(buffer, byteOffset, byteLength))
    }
    return isBuffer(value) ? unshared(new Uint8Array(value)) : null
  } catch {
    return null
  }
}

/** Returns the bytes as a Uint8Array. Throws UsageError if the value is not bytes. */
export function requireBytes(value: unknown, what: string): Uint8Array<ArrayBuffer> {
  const bytes = asBytes(value)
  if (bytes === null) throw new UsageError(`${what} must be bytes`)
  return bytes
}

/**
 * Returns whether a value is a buffer. It checks the internal slot, which buffers of every realm have, because
 * `instanceof` works within one realm only.
 */
function isBuffer(value: unknown): value is ArrayBufferLike {
  return hasLength(ArrayBuffer.prototype, value) || isShared(value)
}

/**
 * Returns whether a value is a SharedArrayBuffer. The class may be missing: browsers have it only on cross-origin
 * isolated pages.
 */
function isShared(value: unknown): value is SharedArrayBuffer {
  return typeof SharedArrayBuffer === 'function' && hasLength(SharedArrayBuffer.prototype, value)
}

function hasLength(prototype: object, value: unknown): boolean {
  try {
    Object.getOwnPropertyDescriptor(prototype, 'byteLength')!.get!.call(value)
    return true
  } catch {
    return false
  }
}

function unshared(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return isShared(bytes.buffer) ? new Uint8Array(bytes) : (bytes as Uint8Array<ArrayBuffer>)
}
