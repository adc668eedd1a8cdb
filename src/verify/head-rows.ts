import { contradiction } from '../db/evidence/contradiction.ts'
import type { AuditedLedger, AuditedServerKey } from '../db/evidence/ledgers.ts'
import { equalBytes, toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { keyThumbprint, parsePublicKey } from '../proof/keys.ts'
import type { LedgerSummary } from '../proof/ledger/findings.ts'
import { TREE_ENTRIES_PER_STEP } from './limits.ts'
import type { TreeCollector } from './tree-collector.ts'

/**
 * Compares the rows that exist once for a ledger with the ledger's verified entries. Throws
 * `columns_contradict_entries`.
 */
export function verifyLedgerRow(row: AuditedLedger, summary: LedgerSummary, tree: TreeCollector): void {
  if (row.size === null || row.size !== summary.size) {
    const detail = `chain_heads.size is ${row.size}, but there are ${summary.size} entries`
    throw contradiction(row.size !== null && row.size < summary.size ? `${detail}; ${HEAD_BEHIND}` : detail)
  }
  if (summary.size > 0 && toHex(row.chain!) !== summary.chain)
    throw contradiction('chain_heads.chain differs from the last entry’s')
  if (summary.size > 0 && toHex(row.envelopeKid!) !== summary.currentKid) {
    throw contradiction(`chain_heads.envelope_kid is not the current key, ${summary.currentKid}`)
  }
  verifyClosed(row)
  if (summary.size === 0 && row.name !== null)
    throw contradiction('ledgers has a row, but there are no entries')
  if (tree.frontier === null || !equalBytes(tree.frontier, row.treeHashes ?? new Uint8Array(0))) {
    throw contradiction(`tree_frontiers: not the frontier of the first ${row.treeSize} entries`)
  }
}

/**
 * Text about entries beyond the head. It may call these entries signed, because their signatures were verified before
 * the head is compared.
 */
const HEAD_BEHIND =
  'those beyond the head are signed and continue the chain: they were written while a trigger was off, and are not forged. ' +
  '`operate mend-head` includes them (docs/runbooks/integrity.md#entries-behind-the-head)'

/**
 * Verifies the column `closed`. The value `restored` requires a closure that the operator has not acknowledged yet. The
 * values `frozen`, `moving` and `moved` are not compared, because the operator sets them without an entry.
 */
function verifyClosed({ closed, awaitsAcknowledgement }: AuditedLedger): void {
  const isKnown = closed === null || ['frozen', 'restored', 'moving', 'moved'].includes(closed)
  if (!isKnown || (closed === 'restored') !== awaitsAcknowledgement) {
    throw contradiction(
      `chain_heads.closed is ${closed}, and ${awaitsAcknowledgement ? 'a' : 'no'} row of ledger_closures waits for its entry`,
    )
  }
}

/**
 * Verifies that the newest checkpoint is not missing. Without a checkpoint, the stored tree grows only by full steps of
 * TREE_ENTRIES_PER_STEP entries. Any other growth is stored together with a checkpoint. So after a growth by a partial
 * step, there must be a checkpoint of the tree's size.
 */
export function verifyNewestCheckpoint({ treeSize, checkpointSize }: AuditedLedger): void {
  const ahead = (treeSize ?? 0) - (checkpointSize ?? 0)
  if (ahead % TREE_ENTRIES_PER_STEP !== 0) {
    throw contradiction(
      `checkpoints: there is none of size ${treeSize}, although one was published with the stored tree`,
    )
  }
}

/** Verifies that each kid is the thumbprint of its key, and that the ledger's note key exists. */
export function verifyServerKeys(
  keys: readonly AuditedServerKey[],
  { noteKid }: AuditedLedger,
  sha256: Sha256,
): void {
  for (const { kid, use, alg, spki } of keys) {
    const isKnown = alg === 'EdDSA' || alg === 'ES256'
    if (!isKnown || !equalBytes(keyThumbprint(sha256, parsePublicKey(alg, spki)), kid)) {
      throw contradiction(`server_keys: a key of use ${use} does not match its kid ${toHex(kid)}`)
    }
  }
  if (noteKid !== null && !keys.some(({ kid, use }) => use === 'note' && equalBytes(kid, noteKid))) {
    throw contradiction('server_keys: the note key of the ledger is missing')
  }
}
