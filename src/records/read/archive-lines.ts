import type { EntryDocumentRow, EntryRead, EntryRecordRow } from '../../db/chain/read-entries.ts'
import type { BatchRecord } from '../../db/chunks/read-chunks.ts'
import { formatId } from '../../proof/ids.ts'
import { itemBytes } from '../../proof/statement/batch.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'
import { itemOfRecord } from './export.ts'

/**
 * A document of an entry, before it is encrypted for the archive. `text`: the document's salt, content and references
 * as JSON; null if the document was erased.
 */
export type ArchivedDocument = { readonly item: number; readonly text: string | null }

export type ArchivedEntry = {
  /** Line that ends with a newline (docs/formats/archive.md). */
  readonly line: string
  readonly documents: readonly ArchivedDocument[]
}

/**
 * Returns an entry's line without envelope and documents, and separately the entry's documents. A batch is read as a
 * whole, which takes at most 18 MiB. `definition`: stored definition of the type that the entry registers; null if the
 * entry registers no type.
 */
export async function archiveEntry(read: EntryRead, definition: Buffer | null): Promise<ArchivedEntry> {
  const { entry, received } = read
  const start =
    `{"seq":${entry.seq},"kind":"${entry.kind}","recordedAt":"${entry.recordedAt.toISOString()}",` +
    `"leaf":"${entry.leaf.toString('hex')}","chain":"${entry.chain.toString('hex')}","documents":`
  const signer =
    entry.signer === null ? '' : `,"signer":{"alg":"${entry.signer.alg}","spki":"${entry.signer.spki}"}`
  if (read.items !== null) {
    const { erasedBy, items, documents } = await archiveItems(read.items)
    return { line: `${start}[${erasedBy.join(',')}],"items":[${items.join(',')}]${signer}}\n`, documents }
  }
  const documents = [...read.records.map(payloadOf), ...read.documents.map(stepDocumentOf)]
  const end =
    (received === null ? '' : `,"received":"${received.toString('base64')}"`) +
    (definition === null ? '' : `,"definition":${JSON.stringify(definition.toString('utf8'))}`)
  return {
    line: `${start}[${documents.map(({ shown }) => shown).join(',')}],"items":null${end}${signer}}\n`,
    documents,
  }
}

/**
 * Returns the items and documents of a batch. The documents have no subject and no digest, because the items contain
 * both.
 */
async function archiveItems(parts: AsyncIterable<BatchRecord[]>) {
  const erasedBy: string[] = []
  const items: string[] = []
  const documents: ArchivedDocument[] = []
  for await (const part of parts) {
    for (const record of part) {
      erasedBy.push(String(record.erasedSeq))
      documents.push({
        item: items.length,
        text: sealedText(record.salt, record.payload, record.references),
      })
      items.push(itemBytes(itemOfRecord(record)))
    }
  }
  return { erasedBy, items, documents }
}

function payloadOf(r: EntryRecordRow) {
  return {
    item: 0,
    shown: shownText(formatId('rec', r.recordId), r.digest, r.payloadErasedSeq),
    text: sealedText(r.salt, r.payload, r.referenceList),
  }
}

function stepDocumentOf(d: EntryDocumentRow) {
  return {
    item: 0,
    shown: shownText(formatDocumentSubject(d.document, d.subjectId), d.digest, d.erasedSeq),
    text: sealedText(d.salt, d.content, null),
  }
}

function shownText(subject: string, digest: Buffer, erasedBy: number | null): string {
  return `{"subject":"${subject}","digest":"${digest.toString('hex')}","erasedBy":${erasedBy}}`
}

function sealedText(salt: Buffer | null, document: Buffer | null, references: Buffer | null): string | null {
  if (salt === null || document === null) return null
  const list = references === null ? '' : `,"references":${references.toString('utf8')}`
  return `{"salt":"${salt.toString('base64url')}","document":${document.toString('utf8')}${list}}`
}
