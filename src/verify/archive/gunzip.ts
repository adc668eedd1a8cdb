import { promisify } from 'node:util'
import { crc32, type InflateRaw, inflateRaw } from 'node:zlib'
import { ProofError } from '../../proof/error.ts'

const inflated = promisify(inflateRaw) as unknown as (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number; readonly info: true },
) => Promise<{ readonly buffer: Buffer; readonly engine: InflateRaw }>

/**
 * Start of a gzip member (RFC 1952): magic number, method deflate, and flags. No flag is set, so that no optional field
 * follows.
 */
const HEADER = Buffer.of(0x1f, 0x8b, 8, 0)
/** Length of the whole header in bytes. It includes time, level and system, which are ignored. */
const HEADER_BYTES = 10
/** Length of the trailer in bytes: CRC-32 and length of the content. */
const TRAILER_BYTES = 8

/**
 * Decompresses gzip to at most `bytesMax` bytes. Throws ProofError `archive_object` unless the bytes are exactly one
 * member without optional fields.
 *
 * Node's own function is not strict enough. It also accepts several members, and any trailing bytes that begin with a
 * zero.
 */
export async function gunzipMember(bytes: Buffer, bytesMax: number): Promise<Buffer> {
  const body = bytes.subarray(HEADER_BYTES)
  if (!bytes.subarray(0, HEADER.length).equals(HEADER) || body.length < TRAILER_BYTES) throw noMember()
  const { buffer, engine } = await inflated(body, { maxOutputLength: bytesMax, info: true }).catch(() => {
    throw noMember()
  })
  const trailer = body.subarray(engine.bytesWritten)
  const isWhole =
    trailer.length === TRAILER_BYTES &&
    trailer.readUInt32LE(0) === crc32(buffer) &&
    trailer.readUInt32LE(4) === buffer.length
  if (!isWhole) throw noMember()
  return buffer
}

function noMember(): ProofError {
  return new ProofError('archive_object', 'the object is not exactly one complete gzip member')
}
