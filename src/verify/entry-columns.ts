import type { Uuid } from '../proof/ids.ts'

/**
 * Claims of a database's columns about one entry, and about everything that the entry made. Columns are an index, and the
 * statement is the truth: an attacker who can write to the tables, but not sign, could otherwise show records in another
 * state, of another actor, or none at all, while the chain verifies.
 *
 * Uuids as Postgres writes them, bytes in hex, times in microseconds since the epoch as decimal strings.
 */
export type EntryColumns = {
  readonly subjectId: string | null
  readonly version: number | null
  readonly itemCount: number | null
  readonly prevSeq: number | null
  readonly prevLeaf: string | null
  /** Seq of the step of the gated record before this one; null if the entry before is the creation. */
  readonly earlierStepSeq: number | null
  readonly actorId: string | null
  readonly keyId: string | null
  readonly signerKid: string | null
  /** Whether the row of that key is there: the entry's line then brings the key along. */
  readonly hasSigner: boolean
  readonly recordedAtUs: string
  /** Rows whose first entry this is said to be; `seq` is where they say it is. */
  readonly records: readonly RecordColumns[]
  /** Rows that hold the records of a batch, in order; their contents travel beside the columns. */
  readonly chunks: readonly ChunkColumns[]
  readonly chunkKeys: readonly ChunkKeyColumns[]
  /** Gated record that the entry is about, as it stands after the last entry. */
  readonly gated: readonly GatedColumns[]
  readonly documents: readonly DocumentColumns[]
  readonly agents: readonly AgentColumns[]
  readonly keys: readonly KeyColumns[]
  readonly disabledAgentIds: readonly string[]
  readonly revokedKeyIds: readonly string[]
  readonly signingKeys: readonly SigningKeyColumns[]
  readonly revokedSigningKids: readonly string[]
  readonly types: readonly TypeColumns[]
  readonly erasures: readonly ErasureColumns[]
  readonly closures: readonly ClosureColumns[]
  readonly rules: readonly RuleColumns[]
  readonly holds: readonly HoldColumns[]
  /** Seqs of the entries that set the holds that this one lifts. */
  readonly liftedHolds: readonly number[]
  readonly idempotencyKeys: readonly IdempotencyColumns[]
  readonly ledger: LedgerColumns | null
  readonly shares: readonly ShareColumns[]
  readonly offers: readonly OfferColumns[]
  readonly received: readonly ReceivedColumns[]
  readonly receivedDocuments: readonly ReceivedDocumentColumns[]
  readonly statements: readonly StatementColumns[]
  /** Kind, subject, actor, key and time of the entry behind a registered statement; null for any other entry. */
  readonly registration: readonly unknown[] | null
}

/** Row by which searches find a registered statement. */
export type StatementColumns = {
  readonly statementId: string
  readonly leaf: string
  readonly issuer: string
  readonly subject: string
  readonly contentType: string
  readonly kid: string
}

export type RecordColumns = {
  readonly recordId: string
  readonly type: string
  readonly actorId: string
  readonly onBehalfOf: string | null
  readonly occurredAtUs: string | null
  readonly traceparent: string | null
  readonly digest: string
  /** Whether the payload's very bytes have the digest, not only the JSON that they are. */
  readonly isCanonical: boolean
  readonly parentId: string | null
  /** Digest of the stored bytes, by the payload's salt; null if one of both is gone. */
  readonly referencesDigest: string | null
  /** Whether its payload was taken away, but not all that lies with it. */
  readonly isHalfErased: boolean
  /** Whether a search finds it by just the references that it has. */
  readonly isFoundByReferences: boolean
}

export type ChunkColumns = {
  readonly chunk: number
  readonly firstRecordId: Uuid
  readonly count: number
  readonly erasedSeq: number | null
  /** Length of its content. */
  readonly contentBytes: number
}

/** Keys by which searches find a chunk: in hex, ascending, a space between two. */
type ChunkKeyColumns = { readonly chunk: number; readonly keys: string }

