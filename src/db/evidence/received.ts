import { toHex } from '../../proof/bytes.ts'
import { signedDocuments } from '../../proof/entry/verify-entry.ts'
import { receivedClaimsOf } from '../../proof/entry/verify-received.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { documentDigest } from '../../proof/statement/document.ts'
import { type ParsedStatement, parseStatement } from '../../proof/statement/statement.ts'
import { compare, compareRows } from './compare.ts'
import { contradiction } from './contradiction.ts'
import { signedShares } from './shared-records.ts'
import type { Evidence } from './table.ts'

/*
 * Compares received entries of other ledgers and their documents, as far as a single entry allows. The state of another
 * ledger's record needs earlier entries (src/verify/peer-states.ts).
 */

export type AuditedReceived = {
  seq: number
  peerId: Uuid
  remoteSeq: number
  kind: string
  recordId: Uuid | null
  version: number | null
  leaf: Buffer
  envelope: Buffer
  remote: RemoteColumns[] | null
}

/** State of another ledger's record after its received entries. `leaf` is hex, and `standing` is JSON. */
export type RemoteColumns = {
  readonly type: string
  readonly documents: string
  readonly state: string
  readonly version: number
  readonly leaf: string
  readonly standing: string
  readonly firstSeq: number
  readonly lastSeq: number
}

/**
 * Columns of another ledger's entry. They do not include the envelope, which is in the line of the entry that received
 * it.
 */
export type ReceivedColumns = {
  readonly peerId: Uuid
  readonly remoteSeq: number
  readonly kind: string
  readonly recordId: Uuid | null
  readonly version: number | null
  readonly leaf: string
  /** Present state of the record that the received entry is about. */
  readonly remote: readonly RemoteColumns[]
}

export const RECEIVED_ENTRIES: Evidence<AuditedReceived, ReceivedColumns> = {
  table: 'received_entries',
  sql: `select r.seq, r.peer_id, r.remote_seq, r.kind, r.record_id, r.version, r.leaf, r.envelope,
      case when r.version is not null then (
        select json_agg(json_build_object('type', m.type, 'documents', m.documents, 'state', m.state, 'version', m.version,
          'leaf', encode(m.leaf, 'hex'), 'standing', m.standing, 'firstSeq', m.first_seq, 'lastSeq', m.last_seq))
        from tallystick.remote_records m
        where m.ledger_id = r.ledger_id and m.record_id = r.record_id and m.peer_id = r.peer_id
      ) end as remote
    from tallystick.received_entries r where r.ledger_id = $1 order by r.seq`,
  columns: ({ seq: _, envelope: __, leaf, remote, ...row }) => ({
    ...row,
    leaf: toHex(leaf),
    remote: remote ?? [],
  }),
  verify({ statement, step }, rows) {
    const claims = receivedClaimsOf(statement)
    const expected = claims && {
      peerId: parseId('peer', claims.peer),
      remoteSeq: claims.seq,
      kind: claims.kind,
      recordId: claims.record === null ? null : parseId('rec', claims.record),
      version: claims.version,
      leaf: claims.leaf,
    }
    compareRows<Partial<ReceivedColumns>>('received_entries', rows, expected ? [expected] : [])
    const [row] = rows
    if (row && claims!.version !== null) verifyRemote(row.remote, claims!, step.received!.statement, step.seq)
  },
}

/**
 * Verifies that nobody has set the row of the remote record back to an earlier event. Compares the state in the row
 * only if this event is the newest event.
 */
