import type { EntryRow } from '../../db/chain/append-entries.ts'
import { fromUuid, toUuid } from '../../db/connect/uuid.ts'
import type { OfferColumns } from '../../db/peers/remote-records.ts'
import { type Caller, requireRecent } from '../../ledgers/caller.ts'
import type { Signer } from '../../proof/crypto.ts'
import { formatId } from '../../proof/ids.ts'
import type { OfferedStep } from '../../proof/statement/kinds.ts'
import { buildStatement } from '../../proof/statement/statement.ts'
import type { NamedDocument } from '../../records/gated/sign-step.ts'
import type { About } from '../../records/gated/steps.ts'
import { partyOf } from '../../records/on-behalf-of.ts'
import { toHex } from '../../records/text-of-bytes.ts'
import { signEntry } from '../../signing/sign-entry.ts'
import type { RemoteRecord } from './remote-records.ts'

/** A step of a record as it is known here. `document`: the evidence of a completion. */
export type Offer = About & {
  readonly step: OfferedStep
  readonly document: NamedDocument | null
  readonly record: RemoteRecord
}

/** The signed entry, as append_entries takes it. */
export function signOffer(signer: Signer, caller: Caller, offer: Offer, recordedAtMs: number): EntryRow {
  const { document, recordId, idempotency } = offer
  requireRecent(caller, recordedAtMs)
  const subject = formatId('rec', recordId)
  return {
    ledgerId: caller.ledgerId,
    kind: 'step-offered',
    subjectId: recordId,
    version: null,
    toState: null,
    previousLeaf: null,
    actorId: caller.agentId,
    keyId: caller.keyId,
    kid: signer.kid,
    recordedAtMs,
    ...signEntry(
      signer,
      { issuer: caller.issuer, subject, recordedAtMs },
      statementOf(caller, offer, recordedAtMs),
    ),
    idempotency,
    detail: JSON.stringify(detailOf(caller, offer)),
    records: [],
    document: document ? { ...document, content: document.canonical } : undefined,
  }
}

function statementOf(caller: Caller, offer: Offer, recordedAtMs: number): string {
  const { step, document, record, recordId, onBehalfOf, traceparent } = offer
  const name = formatId('rec', recordId)
  const subjects = [
    { name, sha256: record.gated.payloadDigest },
    ...(document ? [{ name: document.subject, sha256: toHex(document.digest) }] : []),
  ]
  return buildStatement('step-offered', subjects, {
    ledger: caller.ledger,
    actor: caller.agent,
    key: caller.key,
    ...(onBehalfOf && { onBehalfOf: onBehalfOf.agent }),
    recordedAt: new Date(recordedAtMs).toISOString(),
    ...(traceparent !== null && { traceparent }),
    peer: formatId('peer', fromUuid(record.row.peerId)),
    record: name,
    step,
    version: record.row.version + 1,
    previous: toHex(record.row.leaf),
    ...(document && { completion: document.subject }),
  })
}

/** Detail that `append_federation` stores (migrations/functions/append-federation.sql). */
function detailOf(caller: Caller, { step, record, onBehalfOf }: Offer) {
  const agentId = toUuid(partyOf(caller, onBehalfOf))
  return { peerId: record.row.peerId, version: record.row.version + 1, step, agentId }
}

/** The offer as a reader will find it. */
export function columnsOf(caller: Caller, offer: Offer, seq: number, entry: EntryRow): OfferColumns {
  const { step, document, record, onBehalfOf } = offer
  return {
    offerSeq: seq,
    offerState: 'pending',
    offerStep: step,
    offerVersion: record.row.version + 1,
    offerAgentId: toUuid(partyOf(caller, onBehalfOf)),
    offerCode: null,
    offerDecidedSeq: null,
    offerRecordedAt: new Date(entry.recordedAtMs),
    offerCompletionId: document && toUuid(document.subjectId),
  }
}
