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
import type { FaultyLedgers } from './faulty-ledgers.ts'
import { growTree, packFrontier, unpackFrontier } from './grow-tree.ts'
import type { KeptCheckpoints } from './kept.ts'

export type PublishDeps = {
  readonly pool: pg.Pool
  readonly noteSigner: Signer
  readonly kept: KeptCheckpoints
  readonly faulty: FaultyLedgers
  /** Hears of each checkpoint that is there to be seen. */
  readonly observeCheckpoint?: (ledgerId: Uuid) => void
  readonly log: { error(details: object, message: string): void }
}

/**
 * One round: a checkpoint for every ledger whose chain has grown, from its stored frontier. Returns whether
 * there is more to do at once. A ledger's fault is logged and holds up no other ledger. An error that concerns all of
 * them (the database is away) is thrown.
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
 * Grows a ledger's tree by as many entries as one step takes; when that reaches the head, publishes a
 * checkpoint. Returns whether there is more to do. Order matters: the note is kept outside Postgres before anybody
 * can see it, so that whatever was published can't be undone by a restored backup unnoticed. (A crash between the
 * two leaves a kept note of entries that are committed.)
 */
async function publishCheckpoint(deps: PublishDeps, ledgerId: Uuid): Promise<boolean> {
  let published = false
  const more = await withPooledTransaction(deps.pool, async (client) => {
    if (!(await tryLockTree(client, ledgerId))) return false
    const tree = await readTree(client, ledgerId)
    if (tree.headSize <= tree.size) return false
    const ledger = formatId('led', ledgerId)
    const goesOnAsAnother = await checkKept(deps.kept, client, ledgerId, ledger)

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
      throw new Error(`${ledger} was made with another note key than this worker's`)
    }
    const signed = signCheckpoint(
      { origin: tree.origin, size, root, chain },
      deps.noteSigner,
      nativeProviders.sha256,
    )
    const note = addTreeHead(signed, tree.issuer, deps.noteSigner, nativeProviders.sha256)
    verifyNote(note, tree, deps.noteSigner)
    await insertCheckpoint(client, ledgerId, { size, root, chain, note })
    if (goesOnAsAnother) await deps.kept.setAside(ledger)
    await deps.kept.keep(ledger, note)
    published = true
    return false
  })
  if (published) deps.observeCheckpoint?.(ledgerId)
  return more
}

/**
 * Checks a note with the verifier's function before it is stored, because later checkpoints and receipts build on it. Throws what
 * verifyCheckpoint throws, and an Error for a tree head that is not signed.
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
 * Throws when the stored tree is not the one that was last signed: a login that may write to it could otherwise have
 * this worker sign a wrong root. (At sizes between two checkpoints nothing was signed.)
 */
async function checkStoredTree(
  db: pg.ClientBase,
  ledgerId: Uuid,
  ledger: string,
  frontier: Frontier,
): Promise<void> {
  const signed = await findRoot(db, ledgerId, frontier.size)
  if (signed && !equalBytes(signed, frontierRoot(nativeProviders.sha256, frontier))) {
    throw new Error(`${ledger}: the stored tree is not the one of its checkpoint of ${frontier.size} entries`)
  }
}

/**
 * Throws ContradictionError when the ledger does not extend the checkpoint that was kept of it. Returns whether it need not,
 * because the operator has acknowledged just that.
 */
async function checkKept(
  kept: KeptCheckpoints,
  db: pg.ClientBase,
  ledgerId: Uuid,
  ledger: string,
): Promise<boolean> {
  const checkpoint = await kept.find(ledger)
  if (!checkpoint) return false
  const [contradiction] = await listContradictions(db, [{ ledger, ledgerId, checkpoint }])
  if (contradiction && !contradiction.isAcknowledged) throw new ContradictionError(contradiction)
  return contradiction !== undefined
}
