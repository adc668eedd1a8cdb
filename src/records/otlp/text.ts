import { isUtf8 } from 'node:buffer'

/**
 * Decodes bytes that should be UTF-8. An invalid byte becomes a lone surrogate, U+DC80 to U+DCFF, as with Python's
 * `surrogateescape`. With U+FFFD instead, different bytes would become the same text.
 */
export function textOfBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  // Two bytes are reserved for each input byte, because each input byte becomes at most one unit of UTF-16.
  const units = Buffer.allocUnsafe(2 * bytes.length)
  let end = 0
  let start = 0
  for (let at = 0; at < bytes.length; ) {
    const length = lengthOfCharacter(bytes[at]!)
    const isWhole = length === 1 || (length > 1 && isUtf8(bytes.subarray(at, at + length)))
    if (isWhole && at + length <= bytes.length) {
      at += length
      continue
    }
    if (start < at) end += units.write(bytes.toString('utf8', start, at), end, 'utf16le')
    end = units.writeUInt16LE(0xdc00 + bytes[at]!, end)
    start = ++at
  }
  end += units.write(bytes.toString('utf8', start), end, 'utf16le')
  return units.toString('utf16le', 0, end)
}

/**
 * Returns the length in bytes of a character that begins with this byte. Returns 0 if no character begins with this
 * byte.
 */
function lengthOfCharacter(first: number): number {
  if (first < 0x80) return 1
  if (first < 0xc2 || first > 0xf4) return 0
  if (first < 0xe0) return 2
  return first < 0xf0 ? 3 : 4
}
