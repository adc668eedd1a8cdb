import { toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { signedDocuments, type VerifiedEntry } from '../proof/entry/verify-entry.ts'
import { saidOfReceived } from '../proof/entry/verify-received.ts'
import { parseId } from '../proof/ids.ts'
import type { ParsedStatement } from '../proof/statement/statement.ts'
import { compare, compareRows } from './compare.ts'
import { contradiction } from './contradiction.ts'
import type {
  EntryColumns,
  OfferColumns,
  ReceivedColumns,
  RemoteColumns,
  ShareColumns,
} from './entry-columns.ts'
import { partyUuid } from './signed-rows.ts'

/*
 * Comparison of rows about other ledgers, as far as one entry can tell. The outcome of offers, and the standing of a record of
 * another ledger, need the entries before (peer-standings.ts).
 */

/** Throws `columns_contradict_entries`. */
export function verifyPeerColumns(entry: VerifiedEntry, columns: EntryColumns, sha256: Sha256): void {
  const { statement } = entry
  compareRows('shared_records', columns.shares, shareRows(statement))
  compareRows<Partial<OfferColumns>>('offers', columns.offers, offerRows(entry, sha256))
  verifyReceivedRows(entry, columns.received)
  verifyReceivedDocuments(entry, columns)
}

function shareRows({ predicate }: ParsedStatement): ShareColumns[] {
  const share = (predicate['share'] ?? []) as readonly { readonly peer: string; readonly documents: string }[]
  return share.map(({ peer, documents }) => ({ peerId: parseId('peer', peer), documents }))
}

function offerRows({ statement, step }: VerifiedEntry, sha256: Sha256): Partial<OfferColumns>[] {
  const { kind, predicate } = statement
  if (kind !== 'step-offered') return []
  const offered = predicate as { peer: string; record: string; version: number; step: string }
  return [
    {
      peerId: parseId('peer', offered.peer),
      recordId: parseId('rec', offered.record),
      version: offered.version,
      step: offered.step,
      agentId: partyUuid(statement, sha256)!,
      leaf: toHex(step.leaf),
    },
  ]
}

function verifyReceivedRows({ statement, step }: VerifiedEntry, rows: readonly ReceivedColumns[]): void {
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
    const shared = shareRows(event).find(({ peerId }) => peerId === parseId('peer', peer))
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

/**
 * Verifies that documents that came along are those that the other ledger digests, or were erased by it. Nobody has signed that
 * they came at all.
 */
function verifyReceivedDocuments(
  { step }: VerifiedEntry,
  { received: [entry], receivedDocuments: rows }: EntryColumns,
): void {
  const [row] = rows
  if (!row) return
  const signed = step.received ? signedDocuments(step.received.statement) : []
  if (!entry || rows.length > signed.length)
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
    compare('received_documents', 'erased_seq', row.erased, { subject: name, seq: entry.remoteSeq })
}
