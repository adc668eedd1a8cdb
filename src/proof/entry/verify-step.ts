import { fromHex, toHex } from '../bytes.ts'
import type { ProofProviders, Sha256 } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { parseRegisteredStatement, type SignedStatement } from '../scitt/signed-statement.ts'
import { STATEMENT } from '../statement/kinds.ts'
import { leafHash } from '../tree/merkle.ts'
import type { EntryLine } from './entry-line.ts'
import type { EntryStep } from './entry-step.ts'
import { type DocumentsShown, type FindKey, type LineContent, verifyEntry } from './verify-entry.ts'

/**
 * Verifies any line of an export on its own. Calls verifyStatementLine for a registered statement and verifyEntry for
 * every other line. Throws ProofError.
 */
export function verifyStep(
  line: EntryLine,
  findKey: FindKey,
  providers: ProofProviders,
  shown: DocumentsShown,
): EntryStep {
  if (line.kind === STATEMENT) return verifyStatementLine(line, providers.sha256)
  return verifyEntry(line, findKey, providers, shown).step
}

/**
 * Verifies the line of a registered statement, as far as possible without the entries around it. The issuer did not
 * sign the line's kind and time. So LedgerVerifier compares kind and time with the next entry, which registers the
 * statement. LedgerVerifier also verifies the issuer's signature by the policy. Throws ProofError.
 */
export function verifyStatementLine(line: EntryLine, sha256: Sha256): EntryStep {
  const registered = verifyStatementContent(line, sha256)
  return {
    seq: line.seq,
    kind: STATEMENT,
    ledger: '',
    issuer: '',
    kid: '',
    hasSigner: false,
    leaf: fromHex(line.leaf),
    chain: fromHex(line.chain),
    actor: '',
    key: null,
    atMs: Date.parse(line.recordedAt),
    actedFor: [],
    types: [],
    recordIds: new Uint8Array(),
    digestWords: new Uint32Array(),
    erased: [],
    statement: null,
    received: null,
    registered,
  }
}

/**
 * Verifies the same as verifyStatementLine, but returns no step. Used for a statement whose position is proved in
 * another way.
 */
export function verifyStatementContent(line: LineContent, sha256: Sha256): SignedStatement {
  const registered = parseRegisteredStatement(line.envelope)
  const leaf = toHex(leafHash(sha256, line.envelope))
  if (line.leaf !== leaf)
    throw new ProofError(
      'line_contradicts_envelope',
      `leaf is ${leaf} in the envelope, but ${line.leaf} in the line`,
    )
  const { documents, items, received, signer } = line
  if (documents.length > 0 || items !== null || received !== undefined || signer !== undefined)
    throw new ProofError('document_presence', 'a registered statement cannot have documents or items')
  return registered
}
