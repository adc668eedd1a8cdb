import type { Db } from '../../db/connect/client.ts'
import type { BacklogChange, DrainedPeer } from '../../db/peers/peer-leases.ts'
import {
  findLaterShare,
  readDefinitions,
  readSharedDocuments,
  readSharedEntries,
  readSharedOfRecord,
  type SharedDocument,
  type SharedEntry,
} from '../../db/peers/shared-entries.ts'
import { BUILT_IN_TYPES } from '../../ledgers/types/built-in.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'
import { PEER_RANGE_ENTRIES_MAX, PEER_TYPES_PER_REQUEST_MAX } from './limits.ts'

/** Entries to send next, with their documents. `nextSeq`: the cursor after these entries. */
export type Outgoing = {
  readonly entries: readonly SharedEntry[]
  readonly documents: ReadonlyMap<number, SharedDocument>
  /** Definitions of types, in canonical JSON. */
  readonly types: readonly string[]
  /** Total size in bytes of envelopes, documents and type definitions. */
  readonly bytes: number
  /** True if the request is full and there are more entries. */
  readonly isFull: boolean
  readonly nextSeq: number
  /**
   * Change of the backlog after the peer has answered for these entries: the backlog's record, and the seq of its first
   * remaining entry. null if the backlog does not change.
   */
  readonly backlog: BacklogChange | null
}

/** Maximum numbers of entries and bytes in a request. A single entry is sent even if it exceeds `bytes`. */
export type RequestMax = { readonly entries: number; readonly bytes: number }

/**
 * Reads the next entries to send. The backlog comes first, because later entries of the chain may depend on it. The
 * backlog consists of older entries of one record. They are sent late, because the record was shared after them or
 * because the peer lacks them. No request mixes entries of the backlog with others.
 */
export async function readOutgoing(db: Db, peer: DrainedPeer, max: RequestMax): Promise<Outgoing> {
  return peer.backlog === null ? readRange(db, peer, max) : readBacklog(db, peer, peer.backlog, max)
}

/**
 * Reads the entry that shared the backlog's record, if the record was created before it was shared. That entry must be
 * sent first, because the peer refuses the creation of a record that is not shared with it. Returns null if the backlog
 * needs no such entry.
 */
export async function readLaterShare(
  db: Db,
  peer: DrainedPeer,
  backlog: NonNullable<DrainedPeer['backlog']>,
  max: RequestMax,
): Promise<Outgoing | null> {
  const { recordId, fromSeq } = backlog
  const seq = await findLaterShare(db, peer, { recordId, from: fromSeq })
  if (seq === null) return null
  const found = await readSharedEntries(db, peer, { from: seq, end: seq + 1, limit: 1 })
  const filled = await fill(db, peer, found, max)
  return { ...filled, nextSeq: peer.nextSeq, backlog: { recordId, fromSeq, readSeq: fromSeq } }
}

async function readRange(db: Db, peer: DrainedPeer, max: RequestMax): Promise<Outgoing> {
  const end = Math.min(peer.size, peer.nextSeq + PEER_RANGE_ENTRIES_MAX)
  const found = await readSharedEntries(db, peer, { from: peer.nextSeq, end, limit: max.entries + 1 })
  const { entries, ...rest } = await fill(db, peer, found, max)
  // An entry that shares a record is the last entry of the request. The earlier entries of that record become the
  // backlog, which is sent next.
  const shared = entries.findIndex(({ kind }) => kind === 'record-shared')
  if (shared === -1) {
    const nextSeq = rest.isFull ? entries.at(-1)!.seq + 1 : end
    return { ...rest, entries, nextSeq, backlog: null }
  }
  const { seq, recordId } = entries[shared]!
  return {
    ...rest,
    entries: entries.slice(0, shared + 1),
    nextSeq: seq + 1,
    backlog: { recordId: recordId!, fromSeq: 0, readSeq: null },
  }
}

async function readBacklog(
  db: Db,
  peer: DrainedPeer,
  { recordId, fromSeq }: NonNullable<DrainedPeer['backlog']>,
  max: RequestMax,
): Promise<Outgoing> {
  const range = { from: fromSeq, end: peer.nextSeq, limit: max.entries + 1 }
  const found = await readSharedOfRecord(db, peer, recordId, range)
  const { entries, ...rest } = await fill(db, peer, found, max)
  return {
    ...rest,
    entries,
    nextSeq: peer.nextSeq,
    backlog: { recordId, fromSeq: rest.isFull ? entries.at(-1)!.seq + 1 : null, readSeq: fromSeq },
  }
}

/**
 * Takes as many entries as fit into a request, at least one, with their documents and types. If there are more entries
 * than the limit, `found` has one entry more than the limit.
 */
async function fill(db: Db, peer: DrainedPeer, found: readonly SharedEntry[], max: RequestMax) {
  const seqs = found.map(({ seq }) => seq)
  const read = seqs.length === 0 ? [] : await readSharedDocuments(db, peer.ledgerId, seqs)
  const documents = new Map(read.map((document) => [document.seq, document]))
  const typeOf = ({ seq }: SharedEntry) => {
    const type = documents.get(seq)?.type ?? null
    return type === null || BUILT_IN_TYPES.has(type) ? null : type
  }
  const names = [...new Set(found.flatMap((entry) => typeOf(entry) ?? []))].slice(
    0,
    PEER_TYPES_PER_REQUEST_MAX,
  )
  const definitions = names.length === 0 ? new Map() : await readDefinitions(db, peer.ledgerId, names)
  const types = new Map<string, string>()
  const entries: SharedEntry[] = []
  let bytes = 0
  for (const entry of found.slice(0, max.entries)) {
    const document = documents.get(entry.seq)
    let more = entry.envelope.length + (document?.content?.length ?? 0) + (document?.references?.length ?? 0)
    const type = typeOf(entry)
    const definition = type === null || types.has(type) ? null : (definitions.get(type) ?? null)
    if (definition !== null) more += Buffer.byteLength(definition)
    const isOver = bytes + more > max.bytes || (type !== null && !names.includes(type))
    if (isOver && entries.length > 0) break
    if (definition !== null) types.set(type!, definition)
    bytes += more
    entries.push(entry)
  }
  return { entries, documents, bytes, types: [...types.values()], isFull: entries.length < found.length }
}

/** Renders the body of the request. Plain concatenation is safe, because base64 and canonical JSON need no escaping. */
export function renderOutgoing({ entries, documents, types }: Outgoing): string {
  const rendered = entries.map((entry) => {
    const document = renderDocument(entry, documents.get(entry.seq))
    return `{"seq":${entry.seq},"envelope":"${entry.envelope.toString('base64')}"${document}}`
  })
  return `{${types.length === 0 ? '' : `"types":[${types.join(',')}],`}"entries":[${rendered.join(',')}]}`
}

function renderDocument(entry: SharedEntry, document: SharedDocument | undefined): string {
  if (!document || entry.documents === 'digests') return ''
  const { salt, content, references, digest } = document
  const subject = formatDocumentSubject(document.document, document.subjectId)
  return (
    `,"document":{"subject":"${subject}","digest":"${digest.toString('hex')}",` +
    `"salt":${salt === null ? 'null' : `"${salt.toString('base64url')}"`},"document":${content?.toString('utf8') ?? 'null'}` +
    `${references === null ? '' : `,"references":${references.toString('utf8')}`}}`
  )
}
