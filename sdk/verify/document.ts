import { parseJsonText } from '../../src/proof/json/json-text.ts'
import { parseShownSalt, verifyShownDigest } from '../../src/proof/statement/shown-document.ts'
import { toJson } from '../json.ts'
import { refusing } from './errors.ts'
import { chooseEngine } from './providers.ts'

/**
 * Verifies that a document (a payload, evidence, compared values, or a reason) matches its signed digest. Throws
 * VerificationError otherwise.
 *
 * - `digest`: hex, from `subjects` of a verified envelope. A digest from the same answer as the document proves
 *   nothing.
 * - `salt`: the document's salt, in the form that a record contains.
 */
export async function document(
  document: unknown,
  { salt, digest }: { readonly salt: string; readonly digest: string },
): Promise<void> {
  const text = toJson(document)
  return refusing(() => {
    const value = parseJsonText(text)
    const { sha256 } = chooseEngine().providers
    verifyShownDigest(sha256, parseShownSalt({ document: value, salt }, 'document'), 'it', value, digest)
  })
}
