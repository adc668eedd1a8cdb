import { UsageError } from './errors.ts'

/** Bytes as runtimes hand them out: a Buffer, `await request.arrayBuffer()`, a view of any kind, of any realm. */
export type Bytes = ArrayBufferLike | ArrayBufferView

/**
 * Returns the bytes as a Uint8Array of this realm, without a copy. Shared memory is copied, because another thread may change
 * it during verification. null: the value is not bytes, or was transferred away.
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

/** Throws UsageError: `what` is bytes. */
export function requireBytes(value: unknown, what: string): Uint8Array<ArrayBuffer> {
  const bytes = asBytes(value)
  if (bytes === null) throw new UsageError(`${what} is bytes`)
  return bytes
}

/** Checks the internal slot, which buffers of every realm have: `instanceof` works in one realm only. */
function isBuffer(value: unknown): value is ArrayBufferLike {
  return hasLength(ArrayBuffer.prototype, value) || isShared(value)
}

/** Browsers have SharedArrayBuffer only where a page is isolated. */
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
