import type pg from 'pg'
import { readFindKey } from '../../db/chain/signed-entries.ts'
import { chunkIdOf } from '../../db/chunks/read-chunks.ts'
import { ArchiveFault, isAway } from '../../db/connect/archive.ts'
import { isUnavailable } from '../../db/connect/failures.ts'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import { ERASURE_ATTEMPTS_MAX } from '../../db/limits.ts'
import {
  digestOfItem,
  eraseDocuments,
  forgetLabels,
  isConcurrentChange,
  isOfItem,
  type LabelPosition,
  listPendingErasures,
  listWaitingForArchive,
  type PendingErasure,
  readErasedChunks,
} from '../../db/records/pending-erasures.ts'
import { Slice } from '../../load/slice.ts'
import type { FindKey } from '../../proof/entry/verify-entry.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import { destroyDocumentKeys } from '../archive/destroy-keys.ts'
import {
  ERASURE_CALLS_AT_ONCE,
  ERASURE_CHUNKS_PER_CALL,
  ERASURES_PER_CALL,
  ERASURES_PER_ROUND,
  LABELS_PER_QUERY,
} from '../limits.ts'
import type { RefusedItems } from '../refused.ts'
import { verifyErasure } from './verify-erasure.ts'

export type ErasureDeps = {
  readonly pool: pg.Pool
  readonly masterKey: MasterKey
  /** Erasures that could not be carried out, for example because the entry does not order the erasure. */
  readonly refusedErasures: RefusedItems
  /** Erasures that wait until the archive returns their documents. */
  readonly waitingErasures: RefusedItems
  readonly observeErasure?: (documents: number) => void
  readonly log: {
    info(details: object, message: string): void
    error(details: object, message: string): void
  }
}

/**
 * Makes rounds that remove erased documents of all ledgers, page by page. Each round returns true if there are more
 * pages.
 *
 * Many erasures of one ledger are carried out in one transaction. After this transaction they are no longer pending. So
 * another worker can continue the work of a killed worker, and two workers at the same time do no harm. A refused
 * erasure stays pending and does not stop the other erasures.
 */
export function makeErasureRound(deps: ErasureDeps): () => Promise<boolean> {
  let last: PendingErasure | null = null
  let lastLabel: LabelPosition | null = null
  return async () => {
    const pending = await listPendingErasures(deps.pool, last, ERASURES_PER_ROUND)
    last = pending.length < ERASURES_PER_ROUND ? null : pending.at(-1)!
    const isPaused = (name: string) =>
      deps.refusedErasures.isPaused(name) || deps.waitingErasures.isPaused(name)
    const due = pending.filter((erasure) => !isPaused(nameOf(erasure)))
    if (due.length > 0) {
      const findKey = await readFindKey(deps.pool)
      const calls = inCalls(due)
      while (calls.length > 0)
        await Promise.all(
          calls.splice(0, ERASURE_CALLS_AT_ONCE).map((erasures) => carryOut(deps, erasures, findKey)),
        )
    }
    lastLabel = await forgetLabels(deps.pool, lastLabel, LABELS_PER_QUERY)
    return last !== null
  }
}

/**
 * Groups erasures for `carryOut`. All erasures of a group are of one ledger and of few chunks, because the content of
 * these chunks is in memory at the same time.
 */
function inCalls(erasures: readonly PendingErasure[]): PendingErasure[][] {
  const calls: PendingErasure[][] = []
  const chunks = new Set<Uuid>()
  for (const erasure of erasures) {
    const call = calls.at(-1) ?? []
    const chunk = isOfItem(erasure) ? chunkIdOf(erasure.subjectId) : null
    const hasRoom =
      call[0]?.ledgerId === erasure.ledgerId &&
      call.length < ERASURES_PER_CALL &&
      (chunk === null || chunks.has(chunk) || chunks.size < ERASURE_CHUNKS_PER_CALL)
    if (hasRoom) call.push(erasure)
    else {
      calls.push([erasure])
      chunks.clear()
    }
    if (chunk !== null) chunks.add(chunk)
  }
  return calls
}

