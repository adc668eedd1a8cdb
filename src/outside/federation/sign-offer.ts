import { type EntryClaims, sealEntry } from '../../append/entry.ts'
import type { EntryRow } from '../../db/chain/append-entries.ts'
import type { OfferColumns } from '../../db/peers/remote-records.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { Signer } from '../../proof/crypto.ts'
import { formatId } from '../../proof/ids.ts'
import type { OfferedStep } from '../../proof/statement/kinds.ts'
import { documentRow, type NamedDocument } from '../../records/gated/sign-step.ts'
import type { StepInput } from '../../records/gated/steps.ts'
import { partyOf } from '../../records/write/on-behalf-of.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import type { RemoteRecord } from './remote-records.ts'

/**
 * A step to offer for a record, as this ledger knows the record. `document`: the evidence of a completion, otherwise
 * null.
 */
export type Offer = StepInput & {
  readonly step: OfferedStep
  readonly document: NamedDocument | null
  readonly record: RemoteRecord
}

export function signOffer(signer: Signer, caller: Caller, offer: Offer, recordedAtMs: number): EntryRow {
  const { step, document, record, recordId, onBehalfOf, traceparent } = offer
  const name = formatId('rec', recordId)
  const { row, gated } = record
  const version = row.version + 1
  const claims: EntryClaims = {
    kind: 'step-offered',
    subject: { id: recordId, name, digest: gated.payloadDigest },
    extraSubjects: document ? [{ name: document.subject, sha256: toHex(document.digest) }] : [],
    onBehalfOf,
    predicate: {
      ...(traceparent !== null && { traceparent }),
      peer: formatId('peer', row.peerId),
      record: name,
      step,
      version,
      previous: toHex(row.leaf),
      ...(document && { completion: document.subject }),
    },
    idempotency: offer.idempotency,
    detail: { peerId: row.peerId, version, step, agentId: partyOf(caller, onBehalfOf) },
    document: document ? documentRow(document) : undefined,
  }
  return sealEntry(signer, caller, claims, recordedAtMs).entry
}

/** Returns the columns of the offer, as a later query would return them. */
export function columnsOf(caller: Caller, offer: Offer, seq: number, entry: EntryRow): OfferColumns {
  const { step, document, record, onBehalfOf } = offer
  return {
    offerSeq: seq,
    offerState: 'pending',
    offerStep: step,
    offerVersion: record.row.version + 1,
    offerAgentId: partyOf(caller, onBehalfOf),
    offerCode: null,
    offerDecidedSeq: null,
    offerRecordedAt: new Date(entry.recordedAtMs),
    offerCompletionId: document?.subjectId ?? null,
  }
}
