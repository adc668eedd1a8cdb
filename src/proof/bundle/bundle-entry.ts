import { fromHex, toHex } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import type { DocumentLine } from '../entry/entry-line.ts'
import type { ErasedDocument } from '../entry/entry-step.ts'
import {
  type DocumentsShown,
  type FindKey,
  verifyBeside,
  verifyLineContent,
  verifySignedEntry,
  withSigner,
} from '../entry/verify-entry.ts'
import { verifyStatementContent } from '../entry/verify-step.ts'
import { ProofError } from '../error.ts'
import { verifyItemProof } from '../offline/verify-proof.ts'
import type { SignedStatement } from '../scitt/signed-statement.ts'
import type { BatchItem } from '../statement/batch.ts'
import { type EntryKind, STATEMENT } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'
import type { BundleLine } from './bundle-lines.ts'

/** An entry of a bundle that was verified by itself. BundleVerifier takes them in order. */
export type BundleEntry = OwnEntry | StatementEntry

/**
 * The same, when BundleVerifier has taken it. `signedBy`: by the keys that the entries before it name; null of a statement, whose issuer is
 * judged with the entry behind it, if at all.
 */
export type VerifiedBundleEntry =
  | (OwnEntry & { readonly signedBy: 'agent' | 'server' })
  | (StatementEntry & { readonly signedBy: null })

/** A statement that somebody else signed, which is an entry itself. Its kind and time are held to the entry behind it. */
export type StatementEntry = {
  readonly kind: typeof STATEMENT
  readonly seq: number
  readonly atMs: number
  readonly leaf: Uint8Array
  readonly path: readonly Uint8Array[] | null
  readonly registered: SignedStatement
}

export type OwnEntry = {
  readonly kind: EntryKind
  readonly seq: number
  /** Lower-case hex. */
  readonly kid: string
  /** Whether the line has a `signer`: BundleVerifier compares. */
  readonly hasSigner: boolean
  readonly issuer: string
  readonly leaf: Uint8Array
  readonly path: readonly Uint8Array[] | null
  readonly statement: ParsedStatement
  /** Items of a batch that are shown; otherwise null. */
  readonly items: readonly BatchItem[] | null
  /** Documents of this entry, in order. */
  readonly documents: readonly DocumentLine[]
  /** Those that are gone. */
  readonly erased: readonly ErasedDocument[]
}

/** Verifies all of a bundle's line that needs no other line. Order does not matter. Throws ProofError. */
export function verifyBundleLine(
  line: BundleLine,
  findKey: FindKey,
  providers: ProofProviders,
  shown: DocumentsShown,
): BundleEntry {
  const { seq, path } = line
  if (line.kind === STATEMENT) {
    const registered = verifyStatementContent(line, providers.sha256)
    return {
      kind: STATEMENT,
      seq,
      atMs: Date.parse(line.recordedAt),
      leaf: fromHex(line.leaf),
      path,
      registered,
    }
  }
  const { envelope, statement, items } =
    line.itemProofs === null
      ? verifyLineContent(line, findKey, providers, shown)
      : verifyPartOfBatch(line, line.itemProofs, findKey, providers, shown)
  return {
    kind: statement.kind,
    seq,
    kid: toHex(envelope.kid),
    hasSigner: line.signer !== undefined,
    issuer: envelope.issuer,
    leaf: fromHex(line.leaf),
    path,
    statement,
    items,
    documents: line.documents,
    erased: line.documents.flatMap(({ subject, digest, erasedBy }) =>
      erasedBy === null ? [] : [{ subject, sha256: digest, erasedBy }],
    ),
  }
}

/** Each item by its own path, so that the others of the batch need not be shown. */
function verifyPartOfBatch(
  line: BundleLine,
  proofs: NonNullable<BundleLine['itemProofs']>,
  findKey: FindKey,
  providers: ProofProviders,
  shown: DocumentsShown,
) {
  const { envelope, statement } = verifySignedEntry(
    line,
    withSigner(findKey, line, providers.sha256),
    providers,
  )
  if (statement.kind !== 'batch-notarized')
    throw new ProofError('batch_contradicts_statement', `items of ${statement.kind}`)
  if (proofs.length === 0) throw new ProofError('entry_unrelated', 'a batch of which no record is shown')
  if (line.received) throw new ProofError('received_mismatch', 'a batch with a received entry')
  const items = proofs.map((proof) => verifyItemProof(proof, statement, providers))
  verifyBeside(providers.sha256, line.documents, { statement, items }, shown)
  return { envelope, statement, items }
}
