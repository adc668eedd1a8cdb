import type { Uuid } from '../../proof/ids.ts'
import type { EntryKind, StepKind } from '../../proof/statement/kinds.ts'

/*
 * Columns that an entry says beyond its own row, by kind: JSON that append_details, append_federation and append_received store
 * (migrations/functions). Ids as Postgres reads uuids, hashes in lower-case hex.
 */

/** Entries about agents, keys, types, documents, the ledger and its peers. */
export type AdministrativeDetails = {
  'ledger-created': {
    readonly name: string
    readonly issuer: string
    readonly origin: string
    readonly noteKid: string
  }
  'ledger-restored': NoDetail
  'server-key-rotated': { readonly newKid: string }
  'agent-registered': { readonly name: string }
  'agent-disabled': NoDetail
  /** `spki`: base64. `endorsedBy`: null of an agent's first key. */
  'agent-key-registered': {
    readonly kid: string
    readonly alg: string
    readonly spki: string
    readonly required: boolean
    readonly endorsedBy: string | null
  }
  'agent-key-revoked': { readonly kid: string }
  'key-created': {
    readonly agentId: Uuid
    readonly name: string
    readonly scopes: readonly string[]
    readonly secretHash: string
    readonly mac: string
    /** ISO 8601. */
    readonly expiresAt: string | null
  }
  'key-revoked': NoDetail
  /** `definition`: canonical JSON. */
  'type-registered': { readonly name: string; readonly gated: boolean; readonly definition: string }
  /** `type` and `agents`: of the record, where it has no row. `rule`: by which the server erases; null: somebody asked for it. */
  'payload-erased': {
    readonly document: string
    readonly documentSeq: number
    readonly reason: string | null
    readonly recordId: Uuid
    readonly type: string | null
    readonly agents: readonly Uuid[]
    readonly rule: number | null
  }
  'retention-set': Selector & { readonly days: number | null }
  'hold-set': Selector & { readonly caseId: string; readonly recordIds: readonly Uuid[] | null }
  /** `hold`: seq of the entry that set it. */
  'hold-lifted': { readonly hold: number }
  'subject-erased': NoDetail
  'export-made': NoDetail
  'peer-added': {
    /** Canonical JSON of the invited's identity. */
    readonly invited: string
    readonly remoteLedgerId: Uuid
    readonly remoteUrl: string
    readonly handshake: string
    readonly counterpart: string | null
    readonly mac: string
    readonly ownKid: string
  } & PeerKeyDetail
  'peer-suspended': NoDetail
  'peer-resumed': NoDetail
  'peer-revoked': NoDetail
  'peer-key-rotated': {
    readonly received: ReceivedDetail
    readonly key: PeerKeyDetail & { readonly peerId: Uuid; readonly mac: string }
  }
  'record-shared': { readonly share: readonly ShareDetail[] }
  'entry-received': { readonly received: ReceivedDetail } & ReceivedConsequences
  'offer-refused': { readonly received: ReceivedDetail }
  'registration-policy-set': NoDetail
  /** `policy`: leaf of the entry that set it, `kid`: the issuer's; both in lower-case hex. */
  'statement-registered': {
    readonly policy: string
    readonly issuer: string
    readonly subject: string
    readonly contentType: string
    readonly kid: string
  }
}

/** Records that a rule or a hold is about; null: not narrowed by it. */
export type Selector = { readonly type: string | null; readonly agentId: Uuid | null }

type NoDetail = Readonly<Record<string, never>>

/** `spki`: base64. */
type PeerKeyDetail = { readonly kid: string; readonly alg: string; readonly spki: string }

type ShareDetail = { readonly peerId: Uuid; readonly documents: 'whole' | 'digests' }

/** Row of another ledger's entry. `envelope`: base64. */
export type ReceivedDetail = {
  readonly peerId: Uuid
  readonly seq: number
  readonly kind: string
  readonly recordId: Uuid | null
  readonly version: number | null
  readonly leaf: string
  readonly envelope: string
}

/** Rows that follow from another ledger's entry. */
export type ReceivedConsequences = {
  readonly document?: {
    readonly subject: string
    readonly digest: string
    readonly salt: string
    /** Canonical JSON, as `references`. */
    readonly content: string
    readonly references: string | null
  }
  readonly type?: { readonly peerId: Uuid; readonly name: string; readonly definition: string }
  /** Standing of the record; `standing`: JSON of GatedRecord (src/proof/ledger/gated-record.ts). */
  readonly standing?: {
    readonly peerId: Uuid
    readonly recordId: Uuid
    readonly type: string
    readonly documents: 'whole' | 'digests'
    readonly state: string
    readonly version: number
    readonly leaf: string
    readonly standing: string
  }
  /** Outcome of an offer of ours. */
  readonly offer?: { readonly seq: number; readonly state: 'taken' | 'refused'; readonly code?: string }
  readonly erased?: { readonly peerId: Uuid; readonly remoteSeq: number }
  readonly peer?: {
    readonly peerId: Uuid
    readonly state: 'active' | 'revoked'
    readonly counterpart?: string
  }
}

/** Steps of gated records. `performer`: `led_…/agt_…`, the remote agent that performs from now on. */
export type StepDetail = {
  readonly share?: readonly ShareDetail[]
  readonly performer?: string
  readonly received?: ReceivedDetail
}

type OfferDetail = {
  readonly peerId: Uuid
  readonly version: number
  readonly step: string
  readonly agentId: Uuid
}

/** Detail of an entry by its kind; `undefined`: the kind may do without. */
export type EntryDetails = AdministrativeDetails & {
  readonly [Kind in StepKind | 'record-created']: StepDetail | undefined
} & {
  readonly 'step-offered': OfferDetail
  readonly 'record-notarized': undefined
  readonly 'batch-notarized': undefined
}

export type EntryDetail = NonNullable<EntryDetails[EntryKind]>