export type GatedColumns = {
  readonly firstSeq: number
  readonly principalId: string
  readonly performerId: string | null
  readonly performerRemote: string | null
  readonly gate: string
  readonly deadlineUs: string | null
  readonly maxRevisions: number
  /** The bytes, as hex. */
  readonly tolerances: string | null
  /** null: searches do not find it by its state. */
  readonly state: string | null
  readonly version: number
  readonly lastSeq: number
  /** Subject of the entry at `lastSeq`. */
  readonly lastSubjectId: string | null
  readonly revisions: number
}

/** Columns of a step's document; the rest is in the entry's line. */
export type DocumentColumns = {
  readonly document: string
  /** Whether the very bytes have the digest, not only the JSON that they are. */
  readonly isCanonical: boolean
}

export type AgentColumns = { readonly agentId: string; readonly name: string }
export type KeyColumns = {
  readonly keyId: string
  readonly agentId: string
  readonly scopes: readonly string[]
  readonly expiresAtUs: string | null
}
/** `spki`: base64. */
export type SigningKeyColumns = {
  readonly agentId: string
  readonly kid: string
  readonly alg: string
  readonly spki: string
  readonly required: boolean
}
export type TypeColumns = {
  readonly name: string
  readonly digest: string
  /** The hash of the definition's bytes. */
  readonly definition: string
  readonly gated: boolean
  /** Whether the definition says so; null where it is no JSON object. */
  readonly isDefinedGated: boolean | null
  readonly isDefinedAgentSigned: boolean | null
}
export type RuleColumns = {
  readonly type: string | null
  readonly agentId: Uuid | null
  readonly days: number | null
}
export type HoldColumns = {
  readonly caseId: string
  readonly type: string | null
  readonly agentId: Uuid | null
  readonly recordIds: readonly Uuid[] | null
}
export type ClosureColumns = { readonly knownSize: number; readonly knownChain: string }
export type ErasureColumns = {
  readonly subjectId: string
  readonly document: string
  readonly documentSeq: number
}
export type IdempotencyColumns = {
  readonly actorId: string
  /** Whether the fingerprint of its request is gone. */
  readonly isForgotten: boolean
  /** Whether it should be: it goes with the first of the entry's documents that is taken away. */
  readonly isOfErased: boolean
}
export type LedgerColumns = {
  readonly name: string | null
  readonly issuer: string | null
  readonly origin: string | null
  readonly noteKid: string | null
}

/** Peers that the entry shares its record with. */
export type ShareColumns = { readonly peerId: string; readonly documents: string }

export type OfferColumns = {
  readonly peerId: string
  readonly recordId: string
  readonly version: number
  readonly step: string
  readonly agentId: string
  readonly leaf: string
  readonly state: string
  readonly code: string | null
  readonly decidedSeq: number | null
}

/** Columns of another ledger's entry; its envelope is in the entry's line. */
export type ReceivedColumns = {
  readonly peerId: string
  readonly remoteSeq: number
  readonly kind: string
  readonly recordId: string | null
  readonly version: number | null
  readonly leaf: string
  /** Record whose event it is, as it stands after the last one received. */
  readonly remote: readonly RemoteColumns[]
}

export type RemoteColumns = {
  readonly type: string
  readonly documents: string
  readonly state: string
  readonly version: number
  readonly leaf: string
  /** JSON. */
  readonly standing: string
  readonly firstSeq: number
  readonly lastSeq: number
}

/** Columns of a document that came along. The digests are those of the stored bytes by its salt; null if it is erased. */
export type ReceivedDocumentColumns = {
  readonly subject: string
  readonly digest: string
  readonly contentDigest: string | null
  readonly referencesDigest: string | null
  /** Document that its home is said to have erased; null if it is there. */
  readonly erased: { readonly subject: string; readonly seq: number } | null
  /** Whether some of it is there and some is not. */
  readonly isHalfErased: boolean
}
