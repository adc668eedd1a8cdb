/**
 * Reads a whole stream. If the stream has more than `bytesMax` bytes, stops reading and throws BodyTooLong. The bytes
 * are counted, because declared lengths cannot be trusted.
 */
export async function readBody(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  // A loop that ends early destroys the stream.
  for await (const part of body) {
    bytes += part.length
    if (bytes > bytesMax) throw new BodyTooLong(bytesMax)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

export class BodyTooLong extends Error {
  constructor(bytesMax: number) {
    super(`it has more than ${bytesMax} bytes`)
    this.name = 'BodyTooLong'
  }
}
