/** The 16 bytes of a uuid as Postgres reads and writes them in text. */
export function toUuid(id: Uint8Array): string {
  const hex = Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export function fromUuid(text: string): Uint8Array {
  return Buffer.from(text.replaceAll('-', ''), 'hex')
}

/** No UUIDv7 of this moment, or a later one, is smaller. */
export function firstUuidv7(ms: number): Uint8Array {
  const id = Buffer.alloc(16)
  id.writeUIntBE(ms, 0, 6)
  return id
}
