import { fromHex, toHex } from '../bytes.ts'
import type { ParsedEnvelope } from '../envelope/cose.ts'
import { ID_BYTES, parseIdBytes } from '../ids.ts'
import type { SignedStatement } from '../scitt/signed-statement.ts'
import type { BatchItem } from '../statement/batch.ts'
import { ENTRY_KINDS, type EntryKind, STATEMENT } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'
import type { EntryLine } from './entry-line.ts'
import { wordAt } from './id-table.ts'
import type { ReceivedEntry } from './verify-received.ts'

/**
 * Facts about a verified entry that LedgerVerifier needs. The facts are small, so threads can send them to each other.
 */
export type EntryStep = {
  readonly seq: number
  readonly kind: EntryKind | typeof STATEMENT
  readonly ledger: string
  readonly issuer: string
  /** Kid of the envelope, in lower-case hex. */
  readonly kid: string
  /** True if the line has a `signer`. LedgerVerifier compares this with the chain's keys. */
  readonly hasSigner: boolean
  readonly leaf: Uint8Array
  /** Chain hash that the line claims. LedgerVerifier verifies this hash. */
  readonly chain: Uint8Array
  readonly actor: string
  readonly key: string | null
  readonly atMs: number
  /** Agents that the actor acts for, without duplicates. */
  readonly actedFor: readonly string[]
  /** Record types that the entry uses, without duplicates. */
  readonly types: readonly string[]
  /**
   * Ids of the records that this entry notarizes, 16 bytes each. `digestWords` has the first word of each payload's
   * digest.
   */
  readonly recordIds: Uint8Array
  readonly digestWords: Uint32Array
  readonly erased: readonly ErasedDocument[]
  /**
   * Statement of the entry. null if the kind is `record-notarized`: LedgerVerifier needs nothing else from that
   * statement, and a ledger may have ten million such entries.
   */
  readonly statement: ParsedStatement | null
  /** Entry of another ledger that this entry receives. null if the entry receives nothing. */
  readonly received: ReceivedEntry | null
  /**
   * Statement of another issuer. null for the ledger's own entries. If it is not null, `ledger`, `issuer`, `kid` and
   * `actor` of this step are empty.
   */
  readonly registered: SignedStatement | null
}

/** Step of an entry that is the ledger's own, not a statement of another issuer. */
export type OwnStep = EntryStep & { readonly kind: EntryKind }

export function isOwnStep(step: EntryStep): step is OwnStep {
  return step.kind !== STATEMENT
}

/**
 * A document that is missing and whose line claims that it was erased. `sha256`: the digest that the statement signs.
 */
export type ErasedDocument = {
  readonly subject: string
  readonly sha256: string
  readonly erasedBy: number
}

type StepFacts = Pick<EntryStep, 'recordIds' | 'digestWords' | 'erased' | 'received'> & {
  /**
   * `actedFor`: agents that the actor acts for in the items of a batch. `types`: types of the items. Both MAY contain
   * duplicates.
   */
  readonly actedFor: Iterable<string | undefined>
  readonly types: Iterable<string>
}

type LinePosition = Pick<EntryLine, 'seq' | 'leaf' | 'chain' | 'signer'>

export function stepOf(
  line: LinePosition,
  envelope: ParsedEnvelope,
  statement: ParsedStatement,
  facts: StepFacts,
): EntryStep {
  return {
    seq: line.seq,
    kind: statement.kind,
    ledger: statement.ledger,
    issuer: envelope.issuer,
    kid: toHex(envelope.kid),
    hasSigner: line.signer !== undefined,
    leaf: fromHex(line.leaf),
    chain: fromHex(line.chain),
    actor: statement.actor,
    key: statement.key,
    atMs: statement.recordedAtMs,
    actedFor: unique([statement.onBehalfOf, ...facts.actedFor]),
    types: unique([typeOf(statement), ...facts.types]),
    recordIds: facts.recordIds,
    digestWords: facts.digestWords,
    erased: facts.erased,
    statement: statement.kind === 'record-notarized' ? null : statement,
    received: facts.received,
    registered: null,
  }
}

/**
 * Returns the type of the record that the entry makes. Returns undefined for all other entries. Entries about retention
 * rules and holds are left out, because they may name a type that is not registered yet.
 */
function typeOf({ kind, predicate }: ParsedStatement): string | undefined {
  return ENTRY_KINDS[kind].movesRecord ? (predicate['type'] as string | undefined) : undefined
}

type LineExtras = { readonly items: readonly BatchItem[] | null; readonly received: ReceivedEntry | null }

export function makeStep(
  line: EntryLine,
  envelope: ParsedEnvelope,
  statement: ParsedStatement,
  { items, received }: LineExtras,
): EntryStep {
  const notarized = notarizedRecords(statement, items)
  return stepOf(line, envelope, statement, {
    actedFor: (items ?? []).map((item) => item.onBehalfOf),
    types: (items ?? []).map((item) => item.type),
    recordIds: packIds(notarized),
    digestWords: Uint32Array.from(notarized, ({ sha256 }) => wordAt(fromHex(sha256.slice(0, 8)), 0)),
    erased: line.documents.flatMap(({ subject, digest, erasedBy }) =>
      erasedBy === null ? [] : [{ subject, sha256: digest, erasedBy }],
    ),
    received,
  })
}

type Notarized = { readonly name: string; readonly sha256: string }

function notarizedRecords(
  statement: ParsedStatement,
  items: readonly BatchItem[] | null,
): readonly Notarized[] {
  if (items !== null) return items.map((item) => ({ name: item.record, sha256: item.digest }))
  return statement.kind === 'record-notarized' ? [statement.subjects[0]] : []
}

/**
 * Returns the records' ids as bytes. The ids of a batch are consecutive, and the low 12 bits of the first id are zero
 * (verifyItemIds).
 */
function packIds(records: readonly Notarized[]): Uint8Array {
  const bytes = new Uint8Array(records.length * ID_BYTES)
  if (records.length === 0) return bytes
  const first = parseIdBytes('rec', records[0]!.name)
  for (let i = 0, at = 0; i < records.length; i++, at += ID_BYTES) {
    bytes.set(first, at)
    bytes[at + 14]! |= i >> 8
    bytes[at + 15]! |= i & 0xff
  }
  return bytes
}

const NONE: readonly string[] = []

function unique(values: readonly (string | null | undefined)[]): readonly string[] {
  const found = new Set(values)
  found.delete(null)
  found.delete(undefined)
  return found.size === 0 ? NONE : ([...found] as string[])
}
