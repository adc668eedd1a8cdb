import { join } from 'node:path'
import { directoryStore } from './directory-store.ts'
import { type ArchiveStores, openS3Stores } from './s3-store.ts'
import type { ArchiveLocation } from './settings.ts'

/** Opens the stores of an archive's ledgers. Each ledger has a directory or prefix, named after its id. */
export async function openArchiveStores(location: ArchiveLocation): Promise<ArchiveStores> {
  if (location.kind === 's3') return openS3Stores(location)
  return { of: (ledger) => directoryStore(join(location.directory, ledger)), close() {} }
}
