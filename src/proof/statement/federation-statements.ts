import { ProofError } from '../error.ts'
import type { JsonObject } from '../json/json-value.ts'
import { ENTRY_KINDS, type EntryKind, RECEIVED_KINDS, type Subject } from './kinds.ts'
import { PREDICATES } from './predicates.ts'
import { parseRemoteAgent } from './remote-agents.ts'

/*
 * Members of a statement about a peer that must agree with each other (docs/formats/federation.md); their formats were checked
 * before.
 */

/** Member of an entry that names what it received. */
export type Received = {
  readonly ledger: string
  readonly seq: number
  /** Lower-case hex. */
  readonly leaf: string
  readonly kind: EntryKind
  readonly record: string | null
  /** Version of the record after the event. */
  readonly version: number | null
}

/** The offer that a step takes. */
export type TakenOffer = Pick<Received, 'ledger' | 'seq' | 'leaf'> & { readonly peer: string }

/** Throws `statement_subject` or `statement_predicate`. */
export function refuseFederation(
  kind: EntryKind,
  subjects: readonly [Subject, ...Subject[]],
  predicate: JsonObject,
): void {
  const received = receivedOf(predicate)
  if (received) refuseReceived(kind, subjects[0], received, predicate)
  switch (kind) {
    case 'peer-added':
      refuseAdded(predicate)
      break
    case 'record-created':
      refuseRemotePerformer(predicate)
      break
    case 'step-offered':
      refuseOffer(subjects, predicate)
      break
    case 'record-activated':
    case 'completion-submitted':
      refuseTaken(predicate)
      break
    default:
  }
}

/** null where the kind has none. */
export function receivedOf(predicate: JsonObject): Received | null {
  return (predicate['received'] ?? null) as Received | null
}

/** null for a step that nobody offered. */
export function takenOfferOf(predicate: JsonObject): TakenOffer | null {
  return (predicate['offer'] ?? null) as TakenOffer | null
}

/** Which kinds each kind that receives takes in. */
const RECEIVES: { readonly [Kind in EntryKind]?: ReadonlySet<EntryKind> } = {
  'entry-received': RECEIVED_KINDS,
  'offer-refused': new Set(['step-offered']),
  'peer-key-rotated': new Set(['server-key-rotated']),
}

function refuseReceived(kind: EntryKind, about: Subject, received: Received, predicate: JsonObject): void {
  const { ledger, seq, leaf, record, version } = received
  if (ledger === predicate['ledger']) throw contradiction('received from itself')
  if (!RECEIVES[kind]!.has(received.kind)) throw contradiction(`${kind} of ${received.kind}`)
  const hasRecord = Object.hasOwn(PREDICATES[received.kind].required, 'record')
  if ((record !== null) !== hasRecord) throw contradiction(`the record of ${received.kind} is ${record}`)
  if ((version !== null) !== ENTRY_KINDS[received.kind].movesRecord)
    throw contradiction(`the version of ${received.kind} is ${version}`)
  if (kind === 'offer-refused' && predicate['record'] !== record)
    throw contradiction(`the offer is of ${record}, the refusal of ${predicate['record']}`)
  if (kind === 'peer-key-rotated') return
  if (about.name !== `${ledger}/${seq}` || about.sha256 !== leaf) {
    throw new ProofError(
      'statement_subject',
      `subject 0 is ${about.name}, received is ${ledger}/${seq} ${leaf}`,
    )
  }
}

/** Each side signs both identities; the one that answers names what it answers. */
function refuseAdded({ ledger, inviter, invited, counterpart }: JsonObject): void {
  const [from, to] = [inviter, invited].map((identity) => (identity as JsonObject)['ledger'])
  if (from === to) throw contradiction(`${from} invites itself`)
  if (ledger !== from && ledger !== to) throw contradiction(`a peering of ${from} and ${to}`)
  if ((ledger === to) !== (counterpart !== undefined))
    throw contradiction('the invited names its counterpart, the inviter none')
}

function refuseRemotePerformer({ ledger, performer, share }: JsonObject): void {
  const remote = performer === undefined ? null : parseRemoteAgent(performer as string)
  if (remote?.ledger === ledger) throw contradiction(`${performer} is an agent of this ledger`)
  if (remote && share === undefined) throw contradiction(`${performer} performs what nobody shares with it`)
}

function refuseOffer(subjects: readonly Subject[], { step, completion }: JsonObject): void {
  const isCompletion = step === 'completion-submitted'
  if (isCompletion !== (subjects.length === 2))
    throw new ProofError('statement_subject', `${subjects.length} subjects of an offered ${step}`)
  if (isCompletion !== (completion !== undefined)) throw contradiction(`the completion of an offered ${step}`)
}

/** A remote agent acts by what it offered, and in no other way. */
function refuseTaken(predicate: JsonObject): void {
  const { ledger, actor } = predicate
  const remote = parseRemoteAgent(actor as string)
  const offer = takenOfferOf(predicate)
  if ((remote !== null) !== (offer !== null)) throw contradiction(`an offer, or its lack, of ${actor}`)
  if (!offer) return
  if (remote!.ledger !== offer.ledger)
    throw contradiction(`${actor} takes a step by an offer of ${offer.ledger}`)
  if (offer.ledger === ledger) throw contradiction('an offer of this ledger')
}

function contradiction(detail: string): ProofError {
  return new ProofError('statement_predicate', detail)
}
