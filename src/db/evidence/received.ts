import { toHex } from '../../proof/bytes.ts'
import { signedDocuments } from '../../proof/entry/verify-entry.ts'
import { saidOfReceived } from '../../proof/entry/verify-received.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { documentDigest } from '../../proof/statement/document.ts'
import { type ParsedStatement, parseStatement } from '../../proof/statement/statement.ts'
import { compare, compareRows } from './compare.ts'
import { contradiction } from './contradiction.ts'
import { signedShares } from './shared-records.ts'
import type { Evidence } from './table.ts'

/*
 * Entries of other ledgers, and what came with them, as far as one entry can tell. The standing of a record of another ledger needs the
 * entries before (src/verify/peer-standings.ts).
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

/** Where another ledger's record stands, by what came. `leaf`: hex; `standing`: JSON. */
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

/** Columns of another ledger's entry; its envelope is in the entry's line. */
export type ReceivedColumns = {
  readonly peerId: Uuid
  readonly remoteSeq: number
  readonly kind: string
  readonly recordId: Uuid | null
  readonly version: number | null
  readonly leaf: string
  /** Record whose event it is, as it stands after the last one received. */
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
    const said = saidOfReceived(statement)
    const expected = said && {
      peerId: parseId('peer', said.peer),
      remoteSeq: said.seq,
      kind: said.kind,
      recordId: said.record === null ? null : parseId('rec', said.record),
      version: said.version,
      leaf: said.leaf,
    }
    compareRows<Partial<ReceivedColumns>>('received_entries', rows, expected ? [expected] : [])
    const [row] = rows
    if (row && said!.version !== null) verifyRemote(row.remote, said!, step.received!.statement, step.seq)
  },
}

/** Nothing can be said of the state here where later events have moved it; but that it was not moved back. */
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
      `remote_records.last_seq is ${row.lastSeq}, but an event of the record came at seq ${seq}`,
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
  /** Envelope received by the entry that is said to have erased it. */
  erasure: Buffer | null
}

/** Columns of a document that came along. The digests are those of the stored bytes by its salt; null if it is erased. */
export type ReceivedDocumentColumns = {
  readonly subject: string
  readonly digest: string
  readonly contentDigest: string | null
  readonly referencesDigest: string | null
  /** Document that its home is said to have erased; null if it is there. */
  readonly erased: { readonly subject: string; readonly seq: number } | null
  /** Whether some of it is there and some is not. */
  readonly isHalfErased: boolean
}

/** Documents that came along are those that the other ledger digests, or were erased by it. Nobody has signed that they came at all. */
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
      throw contradiction(`received_documents: ${rows.length} rows, signed are ${signed.length}`)
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
        seq: saidOfReceived(statement)!.seq,
      })
  },
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
