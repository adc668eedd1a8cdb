import { type AppendDeps, appendOne } from '../append/append-one.ts'
import type { EntryRow, IdempotencyRow } from '../db/chain/append-entries.ts'
import { constraintOf } from '../db/connect/constraints.ts'
import { ApiError, type ErrorCode } from '../errors.ts'
import { toHex, utf8Encode } from '../proof/bytes.ts'
import type { Signer } from '../proof/crypto.ts'
import { canonicalize } from '../proof/json/jcs.ts'
import type { JsonValue } from '../proof/json/json-value.ts'
import type { EntryKind } from '../proof/statement/kinds.ts'
import { buildStatement } from '../proof/statement/statement.ts'
import { nativeProviders } from '../signing/native.ts'
import { signEntry } from '../signing/sign-entry.ts'
import type { SignedLedger } from '../signing/signers.ts'
import { type Caller, requireRecent } from './caller.ts'

/** Author of an entry: an agent by its key, or `system`, which is the operator or the worker. */
export type Author = SignedLedger & { readonly ledger: string; readonly issuer: string } & (
    | Pick<Caller, 'agent' | 'agentId' | 'key' | 'keyId' | 'authenticatedAtMs'>
    | { readonly agent: 'system' }
  )

/** One entry about something that is no record: an agent, a key, a type, an erasure, the ledger itself. */
export type Administration = {
  readonly kind: EntryKind
  /** `digest`: lower-case hex; `id`: null where the subject has none. */
  readonly subject: { readonly id: Uint8Array | null; readonly name: string; readonly digest: string }
  readonly predicate: object
  /** Detail that `append_details` stores, by kind (migrations/functions/append-details.sql). */
  readonly detail: object
  readonly idempotency?: IdempotencyRow | null
}

export type AdministerDeps = AppendDeps & { readonly now: () => number }

/** View of the entry in an answer. */
type AdministrationEntry = {
  readonly seq: number
  readonly kind: EntryKind
  readonly leaf: string
  readonly chain: string
}

type Administered =
  | { readonly replayed: false; readonly recordedAt: string; readonly entry: AdministrationEntry }
  | { readonly replayed: true; readonly seq: number }

/** Appends the entry, and returns when it is committed. Throws ApiError. */
export async function administer(
  deps: AdministerDeps,
  author: Author,
  about: Administration,
): Promise<Administered> {
  const written = await appendOne(deps, author, (signer) => {
    const recordedAtMs = deps.now()
    if ('keyId' in author) requireRecent(author, recordedAtMs)
    return { entry: signAdministration(signer, author, about, recordedAtMs) }
  }).catch(translateConstraint)
  if (written.replayed) return { replayed: true, seq: written.seq }
  const { entry } = written.built
  return {
    replayed: false,
    recordedAt: new Date(entry.recordedAtMs).toISOString(),
    entry: { seq: written.seq, kind: about.kind, leaf: toHex(entry.leaf), chain: written.chain },
  }
}

/** Two requests at once can both find a name free; the database lets one have it. */
const CONSTRAINTS: Readonly<Record<string, [ErrorCode, string]>> = {
  agents_ledger_id_name_key: ['name_taken', 'the ledger has another agent of this name'],
  types_pkey: ['type_exists', 'the ledger has another type of this name and version'],
  erasures_pkey: ['already_ended', 'it was erased before'],
  shared_records_pkey: ['already_shared', 'it was shared with that peer at the same time'],
  shared_records_peer: ['peer_not_active', 'the peering was revoked at the same time'],
  entries_end_once: ['already_ended', 'another request ended it at the same time'],
}

export function translateConstraint(error: Error): never {
  const known = CONSTRAINTS[constraintOf(error) ?? '']
  throw known ? new ApiError(known[0], known[1]) : error
}

export function signAdministration(
  signer: Signer,
  author: Author,
  { kind, subject, predicate, detail, idempotency }: Administration,
  recordedAtMs: number,
): EntryRow {
  const statement = buildStatement(kind, [{ name: subject.name, sha256: subject.digest }], {
    ledger: author.ledger,
    actor: author.agent,
    ...('key' in author && { key: author.key }),
    recordedAt: new Date(recordedAtMs).toISOString(),
    ...predicate,
  })
  return {
    ledgerId: author.ledgerId,
    kind,
    subjectId: subject.id,
    version: null,
    toState: null,
    previousLeaf: null,
    actorId: 'agentId' in author ? author.agentId : null,
    keyId: 'keyId' in author ? author.keyId : null,
    kid: signer.kid,
    recordedAtMs,
    ...signEntry(signer, { issuer: author.issuer, subject: subject.name, recordedAtMs }, statement),
    idempotency: idempotency ?? null,
    detail: JSON.stringify(detail),
    records: [],
  }
}

/** H(JCS(value)), lower-case hex: the digest of a subject that the predicate holds whole. */
export function digestOf(value: object): string {
  return toHex(nativeProviders.sha256(utf8Encode(canonicalize(value as JsonValue))))
}
