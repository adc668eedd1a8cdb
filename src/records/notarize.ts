import { type AppendDeps, appendOne } from '../append/append-one.ts'
import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import type { Caller } from '../ledgers/caller.ts'
import type { RecordType } from '../ledgers/types/built-in.ts'
import type { Signer } from '../proof/crypto.ts'
import { formatId } from '../proof/ids.ts'
import type { Entropy } from '../signing/entropy.ts'
import {
  canonicalMetadata,
  digestReferences,
  parseTime,
  type SaltedDocument,
  saltDocument,
} from './documents.ts'
import type { ParentRecord } from './lineage.ts'
import type { OnBehalfOf } from './on-behalf-of.ts'
import type { RecordJson } from './read.ts'
import { renderRecord } from './render.ts'
import { signNotarization } from './sign-notarization.ts'
import { toBase64Url, toHex } from './text-of-bytes.ts'
import { type TypeDeps, verifyPayload } from './typed-payload.ts'

/** Dependencies of writing; opened once a process. */
export type WriteDeps = AppendDeps &
  TypeDeps & {
    readonly entropy: Entropy
    readonly now: () => number
  }

type NotarizeRequest = {
  readonly payload: unknown
  readonly salt?: string | undefined
  readonly metadata?: unknown
  readonly occurredAt?: string | undefined
  readonly onBehalfOf: OnBehalfOf | null
  readonly parent: ParentRecord | null
  readonly references?: readonly string[] | undefined
  readonly traceparent: string | null
  readonly idempotency: IdempotencyRow | null
}

/** The new record, or `replayedSeq`: the seq of what an earlier request with the same key wrote. */
type NotarizeResult = RecordJson | { readonly replayedSeq: number }

/** Notarizes one record, of a type that is not gated: one entry, terminal at once. Returns when it is committed. */
export async function notarize(
  deps: WriteDeps,
  caller: Caller,
  type: RecordType,
  request: NotarizeRequest,
): Promise<NotarizeResult> {
  const payload = saltDocument(deps.entropy, request.payload, request.salt)
  const verified = verifyPayload(deps, caller, type, { value: request.payload, canonical: payload.canonical })
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
  request: Omit<NotarizeRequest, 'payload'> & { type: RecordType; payload: SaltedDocument },
) {
  const { type, payload } = request
  const references = digestReferences(request.references, payload.salt)
  const metadata = canonicalMetadata(request.metadata)
  const occurredAtMs = request.occurredAt === undefined ? null : parseTime(request.occurredAt, '/occurredAt')
  const recordedAtMs = deps.now()
  const recordId = deps.entropy.uuidv7(recordedAtMs)
  const record = formatId('rec', recordId)
  const occurredAt = occurredAtMs === null ? null : new Date(occurredAtMs).toISOString()
  const digest = toHex(payload.digest)

  const entry = signNotarization(signer, caller, {
    kind: 'record-notarized',
    subject: { id: recordId, name: record, digest },
    recordedAtMs,
    predicate: {
      record,
      version: 1,
      type: type.name,
      ...(request.onBehalfOf && { onBehalfOf: request.onBehalfOf.agent }),
      ...(occurredAt && { occurredAt }),
      ...(request.traceparent && { traceparent: request.traceparent }),
      ...(request.parent && { parent: request.parent.record }),
      ...(references && { references: references.digest }),
    },
    idempotency: request.idempotency,
    records: [
      {
        recordId,
        index: null,
        type: type.name,
        digest: payload.digest,
        salt: payload.salt,
        payload: payload.canonical,
        onBehalfOf: request.onBehalfOf?.agentId ?? null,
        occurredAtMs,
        traceparent: request.traceparent,
        metadata,
        parentId: request.parent?.recordId ?? null,
        references: references?.canonical ?? null,
      },
    ],
  })
  const render = (seq: number, chain: string): string =>
    renderRecord({
      id: record,
      ledger: caller.ledger,
      type: type.name,
      state: 'RECORDED',
      version: 1,
      nextEvents: [],
      payload: payload.canonical,
      salt: toBase64Url(payload.salt),
      digest,
      actor: caller.agent,
      key: caller.key,
      onBehalfOf: request.onBehalfOf?.agent ?? null,
      parent: request.parent?.record ?? null,
      references: references?.canonical ?? null,
      occurredAt,
      recordedAt: new Date(recordedAtMs).toISOString(),
      entry: { seq, kind: 'record-notarized', leaf: toHex(entry.leaf), chain },
      batch: null,
      metadata,
      erasure: null,
      gated: null,
    })
  return { entry, render }
}
