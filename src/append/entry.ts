import type {
  ChunkRow,
  DocumentRow,
  EntryRow,
  GatedRow,
  IdempotencyRow,
  RecordRow,
} from '../db/chain/append-entries.ts'
import type { EntryDetails } from '../db/chain/entry-details.ts'
import { ApiError } from '../errors.ts'
import { fromHex } from '../proof/bytes.ts'
import type { Signer } from '../proof/crypto.ts'
import { verifyContent } from '../proof/entry/verify-content.ts'
import { ProofError } from '../proof/error.ts'
import type { Uuid } from '../proof/ids.ts'
import type { TakenOffer } from '../proof/statement/federation-statements.ts'
import type { EntryKind, Subject } from '../proof/statement/kinds.ts'
import { buildStatement, refuseUnverifiable } from '../proof/statement/statement.ts'
import { nativeProviders } from '../signing/native.ts'
import { signEntry } from '../signing/sign-entry.ts'
import type { SignedLedger } from '../signing/signers.ts'
import { type AgentSigned, adoptEnvelope } from './agent-signature.ts'
import { CALLER_AGE_MS_MAX } from './limits.ts'

export type Author = SignedLedger & { readonly ledger: string; readonly issuer: string } & (
    | KeyHolder
    | RemoteAgent
    | { readonly agent: 'system' }
  )

type KeyHolder = {
  readonly agent: string
  readonly agentId: Uuid
  readonly key: string
  readonly keyId: Uuid
  readonly authenticatedAtMs: number
}

/** An agent of another ledger, `led_…/agt_…`, whose offer is accepted here. It has no API key of this ledger. */
type RemoteAgent = { readonly agent: string; readonly agentId: Uuid; readonly offer: TakenOffer }

/** Contents of an entry's statement, and the detail that its kind requires. */
export type EntryClaims = { [Kind in EntryKind]: CommonClaims & ClaimsOfKind<Kind> }[EntryKind]

type ClaimsOfKind<Kind extends EntryKind> = { readonly kind: Kind } & (undefined extends EntryDetails[Kind]
  ? { readonly detail?: EntryDetails[Kind] }
  : { readonly detail: EntryDetails[Kind] })

type CommonClaims = {
  /** Subject of the entry. `digest` is lower-case hex. `id` is null if the subject has no id. */
  readonly subject: { readonly id: Uuid | null; readonly name: string; readonly digest: string }
  readonly extraSubjects?: readonly Subject[]
  readonly onBehalfOf?: { readonly agent: string } | null
  /** Members of the predicate, except the ledger, the author and the time. */
  readonly predicate: object
  readonly idempotency?: IdempotencyRow | null
  /** Change of a record. Absent if the entry changes no record. */
  readonly event?: {
    readonly version: number
    readonly to: string
    /** Leaf of the record's last entry in lower-case hex. null for the record's first entry. */
    readonly previous: string | null
    /** Party of a gated record's step, or the agent for which a record is notarized. Absent if `system` acts. */
    readonly partyId?: Uuid | undefined
  }
  readonly records?: readonly RecordRow[]
  readonly chunks?: readonly ChunkRow[]
  readonly unseenBefore?: number | null | undefined
  readonly gated?: GatedRow | undefined
  readonly document?: DocumentRow | undefined
  /**
   * Statement of another issuer that the entry registers. `leaf` is the hash of the statement's envelope (32 bytes).
   */
  readonly statement?: { readonly bytes: Uint8Array; readonly leaf: Uint8Array }
}

export type EntrySigner = Signer | AgentSigned

/**
 * Makes and signs an entry in the form that append_entries accepts. No other code makes entries.
 *
 * Throws `overloaded` if the caller waited too long, and `statement_mismatch` if an agent signed another statement.
 * Throws an Error for an entry that verifiers would refuse.
 */
export function sealEntry(
  signer: EntrySigner,
  author: Author,
  claims: EntryClaims,
  recordedAtMs: number,
): { readonly entry: EntryRow; readonly predicate: object } {
  const isOwn = 'envelope' in signer
  if ('keyId' in author) requireRecent(author, isOwn ? signer.now() : recordedAtMs)
  const { kind, subject, extraSubjects = [], onBehalfOf, event } = claims
  const predicate = {
    ledger: author.ledger,
    actor: author.agent,
    ...('key' in author && { key: author.key }),
    ...(onBehalfOf && { onBehalfOf: onBehalfOf.agent }),
    ...('offer' in author && { offer: author.offer }),
    recordedAt: new Date(recordedAtMs).toISOString(),
    ...claims.predicate,
  }
  const subjects = [{ name: subject.name, sha256: subject.digest }, ...extraSubjects] as const
  const statement = { kind, subjects, predicate }
  const entry: EntryRow = {
    ledgerId: author.ledgerId,
    kind,
    subjectId: subject.id,
    version: event?.version ?? null,
    toState: event?.to ?? null,
    itemCount: claims.chunks?.reduce((sum, { count }) => sum + count, 0) ?? null,
    previousLeaf: claims.statement?.leaf ?? (event?.previous == null ? null : fromHex(event.previous)),
    actorId: 'agentId' in author ? author.agentId : null,
    partyId: event?.partyId,
    keyId: 'keyId' in author ? author.keyId : null,
    kid: signer.kid,
    recordedAtMs,
    isAgentSigned: isOwn,
    ...(isOwn ? adoptEnvelope(signer, statement) : sign(signer, author, recordedAtMs, statement)),
    idempotency: claims.idempotency ?? null,
    detail: claims.detail ?? null,
    unseenBefore: claims.unseenBefore,
    records: claims.records ?? [],
    chunks: claims.chunks ?? [],
    gated: claims.gated,
    document: claims.document,
    statement: claims.statement?.bytes,
  }
  return { entry, predicate }
}

type Statement = {
  readonly kind: EntryKind
  readonly subjects: readonly [Subject, ...Subject[]]
  readonly predicate: object
}

/**
 * Signs an entry after checking that verifiers accept it. One entry that verifiers refuse would make the whole ledger
 * unverifiable forever. An entry that fails the checks is caused by a bug of the server (`internal_error`), and is not
 * written. The checks take 3 us of the 110 us that a notarization costs the server.
 */
function sign(
  signer: Signer,
  { issuer }: Author,
  recordedAtMs: number,
  { kind, subjects, predicate }: Statement,
): ReturnType<typeof signEntry> {
  const subject = subjects[0].name
  try {
    const text = buildStatement(kind, subjects, predicate)
    const claims = { subject, issuedAtSeconds: Math.floor(recordedAtMs / 1000) }
    verifyContent(nativeProviders.sha256, claims, refuseUnverifiable(text, kind, subjects, predicate))
    return signEntry(signer, { issuer, subject, recordedAtMs }, text)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    const { code, detail } = error
    throw new Error(`no verifier would accept this ${kind}: ${code}: ${detail}`, { cause: error })
  }
}

/**
 * Throws `overloaded` if the caller's request has waited too long. During the wait its API key may have been revoked,
 * or an agent that it names may have been disabled. If an entry names a key that was revoked long before, its ledger
 * does not verify (KEY_LINGER_MS_MAX, src/proof/ledger/actors.ts).
 */
export function requireRecent(
  { authenticatedAtMs }: Pick<KeyHolder, 'authenticatedAtMs'>,
  nowMs: number,
): void {
  if (nowMs - authenticatedAtMs <= CALLER_AGE_MS_MAX) return
  throw new ApiError('overloaded', 'the request waited for too long: nothing was written', {
    retryable: true,
    retryAfterMs: 1_000,
  })
}
