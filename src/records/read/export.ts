import { findCheckpoint } from '../../db/chain/checkpoints.ts'
import { listEnvelopeKeys } from '../../db/chain/envelope-keys.ts'
import {
  type EntryDocumentRow,
  type EntryRead,
  type EntryRecordRow,
  type EntryRowRead,
  readEntries,
} from '../../db/chain/read-entries.ts'
import { itemOf } from '../../db/chunks/item.ts'
import { type BatchRecord, digestOf, referencesDigestOf } from '../../db/chunks/read-chunks.ts'
import type { Db } from '../../db/connect/client.ts'
import { getLedger } from '../../db/ledgers/ledgers.ts'
import { ApiError } from '../../errors.ts'
import type { DocumentsShown } from '../../proof/entry/verify-entry.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { type BatchItem, itemBytes } from '../../proof/statement/batch.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'
import { formatVerifierKey } from '../../proof/tree/checkpoint.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { STREAM_STRING_CHARS } from '../limits.ts'

/** Maximum number of items that are joined into one text. 100 items take about 20 KB. */
const ITEMS_PER_TEXT = 100

/**
 * Entries from seq `from` up to `end` (exclusive). If a document was erased meanwhile, the lines may continue beyond
 * `end`, but never beyond `endMax`.
 */
type EntryRange = { readonly from: number; readonly end: number; readonly endMax: number }

/**
 * Yields the lines of docs/formats/export.md for the entries from seq `from` up to `end`. A line is one or more
 * strings, and ends with a newline. Returns the seq at which the lines ended. A withheld document is null like an
 * erased document, but no entry explains why.
 *
 * Lines are read one after another, not in one snapshot. If a document is erased during the export, the document is
 * missing from its line, and the entry that erased it may come after `end`. The lines then continue up to that entry.
 * Without that entry, a reader could not distinguish an erased document from a deleted one.
 */
export async function* entryLines(
  db: Db,
  ledgerId: Uuid,
  { from, end, endMax }: EntryRange,
  shown: DocumentsShown,
): AsyncGenerator<string, number> {
  let [at, to] = [from, end]
  while (at < to) {
    let explained = to
    const explain = (erasedSeq: number | null) => {
      if (erasedSeq !== null) explained = Math.max(explained, Number(erasedSeq) + 1)
    }
    for await (const read of readEntries(db, ledgerId, at, to)) yield* lineTexts(read, shown, explain)
    at = to
    to = Math.min(explained, endMax)
  }
  return at
}

/**
 * Yields a whole export: the ledger and its keys, the first `end` entries, and the newest checkpoint that covers only
 * entries of the export. entryLines may continue beyond `end`, so there may be more entries.
 */
export async function* exportLines(
  db: Db,
  ledgerId: Uuid,
  end: number,
  shown: DocumentsShown,
): AsyncGenerator<string> {
  const [ledger, keys] = await Promise.all([describeLedger(db, ledgerId), listEnvelopeKeys(db)])
  // The export declares that documents are withheld, because a withheld document looks like a deleted one.
  const withheld = shown === 'all' ? {} : { documents: shown }
  yield `${JSON.stringify({ export: 1, ledger, keys, ...withheld })}\n`
  const size = yield* entryLines(db, ledgerId, { from: 0, end, endMax: Number.MAX_SAFE_INTEGER }, shown)
  // Entries beyond `end` may be signed with a key that is missing from the first line of the export. The error ends the
  // export here, and the client requests a new export.
  if (size > end && (await listEnvelopeKeys(db)).length > keys.length) {
    const detail = 'a document was erased and a key was rotated during the export: export again'
    throw new ApiError('unavailable', detail, { retryable: true, retryAfterMs: 1_000 })
  }
  yield `${JSON.stringify({ checkpoint: await findCheckpoint(db, ledgerId, size) })}\n`
}

export async function describeLedger(db: Db, ledgerId: Uuid) {
  const ledger = await getLedger(db, ledgerId)
  return {
    id: formatId('led', ledgerId),
    name: ledger.name,
    issuer: ledger.issuer,
    origin: ledger.origin,
    noteVerifierKey: formatVerifierKey(ledger.origin, ledger.noteKey.raw, nativeProviders.sha256),
  }
}

/** An entry with its records and documents. For a batch, both lists are empty. */
type ReadEntry = {
  readonly entry: EntryRowRead
  readonly records: readonly EntryRecordRow[]
  readonly documents: readonly EntryDocumentRow[]
  /** Envelope of the peer's entry that this entry receives; null if this entry receives none. */
  readonly received: Buffer | null
}

/**
 * Renders one line without its newline. The line of a batch has no items. A verifier that has the database reads the
 * items from chunks instead (src/verify/verify-batch.ts).
 */
export function entryLine({ entry, records, documents, received }: ReadEntry, shown: DocumentsShown): string {
  return `${lineStart(entry)}${documentsJson({ records, documents }, shown)},"items":null${renderReceived(received)}${renderSigner(entry)}}`
}

/**
 * Yields a line with its newline. The line of a batch is yielded chunk by chunk, because a full batch takes megabytes.
 */
