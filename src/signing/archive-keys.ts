import { randomBytes } from 'node:crypto'
import { formatId, type Uuid } from '../proof/ids.ts'
import { DOCUMENT_KEY_BYTES, DocumentKeys } from './document-keys.ts'

/**
 * Returns the context that binds sealed secrets to their piece, so that sealed secrets of two rows cannot be exchanged.
 */
export function archiveKeyContext(ledgerId: Uuid, fromSeq: number): string {
  return `archive keys ${formatId('led', ledgerId)} ${fromSeq}`
}

/** Returns new packed secrets for a piece. */
export function makeArchiveKeys(): Buffer {
  return DocumentKeys.of(randomBytes(DOCUMENT_KEY_BYTES)).pack()
}
