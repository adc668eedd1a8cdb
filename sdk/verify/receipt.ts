import { toHex } from '../../src/proof/bytes.ts'
import { verifyRecord } from '../../src/proof/offline/verify-record.ts'
import { verifyConsistencyReceipt, verifyReceipt } from '../../src/proof/receipt/verify-receipt.ts'
import { parseVerifierKey, verifyCheckpoint } from '../../src/proof/tree/checkpoint.ts'
import { type Bytes, requireBytes } from '../bytes.ts'
import { UsageError } from '../errors.ts'
import {
  type EnvelopeKeys,
  findEnvelopeKey,
  signerOf,
  type VerifiedEnvelope,
  verifiedEnvelope,
} from './envelope.ts'
import { refusing } from './errors.ts'
import { type Answer, textOf } from './given.ts'
import { chooseEngine } from './providers.ts'

/** Knowledge from elsewhere. */
export type ReceiptOptions = {
  /** `noteVerifierKey` of `GET /v1/ledger`, kept from before: with it the receipt is one of that ledger. */
  readonly noteKey: string
  /** Those of `/.well-known/tallystick-keys.json`, and of agents that sign for themselves. Absent: the entry's own signature is not looked at. */
  readonly keys?: EnvelopeKeys | undefined
  /** The record that it must be of: an answer of `GET /v1/records/{id}`. */
  readonly record?: Answer | undefined
}

export type ReceiptReport = {
  /** Contents of the entry. */
  readonly entry: VerifiedEnvelope
  /** Its place in the ledger. */
  readonly seq: number
  /** Size and root (hex) of the tree that the note key signed: those of a checkpoint. */
  readonly size: number
  readonly root: string
  /** Subject of the entry; of a record of a batch the record. */
  readonly subject: string
  readonly keys: 'given' | 'not given'
  readonly record: 'same' | 'not given'
}

/**
 * Verifies an answer of `GET /v1/records/{id}/receipt?statement=true` or `/v1/entries/{seq}/receipt?statement=true`: the entry is in the
 * ledger of the note key, and the record is the one that the entry digests.
 */
export async function receipt(
  file: Bytes,
  { noteKey, keys, record }: ReceiptOptions,
): Promise<ReceiptReport> {
  const bytes = requireBytes(file, 'a receipt')
  if (typeof noteKey !== 'string') throw new UsageError('noteKey is noteVerifierKey of GET /v1/ledger')
  return refusing(() => {
    const text = record === undefined ? null : textOf(record, 'a record')
    return chooseEngine().run((providers) => {
      const findKey = keys ? (kid: string) => findEnvelopeKey(keys, kid, providers.sha256) : null
      const found = verifyReceipt(bytes, { noteKey, findKey }, providers)
      if (text !== null) verifyRecord(text, found, providers)
      const { envelope, statement, item, leaf, seq, size, root } = found
      return {
        entry: verifiedEnvelope(envelope, statement, {
          leaf: toHex(leaf),
          signedBy: keys ? signerOf(keys, envelope) : null,
        }),
        seq,
        size,
        root: toHex(root),
        subject: item?.record ?? statement.subjects[0].name,
        keys: keys ? ('given' as const) : ('not given' as const),
        record: text === null ? ('not given' as const) : ('same' as const),
      }
    })
  })
}

/** `root`: hex, of the tree of `to` entries. */
export type ConsistencyReceiptFindings = { readonly from: number; readonly to: number; readonly root: string }

/**
 * Verifies an answer of `GET /v1/checkpoints/consistency/receipt`: the ledger goes on from `from`, a checkpoint that was kept.
 * `noteKey`: `noteVerifierKey` of `GET /v1/ledger`, kept from before.
 */
export async function consistencyReceipt(
  receipt: Bytes,
  { from, noteKey }: { readonly from: string; readonly noteKey: string },
): Promise<ConsistencyReceiptFindings> {
  const bytes = requireBytes(receipt, 'a receipt')
  return refusing(() =>
    chooseEngine().run((providers) => {
      const { sha256, verifySignature } = providers
      const kept = verifyCheckpoint(from, parseVerifierKey(noteKey, sha256), sha256, verifySignature)
      const { size, root } = verifyConsistencyReceipt(bytes, kept, noteKey, providers)
      return { from: kept.size, to: size, root: toHex(root) }
    }),
  )
}
