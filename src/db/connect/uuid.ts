import { type Uuid, uuidOfBytes } from '../../proof/ids.ts'

/** Returns the smallest UUIDv7 of the given millisecond. */
export function firstUuidv7(ms: number): Uuid {
  const id = Buffer.alloc(16)
  id.writeUIntBE(ms, 0, 6)
  return uuidOfBytes(id)
}
