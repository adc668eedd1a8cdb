import type { Db } from '../../db/connect/client.ts'
import { getLedger } from '../../db/ledgers/ledgers.ts'
import type { ServerKey } from '../../db/schema/server-keys.ts'
import { ApiError } from '../../errors.ts'
import { fromBase64, fromHex, utf8Encode } from '../../proof/bytes.ts'
import { toBeSigned } from '../../proof/envelope/cose.ts'
import type { Uuid } from '../../proof/ids.ts'
import {
  attachReceipt,
  encodeConsistencyReceipt,
  encodeInclusionReceipt,
} from '../../proof/receipt/receipt.ts'
import { encodeTreeHeader, findTreeHead } from '../../proof/receipt/tree-head.ts'
import { itemBytes } from '../../proof/statement/batch.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { EntryProof } from './prove-entry.ts'
import { proveConsistency } from './prove-tree.ts'

const { sha256, verifySignature } = nativeProviders

/**
 * Encodes the receipt of the entry that `proof` proves (docs/formats/receipts.md). Throws ApiError `integrity_fault`.
 */
export function receiptOf(proof: EntryProof, noteKey: ServerKey): Uint8Array {
  const { item } = proof
  return encodeInclusionReceipt({
    ...signedHead(proof.checkpoint, proof.ledger.issuer, noteKey),
    inclusion: { size: proof.treeSize, index: proof.index, path: proof.path.map(fromHex) },
    item: item
      ? {
          item: utf8Encode(itemBytes(item.item)),
          at: { size: item.count, index: item.index, path: item.path.map(fromHex) },
        }
      : null,
  })
}

/** Returns the envelope of the entry with the receipt attached. */
export function receivedStatement(proof: EntryProof, receipt: Uint8Array): Uint8Array {
  return attachReceipt(fromBase64(proof.entry.envelope), receipt)
}

/**
 * Encodes a receipt of consistency, which shows that the first `from` entries of the ledger are a prefix of the tree of
 * `note`. `note`: a checkpoint of at least `from` entries. Throws ApiError `integrity_fault`.
 */
export async function consistencyReceipt(
  pool: Db,
  ledgerId: Uuid,
  from: number,
  note: string,
  noteKey: ServerKey,
): Promise<Uint8Array> {
  const { issuer } = await getLedger(pool, ledgerId)
  const signed = signedHead(note, issuer, noteKey)
  const to = parseCheckpoint(note).checkpoint.size
  const path = await proveConsistency(pool, ledgerId, from, to, note)
  return encodeConsistencyReceipt({ ...signed, consistency: { from, to, path } })
}

/**
 * Returns the signed tree head of a note. Verifies its signature first, because an attacker may have changed the note
 * in the database, and a receipt must not contain an invalid signature.
 */
function signedHead(note: string, issuer: string, { key, kid }: ServerKey) {
  const { origin, size, root } = parseCheckpoint(note).checkpoint
  const signature = findTreeHead(note, key, sha256)
  const protectedBytes = encodeTreeHeader({ issuer, origin, size }, kid)
  if (signature && verifySignature(key, toBeSigned(protectedBytes, root), signature))
    return { protectedBytes, signature }
  throw new ApiError(
    'integrity_fault',
    'the note key did not sign the tree head of a checkpoint in the database',
  )
}
