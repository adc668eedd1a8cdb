import { archiveKeyContext } from '../signing/archive-keys.ts'
import { DocumentKeys } from '../signing/document-keys.ts'
import type { MasterKey } from '../signing/master-key.ts'
import { ArchivedContent, type ArchivedContentDeps } from '../verify/archive/archived-content.ts'

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
