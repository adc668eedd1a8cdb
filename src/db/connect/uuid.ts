import { type Uuid, uuidOfBytes } from '../../proof/ids.ts'

/** No UUIDv7 of this moment, or a later one, is smaller. */
export function firstUuidv7(ms: number): Uuid {
  const id = Buffer.alloc(16)
  id.writeUIntBE(ms, 0, 6)
  return uuidOfBytes(id)
}
