import type pg from 'pg'
import {
  findChain,
  findRoot,
  insertCheckpoint,
  listLedgersAhead,
  readLeaves,
  readTree,
  storeTree,
  tryLockTree,
} from '../../db/chain/checkpoints.ts'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import { equalBytes } from '../../proof/bytes.ts'
import type { Signer } from '../../proof/crypto.ts'
import { toBeSigned } from '../../proof/envelope/cose.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import { addTreeHead, encodeTreeHeader, findTreeHead } from '../../proof/receipt/tree-head.ts'
import { signCheckpoint, verifyCheckpoint } from '../../proof/tree/checkpoint.ts'
import { type Frontier, frontierRoot, TILE_HASHES } from '../../proof/tree/merkle.ts'
import { nativeProviders } from '../../signing/native.ts'
import { TREE_ENTRIES_PER_STEP } from '../../verify/limits.ts'
import { CHECKPOINT_AGE_MS_MIN, CHECKPOINT_LEDGERS_PER_ROUND } from '../limits.ts'
import { ContradictionError, listContradictions } from './contradictions.ts'
import type { PausedLedgers } from './faulty-ledgers.ts'
import { growTree, packFrontier, unpackFrontier } from './grow-tree.ts'
import type { StoredCheckpoints } from './stored-checkpoints.ts'

export type PublishDeps = {
  readonly pool: pg.Pool
  readonly noteSigner: Signer
  readonly storedCheckpoints: StoredCheckpoints
  readonly faulty: PausedLedgers
  readonly observeCheckpoint?: (ledgerId: Uuid) => void
  readonly log: { error(details: object, message: string): void }
}

/**
 * Publishes a checkpoint for each ledger that has grown. Returns true if the caller should call again at once.
 *
 * A fault of a ledger is logged and does not stop the other ledgers. Throws errors that affect all ledgers, for example
 * if the database is unavailable.
 */
export async function publishCheckpoints(deps: PublishDeps): Promise<boolean> {
  const ledgers = await listLedgersAhead(deps.pool, {
    ageMs: CHECKPOINT_AGE_MS_MIN,
    except: deps.faulty.paused.map((ledger) => parseId('led', ledger)),
    limit: CHECKPOINT_LEDGERS_PER_ROUND,
  })
  let behind = ledgers.length === CHECKPOINT_LEDGERS_PER_ROUND
  for (const ledgerId of ledgers) {
    const ledger = formatId('led', ledgerId)
    try {
      behind = (await publishCheckpoint(deps, ledgerId)) || behind
      deps.faulty.resume(ledger)
    } catch (error) {
      deps.faulty.pause(ledger)
      deps.log.error({ err: error, ledger }, 'the ledger gets no checkpoint')
    }
  }
  return behind
}

/**
 * Grows the tree of a ledger by at most TREE_ENTRIES_PER_STEP entries. Publishes a checkpoint if the tree then contains
 * all entries. Returns true if there is more to do.
 *
 * The note is stored outside Postgres before anybody can see it. So if an older backup is restored, the missing entries
 * are noticed. If the worker crashes before the note is also in Postgres, no harm is done: the note covers only
 * committed entries.
 */
async function publishCheckpoint(deps: PublishDeps, ledgerId: Uuid): Promise<boolean> {
  let published = false
  const more = await withPooledTransaction(deps.pool, async (client) => {
    if (!(await tryLockTree(client, ledgerId))) return false
    const tree = await readTree(client, ledgerId)
    if (tree.headSize <= tree.size) return false
    const ledger = formatId('led', ledgerId)
    const goesOnAsAnother = await checkStored(deps.storedCheckpoints, client, ledgerId, ledger)

    const size = Math.min(tree.headSize, tree.size + TREE_ENTRIES_PER_STEP)
    const frontier = unpackFrontier(tree.size, tree.hashes)
    await checkStoredTree(client, ledgerId, ledger, frontier)
    const leaves = await readLeaves(client, ledgerId, tree.size - (tree.size % TILE_HASHES), size)
    const growths = growTree(nativeProviders.sha256, frontier, leaves)
    await storeTree(client, ledgerId, { size, hashes: packFrontier(frontier) }, growths)
    if (size < tree.headSize) return true

    const root = frontierRoot(nativeProviders.sha256, frontier)
    const chain = (await findChain(client, ledgerId, size - 1))!
    if (!equalBytes(tree.noteKid, deps.noteSigner.kid)) {
      throw new Error(`${ledger} was made with a note key other than this worker's`)
    }
    const signed = signCheckpoint(
      { origin: tree.origin, size, root, chain },
      deps.noteSigner,
      nativeProviders.sha256,
    )
    const note = addTreeHead(signed, tree.issuer, deps.noteSigner, nativeProviders.sha256)
    verifyNote(note, tree, deps.noteSigner)
    await insertCheckpoint(client, ledgerId, { size, root, chain, note })
    if (goesOnAsAnother) await deps.storedCheckpoints.setAside(ledger)
    await deps.storedCheckpoints.store(ledger, note)
    published = true
    return false
  })
  if (published) deps.observeCheckpoint?.(ledgerId)
  return more
}

/**
 * Verifies a note before it is stored, with the same function that verifiers use, because later checkpoints and
 * receipts depend on the note. Throws the errors of verifyCheckpoint. Throws an Error if the tree head is not signed.
 */
function verifyNote(
  note: string,
  { origin, issuer }: { readonly origin: string; readonly issuer: string },
  { key, kid }: Signer,
): void {
  const { sha256, verifySignature } = nativeProviders
  const { size, root } = verifyCheckpoint(note, { origin, key }, sha256, verifySignature)
  const signature = findTreeHead(note, key, sha256)
  const header = encodeTreeHeader({ issuer, origin, size }, kid)
  if (!signature || !verifySignature(key, toBeSigned(header, root), signature))
    throw new Error('the tree head of the note is not signed')
}

/**
 * Throws if the stored tree differs from the last signed tree. Without this check, an attacker whose login can write to
 * the table could make this worker sign a wrong root. If there is no checkpoint of the tree's size, no signed root
 * exists, and nothing is checked.
 */
async function checkStoredTree(
  db: pg.ClientBase,
  ledgerId: Uuid,
  ledger: string,
  frontier: Frontier,
): Promise<void> {
  const signed = await findRoot(db, ledgerId, frontier.size)
  if (signed && !equalBytes(signed, frontierRoot(nativeProviders.sha256, frontier))) {
    throw new Error(`${ledger}: the stored tree differs from its checkpoint of ${frontier.size} entries`)
  }
}

/**
 * Returns false if the ledger extends its stored checkpoint. If it does not, returns true if the operator has
 * acknowledged this, and throws ContradictionError otherwise.
 */
async function checkStored(
  storedCheckpoints: StoredCheckpoints,
  db: pg.ClientBase,
  ledgerId: Uuid,
  ledger: string,
): Promise<boolean> {
  const checkpoint = await storedCheckpoints.find(ledger)
  if (!checkpoint) return false
  const [contradiction] = await listContradictions(db, [{ ledger, ledgerId, checkpoint }])
  if (contradiction && !contradiction.isAcknowledged) throw new ContradictionError(contradiction)
  return contradiction !== undefined
}
