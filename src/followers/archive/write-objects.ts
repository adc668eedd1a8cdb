import { equalBytes } from '../../proof/bytes.ts'
import { sha256Hex } from '../../signing/sha256.ts'
import { ARCHIVE_OBJECT_BYTES_MAX } from '../../verify/archive/limits.ts'
import type { ArchiveObject } from '../../verify/archive/seal.ts'
import { type ArchiveStore, ArchiveStoreError } from '../../verify/archive/store.ts'

/**
 * Thrown if the archive differs from what was written, for example if an object of this name has different content. The
 * worker cannot repair this.
 */
export class ArchiveConflict extends Error {
  constructor(name: string, finding: string) {
    super(`the archive's ${name} ${finding}`)
    this.name = 'ArchiveConflict'
  }
}

export type ObserveObject = (bytes: number) => void

/**
 * Writes an object if it does not exist yet. Then reads the object back and compares it. Throws ArchiveConflict if the
 * existing object has other content. Throws ArchiveStoreError if a written object has other content when it is read
 * back.
 */
export async function writeObject(
  store: ArchiveStore,
  name: string,
  bytes: Uint8Array,
  observe?: ObserveObject,
): Promise<ArchiveObject> {
  const outcome = await store.put(name, bytes)
  const stored = await store.get(name, ARCHIVE_OBJECT_BYTES_MAX)
  if (stored === null || !equalBytes(stored, bytes)) {
    if (outcome === 'exists' && stored !== null) throw new ArchiveConflict(name, 'differs from this ledger’s')
    throw new ArchiveStoreError(
      `${name} was written, and ${stored === null ? 'is missing' : 'reads back differently'}`,
    )
  }
  observe?.(bytes.length)
  return { name, bytes: bytes.length, sha256: sha256Hex(bytes) }
}
