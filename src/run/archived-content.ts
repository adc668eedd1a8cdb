import type { Logger } from 'pino'
import { hasReleased } from '../db/chain/archive-releases.ts'
import type { Db } from '../db/connect/client.ts'
import { archiveKeyContext } from '../signing/archive-keys.ts'
import { DocumentKeys } from '../signing/document-keys.ts'
import type { MasterKey } from '../signing/master-key.ts'
import { makeMasterKeys } from '../signing/master-keys.ts'
import { ArchivedContent, type ArchivedContentDeps } from '../verify/archive/archived-content.ts'
import { ARCHIVE_UNHURRIED_MS_MAX } from '../verify/archive/limits.ts'
import { openArchiveStores } from '../verify/archive/open-stores.ts'
import type { Config } from './config.ts'

/** Opens a reader of archived content. The master key decrypts the documents' keys. */
export function openArchivedContent(
  masterKey: MasterKey,
  deps: Omit<ArchivedContentDeps, 'openKeys'>,
): ArchivedContent {
  return new ArchivedContent({
    ...deps,
    openKeys: ({ ledgerId, from, keys }) =>
      keys === null
        ? null
        : DocumentKeys.unpack(masterKey.open(Buffer.from(keys, 'base64'), archiveKeyContext(ledgerId, from))),
  })
}

/**
 * Opens a reader with long timeouts for a command. Returns null if the archive or the master key is not configured. The
 * reader need not be closed, because idle sockets do not keep the process alive.
 */
export async function openContentForCommand(config: Config): Promise<ArchivedContent | null> {
  if (config.archive === null || config.masterKey === null) return null
  const stores = await openArchiveStores(config.archive.location)
  const masterKey = makeMasterKeys(config.masterKey, config.previousMasterKey)
  return openArchivedContent(masterKey, { stores, msMax: ARCHIVE_UNHURRIED_MS_MAX })
}

/** Logs a warning if no archive is configured although some content is only in an archive. */
export async function warnOfReleased(db: Db, log: Logger): Promise<void> {
  if (await hasReleased(db))
    log.warn(
      'content was moved to the archive, and TALLYSTICK_ARCHIVE is not set: reads of that content are refused (docs/operate/backup-and-archive.md#content-that-leaves-postgres)',
    )
}
