import { type BundleFilter, isFiltered } from '../../src/proof/bundle/is-filtered.ts'
import { fromBase64, utf8Decode } from '../../src/proof/bytes.ts'
import { readUsualEnvelope } from '../../src/proof/envelope/usual-envelope.ts'
import { UsageError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { wrongServer } from '../http/answers.ts'
import type { CallOptions } from '../http/transport.ts'
import type { EntryProof } from './entries.ts'

/* Builds the lines of a bundle (docs/formats/bundles.md) from a server's answers. */

/**
 * Options of a bundle.
 *
 * - `size`: size of the bundle's checkpoint. Default: the newest.
 * - `documents`: false leaves out the documents.
 * - `tool`: name and version of the program that makes the bundle.
 */
export type BundleRequest = CallOptions & {
  readonly size?: number | undefined
  readonly documents?: boolean | undefined
  readonly tool?: string | undefined
}

export type Document = api.EntryLine['documents'][number]
export type Signer = NonNullable<api.EntryLine['signer']>
/**
 * Tree of the bundle's checkpoint. `foundation` contains the seqs of the ledger's definition, of its key rotations, of
 * entries about agents' keys, and of a registration policy.
 */
export type Tree = {
  readonly ledger: string
  readonly size: number
  readonly checkpoint: string
  readonly keys: readonly EntryProof['keys'][number][]
  readonly foundation: readonly number[]
  /** Maps the kid of an agent's key to the key. */
  readonly signers: ReadonlyMap<string, Signer>
}

/**
 * Returns the selected records of an entry:
 *
 * - null if the entry is about one record, which is selected.
 * - An array with the ids of the selected records of a batch.
 * - undefined if the filter selects nothing of the entry.
 *
 * `gated` contains the ids of the gated records selected so far. The function adds to this set.
 */
export function selectedOf(
  { kind, envelope, items }: api.EntryLine,
  filter: Omit<BundleFilter, 'from' | 'to'>,
  gated: Set<string>,
): string[] | null | undefined {
  if (kind === 'statement') return undefined
  const predicate = predicateOf(envelope) as Partial<Record<string, string>>
  const { actor, onBehalfOf, performer, record, type, traceparent } = predicate
  if (kind === 'batch-notarized') {
    const matching = items!.filter((item) =>
      isFiltered(filter, {
        type: item.type,
        agents: [actor, item.onBehalfOf],
        traceparent: item.traceparent,
      }),
    )
    return matching.length === 0 ? undefined : matching.map((item) => item.record)
  }
  if (kind === 'record-notarized' || kind === 'record-created') {
    const facts = { type: type!, agents: [actor, onBehalfOf, performer], traceparent }
    if (!isFiltered(filter, facts)) return undefined
    if (kind === 'record-created') gated.add(record!)
    return null
  }
  return predicate['version'] !== undefined && gated.has(record ?? '') ? null : undefined
}

/**
 * Parses an envelope without verifying it. Readers of the bundle verify the envelope. Verification here would double
 * the size of an application's JavaScript bundle.
 */
export function openEnvelope(envelope: string) {
  const read = readUsualEnvelope(fromBase64(envelope))
  if (read === null) throw wrongServer('the server answered with an envelope of unknown form')
  return read
}

type Predicate = Readonly<Record<'actor' | 'agent' | 'policy', string>>

export function predicateOf(envelope: string): Predicate {
  return JSON.parse(utf8Decode(openEnvelope(envelope).payload)).predicate
}

export function headLine(
  tree: Tree,
  of: object,
  completeness: string,
  { documents = true, tool }: BundleRequest,
): string {
  return textOf({
    bundle: 1,
    ledger: tree.ledger,
    of,
    completeness,
    documents: documents ? 'all' : 'withheld',
    ...(tool !== undefined && { tool }),
    keys: tree.keys.map(({ kid, alg, spki, compromisedAt }) => ({ kid, alg, spki, compromisedAt })),
    checkpoint: tree.checkpoint,
  })
}

/**
 * Returns the entry's line for the bundle. Removes the chain hash, because nothing in a bundle signs it. Removes the
 * contents of the documents if `documents` is false. Throws UsageError if the API key may not read a document.
 */
export function shownLine({ chain: _, ...line }: api.EntryLine, { documents = true }: BundleRequest) {
  if (!documents) return { ...line, documents: line.documents.map(withoutContent) }
  const withheld = line.documents.find(({ salt, erasedBy }) => salt === null && erasedBy === null)
  if (withheld)
    throw new UsageError(`the API key may not read ${withheld.subject}: make the bundle without documents`)
  return line
}

function withoutContent({ subject, digest, erasedBy }: Document): Document {
  return { subject, digest, salt: null, document: null, erasedBy }
}

/** Returns the document of a single batch record, in the same form as in the line of the whole batch. */
export function documentOf({ id, digest, salt, payload, references, erasure }: api.LedgerRecord): Document {
  const document = { subject: id, digest, salt, document: payload, erasedBy: erasure?.seq ?? null }
  return { ...document, ...(references !== null && { references }) }
}

export function textOf(line: object): string {
  return `${JSON.stringify(line)}\n`
}
