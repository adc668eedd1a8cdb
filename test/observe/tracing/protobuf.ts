/** Values of each field of a message, by field number: bytes, or bigint for numbers. */
export type Message = ReadonlyMap<number, readonly (Buffer | bigint)[]>

/**
 * Reads the Protocol Buffers wire format. It is independent of our encoder, because other software must be able to
 * read what we send.
 */
export function readMessage(bytes: Buffer): Message {
  const fields = new Map<number, (Buffer | bigint)[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('a field is cut')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const value = readValue(tag & 7, varint, take)
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value])
  }
  return fields
}

function readValue(
  wireType: number,
  varint: () => bigint,
  take: (length: number) => Buffer,
): Buffer | bigint {
  if (wireType === 0) return varint()
  if (wireType === 1) return take(8).readBigUInt64LE()
  if (wireType === 2) return take(Number(varint()))
  if (wireType === 5) return BigInt(take(4).readUInt32LE())
  throw new Error(`the wire type ${wireType}`)
}

export function bytesIn(message: Message, field: number): Buffer {
  return (message.get(field)?.[0] ?? Buffer.alloc(0)) as Buffer
}

export function textIn(message: Message, field: number): string {
  return bytesIn(message, field).toString()
}

export function numberIn(message: Message, field: number): bigint {
  return (message.get(field)?.[0] ?? 0n) as bigint
}

export function messagesIn(message: Message, field: number): Message[] {
  return (message.get(field) ?? []).map((bytes) => readMessage(bytes as Buffer))
}
