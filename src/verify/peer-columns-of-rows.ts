import type {
  AuditedOffer,
  AuditedReceived,
  AuditedReceivedDocument,
  AuditedRemoteRecord,
} from '../db/audit/audited-peer-rows.ts'
import { toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { parseEnvelope } from '../proof/envelope/cose.ts'
import { documentDigest } from '../proof/statement/document.ts'
import { parseStatement } from '../proof/statement/statement.ts'
import type {
  OfferColumns,
  ReceivedColumns,
  ReceivedDocumentColumns,
  RemoteColumns,
} from './entry-columns.ts'

/* As columns-of-rows.ts, of what entries say of other ledgers. */

export function offerColumns(offer: AuditedOffer): OfferColumns {
  return {
    peerId: offer.peerId,
    recordId: offer.recordId,
    version: offer.version,
    step: offer.step,
    agentId: offer.agentId,
    leaf: toHex(offer.leaf),
    state: offer.state,
    code: offer.code,
    decidedSeq: offer.decidedSeq,
  }
}

export function receivedColumns(received: AuditedReceived): ReceivedColumns {
  return {
    peerId: received.peerId,
    remoteSeq: received.remoteSeq,
    kind: received.kind,
    recordId: received.recordId,
    version: received.version,
    leaf: toHex(received.leaf),
    remote: (received.remote ?? []).map(remoteColumns),
  }
}

function remoteColumns(row: AuditedRemoteRecord): RemoteColumns {
  const { firstSeq, lastSeq, ...same } = row
  return { ...same, firstSeq, lastSeq }
}

export function receivedDocumentColumns(
  row: AuditedReceivedDocument,
  sha256: Sha256,
): ReceivedDocumentColumns {
  const { salt, content, referenceList: references, erasedSeq } = row
  const digestOf = (bytes: Buffer | null) =>
    salt === null || bytes === null ? null : toHex(documentDigest(sha256, salt, bytes))
  const isGone = salt === null && content === null && references === null
  return {
    subject: row.subject,
    digest: toHex(row.digest),
    contentDigest: digestOf(content),
    referencesDigest: digestOf(references),
    erased: erasedSeq === null ? null : erasedBy(row.erasure),
    isHalfErased: isGone !== (erasedSeq !== null),
  }
}

/** Document that the received envelope says to have erased; none if there is no envelope or it is no erasure. */
function erasedBy(envelope: Buffer | null): { readonly subject: string; readonly seq: number } {
  try {
    const { kind, subjects, predicate } = parseStatement(parseEnvelope(envelope!).payload)
    if (kind === 'payload-erased') return { subject: subjects[0].name, seq: predicate['seq'] as number }
  } catch {
    // Judged where it stands itself.
  }
  return { subject: '', seq: -1 }
}
