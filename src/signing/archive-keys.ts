import { randomBytes } from 'node:crypto'
import { formatId, type Uuid } from '../proof/ids.ts'
import { DOCUMENT_KEY_BYTES, DocumentKeys } from './document-keys.ts'

/**
 * Returns the context that binds a piece's sealed secrets to this piece. So an attacker cannot swap the sealed secrets
 * of two rows.
 */
export function archiveKeyContext(ledgerId: Uuid, fromSeq: number): string {
  return `archive keys ${formatId('led', ledgerId)} ${fromSeq}`
}

/** Returns new packed secrets for a piece. */
export function makeArchiveKeys(): Buffer {
  return DocumentKeys.of(randomBytes(DOCUMENT_KEY_BYTES)).pack()
}
