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
import { type Answer, textOf } from './options.ts'
import { chooseEngine } from './providers.ts'

/** Trusted values from other sources than the receipt. */
export type ReceiptOptions = {
  /** `noteVerifierKey` of `GET /v1/ledger`, stored earlier. It binds the receipt to that ledger. */
  readonly noteKey: string
  /**
   * Keys of `/.well-known/tallystick-keys.json` and of agents that sign for themselves. If absent, the entry's own
   * signature is not checked.
   */
  readonly keys?: EnvelopeKeys | undefined
  /** The record that the receipt must be about: an answer of `GET /v1/records/{id}`. */
  readonly record?: Answer | undefined
}

export type ReceiptReport = {
  readonly entry: VerifiedEnvelope
  /** Position of the entry in the ledger. */
  readonly seq: number
  /**
   * `size` and `root` (hex) describe the tree that the note key signed. A checkpoint of this size has the same root.
   */
  readonly size: number
  readonly root: string
  /** Subject of the entry. For a record of a batch, it is that record. */
  readonly subject: string
  readonly keys: 'given' | 'not given'
  readonly record: 'same' | 'not given'
}

/**
 * Verifies an answer of `GET /v1/records/{id}/receipt?statement=true` or `/v1/entries/{seq}/receipt?statement=true`.
 * Throws VerificationError if the verification fails.
 *
 * The receipt shows that the entry is in the ledger of the note key, and that the record matches the digest in the
 * entry.
 */
export async function receipt(
  file: Bytes,
  { noteKey, keys, record }: ReceiptOptions,
): Promise<ReceiptReport> {
  const bytes = requireBytes(file, 'a receipt')
  if (typeof noteKey !== 'string')
    throw new UsageError(
      'the option `noteKey` must be the verifier key of a ledger, which is noteVerifierKey of GET /v1/ledger',
    )
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

/** Result of the verification. `root` is the root (hex) of the tree with `to` entries. */
export type ConsistencyReceiptFindings = { readonly from: number; readonly to: number; readonly root: string }

/**
 * Verifies an answer of `GET /v1/checkpoints/consistency/receipt`. The ledger must extend `from`, a checkpoint stored
 * earlier. `noteKey` is `noteVerifierKey` of `GET /v1/ledger`, stored earlier. Throws VerificationError if the
 * verification fails.
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
