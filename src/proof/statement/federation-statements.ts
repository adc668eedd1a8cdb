import { ProofError } from '../error.ts'
import type { JsonObject } from '../json/json-value.ts'
import { contradiction } from './kinds/contradiction.ts'
import { ENTRY_KINDS, type EntryKind, type Subject } from './kinds.ts'

/*
 * Checks of statements about a peer (docs/formats/federation.md). The members of such a statement must agree with each
 * other. The formats of the members were checked before.
 */

/** A received entry, as described in the predicate of the entry that receives it. */
export type Received = {
  readonly ledger: string
  readonly seq: number
  /** Leaf hash in lower-case hex. */
  readonly leaf: string
  readonly kind: EntryKind
  readonly record: string | null
  /** Version of the record after the received entry. null if that entry is not a step of a record. */
  readonly version: number | null
}

export type TakenOffer = Pick<Received, 'ledger' | 'seq' | 'leaf'> & { readonly peer: string }

/** Returns the description of the received entry. Returns null if the predicate has none. */
export function receivedOf(predicate: JsonObject): Received | null {
  return (predicate['received'] ?? null) as Received | null
}

/** Returns the offer that the step takes. Returns null if the step takes no offer. */
export function takenOfferOf(predicate: JsonObject): TakenOffer | null {
  return (predicate['offer'] ?? null) as TakenOffer | null
}

/**
 * Verifies that the members about the received entry agree with each other. Throws `statement_subject` or
 * `statement_predicate`.
 */
export function refuseReceived(kind: EntryKind, about: Subject, predicate: JsonObject): void {
  const received = receivedOf(predicate)
  if (!received) return
  const { ledger, seq, leaf, record, version } = received
  const rule = ENTRY_KINDS[received.kind]
  if (ledger === predicate['ledger']) throw contradiction('the ledger received it from itself')
  if (rule.receivedBy !== kind) throw contradiction(`${kind} cannot receive ${received.kind}`)
  const hasRecord = Object.hasOwn(rule.fields.required, 'record')
  if ((record !== null) !== hasRecord) throw contradiction(`the record of ${received.kind} is ${record}`)
  if ((version !== null) !== rule.movesRecord)
    throw contradiction(`the version of ${received.kind} is ${version}`)
  const { record: refused = record } = predicate
  if (refused !== record) throw contradiction(`the offer is about ${record}, the refusal about ${refused}`)
  if (ENTRY_KINDS[kind].subjects[0] !== 'entry') return
  if (about.name !== `${ledger}/${seq}` || about.sha256 !== leaf) {
    throw new ProofError(
      'statement_subject',
      `the first subject is ${about.name} ${about.sha256}, but the received entry is ${ledger}/${seq} ${leaf}`,
    )
  }
}