async function* lineTexts(
  { items, ...read }: EntryRead,
  shown: DocumentsShown,
  explain: (erasedSeq: number | null) => void,
): AsyncGenerator<string> {
  if (items !== null) return yield* batchTexts(read.entry, items, shown, explain)
  for (const { payloadErasedSeq } of read.records) explain(payloadErasedSeq)
  for (const { erasedSeq } of read.documents) explain(erasedSeq)
  yield `${entryLine(read, shown)}\n`
}

async function* batchTexts(
  entry: EntryRowRead,
  parts: AsyncIterable<BatchRecord[]>,
  shown: DocumentsShown,
  explain: (erasedSeq: number | null) => void,
): AsyncGenerator<string> {
  const items: string[] = []
  let piece = `${lineStart(entry)}[`
  for await (const part of parts) {
    for (const record of part) {
      const item = itemOfRecord(record)
      explain(record.erasedSeq)
      piece += `${items.length === 0 ? '' : ','}${renderItemDocument(item, record, shown)}`
      items.push(itemBytes(item))
      if (piece.length < STREAM_STRING_CHARS) continue
      yield piece
      piece = ''
    }
  }
  yield `${piece}],"items":[`
  for (let i = 0; i < items.length; i += ITEMS_PER_TEXT)
    yield `${i === 0 ? '' : ','}${items.slice(i, i + ITEMS_PER_TEXT).join(',')}`
  yield `]${renderSigner(entry)}}\n`
}

function lineStart(entry: EntryRowRead): string {
  return (
    `{"seq":${entry.seq},"kind":"${entry.kind}","recordedAt":"${entry.recordedAt.toISOString()}",` +
    `"leaf":"${entry.leaf.toString('hex')}","chain":"${entry.chain.toString('hex')}",` +
    `"envelope":"${entry.envelope.toString('base64')}","documents":`
  )
}

/** Renders the member `received`. Returns '' if the entry received no envelope, because the member is then absent. */
function renderReceived(envelope: Buffer | null): string {
  return envelope === null ? '' : `,"received":"${envelope.toString('base64')}"`
}

/** Renders the member `signer`. Returns '' if the server signed the entry. */
function renderSigner({ signer }: EntryRowRead): string {
  return signer === null ? '' : `,"signer":{"alg":"${signer.alg}","spki":"${signer.spki}"}`
}

export function documentsJson(
  { records, documents }: Pick<ReadEntry, 'records' | 'documents'>,
  shown: DocumentsShown,
): string {
  const rendered = [
    ...records.map((r) => renderPayload(r, shown)),
    ...documents.map((d) => `{${renderStepDocument(d, shown)}}`),
  ]
  return `[${rendered.join(',')}]`
}

function renderPayload(r: EntryRecordRow, shown: DocumentsShown): string {
  const document = {
    subject: formatId('rec', r.recordId),
    digest: r.digest.toString('hex'),
    salt: r.salt,
    content: r.payload,
    erasedSeq: r.payloadErasedSeq,
  }
  return `{${renderDocument(document, shown)}${renderReferences(r.referenceList, shown)}}`
}

function renderItemDocument({ record, digest }: BatchItem, r: BatchRecord, shown: DocumentsShown): string {
  const document = { subject: record, digest, salt: r.salt, content: r.payload, erasedSeq: r.erasedSeq }
  return `{${renderDocument(document, shown)}${renderReferences(r.references, shown)}}`
}

function renderStepDocument(d: EntryDocumentRow, shown: DocumentsShown): string {
  const subject = formatDocumentSubject(d.document, d.subjectId)
  return renderDocument({ ...d, subject, digest: d.digest.toString('hex') }, shown)
}

type ShownDocument = {
  readonly subject: string
  /** Digest in lower-case hex. */
  readonly digest: string
  readonly salt: Buffer | null
  readonly content: Buffer | null
  readonly erasedSeq: number | null
}

function renderDocument(d: ShownDocument, shown: DocumentsShown): string {
  // The salt is withheld with its document. With the salt and the digest, a reader could guess a short document.
  const salt = d.salt === null || shown === 'withheld' ? 'null' : `"${d.salt.toString('base64url')}"`
  const content = shown === 'all' ? d.content?.toString('utf8') : undefined
  return (
    `"subject":"${d.subject}","digest":"${d.digest}","salt":${salt},` +
    `"document":${content ?? 'null'},"erasedBy":${d.erasedSeq ?? 'null'}`
  )
}

/** Renders the member `references`. Returns '' if the record has no references, because the member is then absent. */
function renderReferences(list: Buffer | null, shown: DocumentsShown): string {
  if (list === null || shown === 'withheld') return ''
  return `,"references":${list.toString('utf8')}`
}

/** Returns the object that was hashed as the record's leaf of its batch. */
export function itemOfRecord(record: BatchRecord): BatchItem {
  const references = referencesDigestOf(record)
  return itemOf(formatId('rec', record.recordId), record, {
    digest: toHex(digestOf(record)),
    references: references && toHex(references),
  })
}