/**
 * Carries out a group of erasures. If one of them is refused, or if the archive has lost its document, the group is
 * split into halves again and again until this erasure is found. If the archive is unreachable, the group is not split,
 * because each half would wait for the archive again.
 */
async function carryOut(
  deps: ErasureDeps,
  erasures: readonly PendingErasure[],
  findKey: FindKey,
): Promise<void> {
  const [first] = erasures as readonly [PendingErasure]
  const ledger = formatId('led', first.ledgerId)
  try {
    const documents = await eraseAll(deps, erasures, findKey)
    for (const erasure of erasures)
      for (const paused of [deps.refusedErasures, deps.waitingErasures]) paused.forget(nameOf(erasure))
    if (documents === 0) return
    deps.observeErasure?.(documents)
    const details = { ledger, documents, seq: first.seq, to: erasures.at(-1)!.seq }
    deps.log.info(details, 'documents were erased')
  } catch (error) {
    if (isUnavailable(error as Error)) throw error
    if (isAway(error)) {
      // Only erasures of archived content wait. The other erasures need no archive, because their content is in
      // Postgres.
      const waiting = await listWaitingForArchive(deps.pool, first.ledgerId, erasures)
      wait(deps, [...waiting], error)
      const others = erasures.filter((erasure) => !waiting.has(erasure))
      return others.length === 0 ? undefined : carryOut(deps, others, findKey)
    }
    if (erasures.length > 1) {
      const middle = erasures.length >> 1
      await carryOut(deps, erasures.slice(0, middle), findKey)
      await carryOut(deps, erasures.slice(middle), findKey)
      return
    }
    if (error instanceof ArchiveFault) return wait(deps, erasures, error)
    // A refused erasure is logged only once. Otherwise an attacker whose login can make such rows could fill the log.
    const details = { err: error, ledger, seq: first.seq, document: first.document }
    if (deps.refusedErasures.refuse(nameOf(first))) deps.log.error(details, 'an erasure is refused')
  }
}

/**
 * Marks erasures as waiting for the archive, and logs each of them only once. They do not count as refused, because
 * they are not forged.
 */
function wait(
  { waitingErasures, log }: ErasureDeps,
  erasures: readonly PendingErasure[],
  err: unknown,
): void {
  const added = erasures.filter((erasure) => waitingErasures.refuse(nameOf(erasure)))
  if (added.length === 0) return
  const [{ ledgerId, seq }] = added as [PendingErasure]
  const details = { err, ledger: formatId('led', ledgerId), seq, documents: added.length }
  log.error(details, 'an erasure waits for the archive')
}

/**
 * Verifies the entries and removes their documents. All entries MUST be of one ledger. Returns the number of removed
 * documents.
 */
export async function eraseAll(
  { pool, masterKey }: Pick<ErasureDeps, 'pool' | 'masterKey'>,
  erasures: readonly PendingErasure[],
  findKey: FindKey,
): Promise<number> {
  const { ledgerId } = erasures[0]!
  for (let attempt = 1; ; attempt++) {
    const chunks = await readErasedChunks(pool, ledgerId, erasures)
    const slice = new Slice()
    for (const erasure of erasures) {
      if (slice.isOver) await slice.next()
      verifyErasure(
        isOfItem(erasure) ? { ...erasure, digest: digestOfItem(chunks, erasure) } : erasure,
        findKey,
      )
    }
    try {
      // Keys and rows change in one transaction, because a document that is only in the archive cannot be read any more
      // once its key is destroyed.
      return await withPooledTransaction(pool, async (client) => {
        await destroyDocumentKeys(client, masterKey, ledgerId, erasures)
        return eraseDocuments(client, ledgerId, erasures, chunks)
      })
    } catch (error) {
      if (!isConcurrentChange(error) || attempt === ERASURE_ATTEMPTS_MAX) throw error
    }
  }
}

function nameOf({ ledgerId, seq }: PendingErasure): string {
  return `${formatId('led', ledgerId)} ${seq}`
}
