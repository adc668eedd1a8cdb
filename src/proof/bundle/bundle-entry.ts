import { fromHex, toHex } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import type { DocumentLine } from '../entry/entry-line.ts'
import type { ErasedDocument } from '../entry/entry-step.ts'
import {
  type DocumentsShown,
  type FindKey,
  verifyLineContent,
  verifyLineDocuments,
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

/** An entry of a bundle that was verified without the other entries. BundleVerifier takes such entries in order. */
export type BundleEntry = OwnEntry | StatementEntry

/**
 * An entry that BundleVerifier has accepted.
 *
 * `signedBy` depends on the keys that earlier entries introduce. It is null for a statement of another issuer. The
 * issuer's signature is verified together with the entry behind the statement, if the bundle has the policy.
 */
export type VerifiedBundleEntry =
  | (OwnEntry & { readonly signedBy: 'agent' | 'server' })
  | (StatementEntry & { readonly signedBy: null })

/**
 * A statement of another issuer, which is an entry of its own. BundleVerifier compares its kind and time with the next
 * entry, which registers the statement.
 */
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
  readonly kid: string
  /** True if the line has a `signer`. BundleVerifier checks whether the line must have one. */
  readonly hasSigner: boolean
  readonly issuer: string
  readonly leaf: Uint8Array
  readonly path: readonly Uint8Array[] | null
  readonly statement: ParsedStatement
  readonly items: readonly BatchItem[] | null
  readonly documents: readonly DocumentLine[]
  readonly erased: readonly ErasedDocument[]
}

/**
 * Verifies everything about a bundle line that needs no other line. So lines can be verified in any order. Throws
 * ProofError.
 */
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

/** Verifies each item by its own path, so that the bundle need not show the other items of the batch. */
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
    throw new ProofError('batch_contradicts_statement', `${statement.kind} cannot have items`)
  if (proofs.length === 0)
    throw new ProofError('entry_unrelated', 'the bundle has a batch without any record of the batch')
  if (line.received) throw new ProofError('received_mismatch', 'a batch cannot have a received entry')
  const items = proofs.map((proof) => verifyItemProof(proof, statement, providers))
  verifyLineDocuments(providers.sha256, line.documents, { statement, items }, shown)
  return { envelope, statement, items }
}
