import { type AppendDeps, appendOne } from '../../append/append-one.ts'
import { sealEntry } from '../../append/entry.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { RecordType } from '../../ledgers/types/built-in.ts'
import type { Signer } from '../../proof/crypto.ts'
import type { Entropy } from '../../signing/entropy.ts'
import { type SaltedDocument, saltPayload } from '../documents.ts'
import type { RecordJson } from '../read/read.ts'
import { requireSalt } from './agent-envelope.ts'
import { makeRecord, NOTARIZED, originOf, type RecordRequest, renderNew, rowOf } from './new-record.ts'
import { requireAgentSigned, type TypeDeps, verifyPayload } from './typed-payload.ts'

export type WriteDeps = AppendDeps &
  TypeDeps & {
    readonly entropy: Entropy
    readonly now: () => number
  }

/** The new record, or the seq of the entry that an earlier request with the same key wrote. */
type NotarizeResult = RecordJson | { readonly replayedSeq: number }

/**
 * Notarizes one record of a type that is not gated. The record gets one entry and is final. Returns when the entry is
 * committed.
 */
export async function notarize(
  deps: WriteDeps,
  caller: Caller,
  type: RecordType,
  request: RecordRequest,
): Promise<NotarizeResult> {
  requireAgentSigned(type, request.signed !== null)
  requireSalt(request.signed, request.salt)
  const payload = saltPayload(deps.entropy, request)
  const verified = verifyPayload(deps, caller, type, payload)
  if (verified) await verified
  const build = (signer: Signer) => buildNotarization(deps, signer, caller, { ...request, type, payload })
  const written = await appendOne(deps, caller, build)
  if (written.replayed) return { replayedSeq: written.seq }
  return { record: written.built.render(written.seq, written.chain), version: 1 }
}

function buildNotarization(
  deps: WriteDeps,
  signer: Signer,
  caller: Caller,
  request: Omit<RecordRequest, 'payload'> & { type: RecordType; payload: SaltedDocument },
) {
  const made = makeRecord(deps, request)
  const { recordId, record, digest } = made
  const { entry } = sealEntry(
    request.signed ?? signer,
    caller,
    {
      kind: 'record-notarized',
      subject: { id: recordId, name: record, digest },
      onBehalfOf: request.onBehalfOf,
      predicate: { record, version: 1, type: made.type.name, ...originOf(made) },
      idempotency: request.idempotency,
      event: { ...NOTARIZED, partyId: request.onBehalfOf?.agentId },
      records: [rowOf(made)],
    },
    made.recordedAtMs,
  )
  const render = (seq: number, chain: string): string =>
    renderNew(caller, made, { kind: 'record-notarized', leaf: entry.leaf, seq, chain }, null)
  return { entry, render }
}
