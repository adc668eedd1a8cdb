import type { EntryRow, IdempotencyRow, RecordRow } from '../db/chain/append-entries.ts'
import { type Caller, requireRecent } from '../ledgers/caller.ts'
import type { Signer } from '../proof/crypto.ts'
import { buildStatement } from '../proof/statement/statement.ts'
import { signEntry } from '../signing/sign-entry.ts'

/** The signed entry by which the caller notarizes `records`: terminal at once. `predicate`: beyond who and when. */
export function signNotarization(
  signer: Signer,
  caller: Caller,
  about: {
    readonly kind: 'record-notarized' | 'batch-notarized'
    /** `digest`: lower-case hex. */
    readonly subject: { readonly id: Uint8Array; readonly name: string; readonly digest: string }
    readonly recordedAtMs: number
    readonly predicate: object
    readonly idempotency: IdempotencyRow | null
    readonly records: readonly RecordRow[]
  },
): EntryRow {
  const { kind, subject, recordedAtMs, idempotency, records } = about
  requireRecent(caller, recordedAtMs)
  const statement = buildStatement(kind, [{ name: subject.name, sha256: subject.digest }], {
    ledger: caller.ledger,
    actor: caller.agent,
    key: caller.key,
    recordedAt: new Date(recordedAtMs).toISOString(),
    ...about.predicate,
  })
  return {
    ledgerId: caller.ledgerId,
    kind,
    subjectId: subject.id,
    version: 1,
    toState: 'RECORDED',
    previousLeaf: null,
    actorId: caller.agentId,
    keyId: caller.keyId,
    kid: signer.kid,
    recordedAtMs,
    ...signEntry(signer, { issuer: caller.issuer, subject: subject.name, recordedAtMs }, statement),
    idempotency,
    detail: null,
    records,
  }
}
