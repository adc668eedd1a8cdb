import type { GatedRow } from '../../db/chain/append-entries.ts'
import type { StepDetail } from '../../db/chain/entry-details.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { RecordType } from '../../ledgers/types/built-in.ts'
import type { Signer } from '../../proof/crypto.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { parseRemoteAgent } from '../../proof/statement/remote-agents.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import type { SaltedDocument } from '../documents.ts'
import { makeRecord, type NewRecord, originOf, type RecordRequest, rowOf, viewOfNew } from '../new-record.ts'
import type { WriteDeps } from '../notarize.ts'
import type { OnBehalfOf } from '../on-behalf-of.ts'
import { renderRecord } from '../render.ts'
import { nextEvents } from './lifecycle.ts'
import { type SharedWith, shareDetail, sharePredicate } from './share.ts'
import { signEvent } from './sign-step.ts'
import { renderGated } from './step-view.ts'

export type CreateRequest = RecordRequest & {
  /** null: the agent that activates the record performs it. */
  readonly performer: OnBehalfOf | null
  /** Sorted by peer; null: with nobody. */
  readonly share: readonly SharedWith[] | null
  readonly gate?: 'principal' | 'auto' | undefined
  readonly deadline?: string | undefined
  readonly maxRevisions?: number | undefined
  readonly tolerances?: unknown
}

/** Agreed terms, checked, as they are signed and stored. */
export type Terms = {
  readonly performer: OnBehalfOf | null
  readonly gate: 'principal' | 'auto'
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  readonly tolerances: { readonly value: JsonValue; readonly canonical: string } | null
}

type Agreed = Omit<CreateRequest, 'payload'> & {
  readonly type: RecordType
  readonly terms: Terms
  readonly payload: SaltedDocument
}

/** The signed entry that creates the record, and `render`, which shows the record once its place is known. */
export function buildCreation(deps: WriteDeps, signer: Signer, caller: Caller, agreed: Agreed) {
  const made = makeRecord(deps, agreed)
  const { recordId, record, digest, recordedAtMs } = made
  const { onBehalfOf, idempotency } = agreed
  const { entry } = signEvent(agreed.signed ?? signer, caller, {
    kind: 'record-created',
    record,
    recordId,
    digest,
    version: 1,
    from: null,
    to: 'CREATED',
    previous: null,
    recordedAtMs,
    onBehalfOf,
    subjects: [],
    document: null,
    predicate: predicateOf(agreed, made),
    idempotency,
    created: { gated: gatedRow(agreed.terms), record: rowOf(made) },
    detail: detailOf(agreed),
  })
  const render = (seq: number, chain: string): string => {
    const place = { seq, kind: entry.kind, leaf: toHex(entry.leaf), chain, signedBy: made.signedBy }
    return renderRecord(viewOfNew(caller, made, place, standingOf(caller, agreed)))
  }
  return { entry, render }
}

function predicateOf({ type, terms, share }: Agreed, made: NewRecord): object {
  const { performer, gate, deadlineMs, maxRevisions, tolerances } = terms
  return {
    type: type.name,
    typeDigest: type.digest,
    ...(performer && { performer: performer.agent }),
    gate,
    ...(deadlineMs !== null && { deadline: new Date(deadlineMs).toISOString() }),
    maxRevisions,
    ...(tolerances && { tolerances: tolerances.value }),
    ...originOf(made),
    ...(share && { share: sharePredicate(share) }),
  }
}

/** Most records have no detail. */
function detailOf({ share, terms: { performer } }: Agreed): StepDetail | undefined {
  if (share === null) return undefined
  const isRemote = performer !== null && parseRemoteAgent(performer.agent) !== null
  return { share: shareDetail(share), ...(isRemote && { performer: performer.agent }) }
}

function gatedRow({ performer, gate, deadlineMs, maxRevisions, tolerances }: Terms): GatedRow {
  return {
    performerId: performer?.agentId ?? null,
    gate,
    deadlineMs,
    maxRevisions,
    tolerances: tolerances?.canonical ?? null,
  }
}

function standingOf(caller: Caller, { terms, onBehalfOf, share }: Agreed) {
  const { performer, gate, deadlineMs, maxRevisions, tolerances } = terms
  const [state, version] = ['CREATED', 1] as const
  const hasDeadline = deadlineMs !== null
  const gated = renderGated(
    {
      principal: onBehalfOf?.agent ?? caller.agent,
      performer: performer?.agent ?? null,
      gate,
      deadline: hasDeadline ? new Date(deadlineMs).toISOString() : null,
      maxRevisions,
      revisions: 0,
      tolerances: tolerances?.canonical ?? null,
      share: share && sharePredicate(share),
      offer: null,
    },
    {},
  )
  return {
    state,
    nextEvents: nextEvents({ state, version, gate, revisionsLeft: maxRevisions, hasDeadline }),
    gated,
  }
}
