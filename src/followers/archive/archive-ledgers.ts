import { type DueArchive, listDueArchives } from '../../db/chain/archives.ts'
import { formatId } from '../../proof/ids.ts'
import { ArchiveStoreError } from '../../verify/archive/store.ts'
import type { PausedLedgers } from '../checkpoints/faulty-ledgers.ts'
import { ARCHIVE_LEDGERS_PER_ROUND, ARCHIVE_ROUND_MS } from '../limits.ts'
import { type SealDeps, sealPrefix } from './seal-prefix.ts'

export type ArchiveDeps = SealDeps & {
  /** A prefix of a ledger is sealed when the prefix has `entries` entries, or when its first entry is `seconds` old. */
  readonly policy: { readonly entries: number; readonly seconds: number }
  readonly stopping: AbortSignal
  /** Ledgers whose next prefix could not be archived. */
  readonly unarchived: PausedLedgers
  readonly observeSeal?: (outcome: 'sealed' | 'failed') => void
  readonly log: {
    info(details: object, message: string): void
    error(details: object, message: string): void
  }
}

/**
 * Archives the next prefix of each due ledger. Handles as many ledgers as the time of a round allows. Returns true if
 * the caller should call again at once.
 *
 * A fault of a ledger is logged and does not stop the other ledgers. Throws ArchiveStoreError if the store fails,
 * because then no ledger can be archived.
 */
export async function archiveLedgers(deps: ArchiveDeps): Promise<boolean> {
  const due = await listDueArchives(deps.pool, { ...deps.policy, limit: ARCHIVE_LEDGERS_PER_ROUND })
  let sealed = 0
  const endsAtMs = performance.now() + ARCHIVE_ROUND_MS
  for (const one of due) {
    if (deps.stopping.aborted) return false
    if (performance.now() > endsAtMs) return true
    if (!deps.unarchived.isPaused(formatId('led', one.ledgerId)) && (await archive(deps, one))) sealed++
  }
  return sealed > 0
}

async function archive(deps: ArchiveDeps, due: DueArchive): Promise<boolean> {
  const ledger = formatId('led', due.ledgerId)
  try {
    const size = await sealPrefix(deps, due)
    deps.unarchived.resume(ledger)
    if (size === null) return false
    deps.observeSeal?.('sealed')
    deps.log.info({ ledger, from: due.from, size }, 'a prefix of the ledger was archived')
    return true
  } catch (error) {
    deps.observeSeal?.('failed')
    deps.unarchived.pause(ledger)
    deps.log.error({ err: error, ledger, from: due.from }, 'a prefix of the ledger could not be archived')
    if (error instanceof ArchiveStoreError) throw error
    return false
  }
}
