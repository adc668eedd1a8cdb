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

/** Reads what has left Postgres, with the keys that the master key opens. */
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
 * The same for a command, which nobody waits for. It ends with the process: sockets that are kept for a next request hold up none. null: the
 * environment lacks the archive, or the master key.
 */
export async function openContentForCommand(config: Config): Promise<ArchivedContent | null> {
  if (config.archive === null || config.masterKey === null) return null
  const stores = await openArchiveStores(config.archive.place)
  const masterKey = makeMasterKeys(config.masterKey, config.previousMasterKey)
  return openArchivedContent(masterKey, { stores, msMax: ARCHIVE_UNHURRIED_MS_MAX })
}

/** Warns, where no archive is set, if content lies there alone. */
export async function warnOfReleased(db: Db, log: Logger): Promise<void> {
  if (await hasReleased(db))
    log.warn(
      'content has left Postgres, and TALLYSTICK_ARCHIVE is not set: reads of it are refused (docs/operate/backup-and-archive.md#content-that-leaves-postgres)',
    )
}
