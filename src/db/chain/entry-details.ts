import type { Uuid } from '../../proof/ids.ts'
import type { EntryKind, StepKind } from '../../proof/statement/kinds.ts'

/*
 * Details of an entry that are stored outside its own row. The type depends on the entry's kind. append_details,
 * append_federation and append_received (migrations/functions) store these details, which they get as JSON.
 *
 * Ids have Postgres' form of uuids. Hashes are in lower-case hex.
 */

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
  /** `spki` is base64. `endorsedBy` is null for an agent's first key. */
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
    /** Time in ISO 8601. null if the key does not expire. */
    readonly expiresAt: string | null
  }
  'key-revoked': NoDetail
  /** `definition` is canonical JSON. */
  'type-registered': { readonly name: string; readonly gated: boolean; readonly definition: string }
  /**
   * `type` and `agents` describe a record that has no row of its own. `rule` is the retention rule by which the server
   * erased the document. null if somebody requested the erasure.
   */
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
  /** `hold` is the seq of the entry that set the hold. */
  'hold-lifted': { readonly hold: number }
  'subject-erased': NoDetail
  'export-made': NoDetail
  'peer-added': {
    /** Identity of the invited side as canonical JSON. */
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
  /** `policy` is the leaf of the entry that set the policy, `kid` the issuer's key. Both are in lower-case hex. */
  'statement-registered': {
    readonly policy: string
    readonly issuer: string
    readonly subject: string
    readonly contentType: string
    readonly kid: string
  }
}

/** Selects records for a rule or a hold. A member that is null selects all values. */
export type Selector = { readonly type: string | null; readonly agentId: Uuid | null }

type NoDetail = Readonly<Record<string, never>>

/** `spki` is base64. */
type PeerKeyDetail = { readonly kid: string; readonly alg: string; readonly spki: string }

type ShareDetail = { readonly peerId: Uuid; readonly documents: 'whole' | 'digests' }

/** An entry of another ledger. `envelope` is base64. */
export type ReceivedDetail = {
  readonly peerId: Uuid
  readonly seq: number
  readonly kind: string
  readonly recordId: Uuid | null
  readonly version: number | null
  readonly leaf: string
  readonly envelope: string
}

export type ReceivedConsequences = {
  readonly document?: {
    readonly subject: string
    readonly digest: string
    readonly salt: string
    /** `content` and `references` are canonical JSON. */
    readonly content: string
    readonly references: string | null
  }
  readonly type?: { readonly peerId: Uuid; readonly name: string; readonly definition: string }
  /**
   * State of the record after the entry. The inner `standing` is the JSON of GatedRecord
   * (src/proof/ledger/gated-record.ts).
   */
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
  readonly offer?: { readonly seq: number; readonly state: 'taken' | 'refused'; readonly code?: string }
  readonly erased?: { readonly peerId: Uuid; readonly remoteSeq: number }
  readonly peer?: {
    readonly peerId: Uuid
    readonly state: 'active' | 'revoked'
    readonly counterpart?: string
  }
}

/**
 * Details of steps of gated records. `performer` is the performer after the step if it is a remote agent,
 * `led_…/agt_…`.
 */
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

/**
 * Maps each kind of entry to the type of its details. `undefined` means that an entry of this kind may have no details.
 */
export type EntryDetails = AdministrativeDetails & {
  readonly [Kind in StepKind | 'record-created']: StepDetail | undefined
} & {
  readonly 'step-offered': OfferDetail
  readonly 'record-notarized': undefined
  readonly 'batch-notarized': undefined
}

export type EntryDetail = NonNullable<EntryDetails[EntryKind]>
