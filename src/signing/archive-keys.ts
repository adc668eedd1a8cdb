import { randomBytes } from 'node:crypto'
import { formatId, type Uuid } from '../proof/ids.ts'
import { DOCUMENT_KEY_BYTES, DocumentKeys } from './document-keys.ts'

/** Binds sealed secrets to the piece that they are of, so that rows can't be swapped. */
export function archiveKeyContext(ledgerId: Uuid, fromSeq: number): string {
  return `archive keys ${formatId('led', ledgerId)} ${fromSeq}`
}

/** Secrets of a new piece, packed. */
export function makeArchiveKeys(): Buffer {
  return DocumentKeys.of(randomBytes(DOCUMENT_KEY_BYTES)).pack()
}