function verifyRemote(
  rows: readonly RemoteColumns[],
  { peer, leaf, record }: { readonly peer: string; readonly leaf: string; readonly record: string | null },
  event: ParsedStatement,
  seq: number,
): void {
  const [row] = rows
  if (!row || rows.length > 1) throw contradiction(`remote_records: ${rows.length} rows of ${record}`)
  const { predicate } = event
  if (event.kind === 'record-created') {
    compare('remote_records', 'first_seq', row.firstSeq, seq)
    compare('remote_records', 'type', row.type, predicate['type'])
    const shared = signedShares(event).find(({ peerId }) => peerId === parseId('peer', peer))
    if (shared) compare('remote_records', 'documents', row.documents, shared.documents)
  }
  if (row.lastSeq < seq)
    throw contradiction(
      `remote_records.last_seq is ${row.lastSeq}, but an event of the record was received at seq ${seq}`,
    )
  if (row.lastSeq !== seq) return
  compare('remote_records', 'state', row.state, predicate['to'])
  compare('remote_records', 'version', row.version, predicate['version'])
  compare('remote_records', 'leaf', row.leaf, leaf)
}

type AuditedReceivedDocument = {
  seq: number
  subject: string
  digest: Buffer
  salt: Buffer | null
  content: Buffer | null
  referenceList: Buffer | null
  erasedSeq: number | null
  /**
   * Envelope of the other ledger's entry that the entry at `erasedSeq` received. The other ledger's entry must have
   * erased the document.
   */
  erasure: Buffer | null
}

/**
 * Columns of a received document. The digests are computed from the stored bytes and the salt. They are null if the
 * document is erased.
 */
export type ReceivedDocumentColumns = {
  readonly subject: string
  readonly digest: string
  readonly contentDigest: string | null
  readonly referencesDigest: string | null
  /**
   * Subject and seq of the erased document, as the erasing entry of the home ledger names them. null if the document is
   * not erased.
   */
  readonly erased: { readonly subject: string; readonly seq: number } | null
  readonly isHalfErased: boolean
}

/**
 * Evidence of received documents. Each must have the digest that the other ledger signed, or the other ledger must have
 * erased the document. Missing documents are no contradiction, because no entry states that a document was received.
 */
export const RECEIVED_DOCUMENTS: Evidence<AuditedReceivedDocument, ReceivedDocumentColumns> = {
  table: 'received_documents',
  sql: `select d.seq, d.subject, d.digest, d.salt, d.content, d.reference_list, d.erased_seq, x.envelope as erasure
    from tallystick.received_documents d
    left join lateral (
      select x.envelope from tallystick.received_entries x where x.ledger_id = d.ledger_id and x.seq = d.erased_seq limit 1
    ) x on true
    where d.ledger_id = $1 order by d.seq`,
  columns(row, { sha256 }) {
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
  },
  verify({ statement, step }, rows) {
    const [row] = rows
    if (!row) return
    const signed = step.received ? signedDocuments(step.received.statement) : []
    if (rows.length > signed.length)
      throw contradiction(`received_documents: ${rows.length} rows, but ${signed.length} were signed`)
    const [{ name, sha256 }] = signed as [(typeof signed)[number]]
    compare('received_documents', 'subject', row.subject, name)
    compare('received_documents', 'digest', row.digest, sha256)
    if (row.isHalfErased) throw contradiction(`received_documents: ${name} is half erased`)
    const references = step.received!.statement.predicate['references'] ?? null
    const isThere = row.erased === null
    compare('received_documents', 'content', row.contentDigest, isThere ? sha256 : null)
    compare('received_documents', 'reference_list', row.referencesDigest, isThere ? references : null)
    if (row.erased)
      compare('received_documents', 'erased_seq', row.erased, {
        subject: name,
        seq: receivedClaimsOf(statement)!.seq,
      })
  },
}

/**
 * Returns the document that the received envelope erased. If the envelope is not of an erasure, returns a value that
 * matches no document.
 */
function erasedBy(envelope: Buffer | null): { readonly subject: string; readonly seq: number } {
  try {
    const { kind, subjects, predicate } = parseStatement(parseEnvelope(envelope!).payload)
    if (kind === 'payload-erased') return { subject: subjects[0].name, seq: predicate['seq'] as number }
  } catch {
    // The error is ignored here. A faulty envelope is reported when the entry that received it is verified.
  }
  return { subject: '', seq: -1 }
}
