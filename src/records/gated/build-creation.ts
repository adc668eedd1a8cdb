import type { GatedRow } from '../../db/chain/append-entries.ts'
import type { StepDetail } from '../../db/chain/entry-details.ts'
import type { GatedColumns, Rendered } from '../../db/records/read-records.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { RecordType } from '../../ledgers/types/built-in.ts'
import type { Signer } from '../../proof/crypto.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { parseRemoteAgent } from '../../proof/statement/remote-agents.ts'
import type { SaltedDocument } from '../documents.ts'
import {
  makeRecord,
  type NewRecord,
  originOf,
  type RecordRequest,
  renderNew,
  rowOf,
} from '../write/new-record.ts'
import type { WriteDeps } from '../write/notarize.ts'
import type { OnBehalfOf } from '../write/on-behalf-of.ts'
import { type SharedWith, shareDetail, sharePredicate } from './share.ts'
import { signEvent } from './sign-step.ts'

export type CreateRequest = RecordRequest & {
  /**
   * Performer of the record. null if the terms name none. Then the agent that activates the record becomes its
   * performer.
   */
  readonly performer: OnBehalfOf | null
  /** Peers with which the record is shared, sorted. null if the record is not shared. */
  readonly share: readonly SharedWith[] | null
  readonly gate?: 'principal' | 'auto' | undefined
  readonly deadline?: string | undefined
  readonly maxRevisions?: number | undefined
  readonly tolerances?: unknown
}

/** Checked terms, in the form in which they are signed and stored. */
export type Terms = {
  readonly performer: OnBehalfOf | null
  readonly gate: 'principal' | 'auto'
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  readonly tolerances: { readonly value: JsonValue; readonly canonical: string } | null
}

type AgreedCreation = Omit<CreateRequest, 'payload'> & {
  readonly type: RecordType
  readonly terms: Terms
  readonly payload: SaltedDocument
}

/**
 * Makes the signed entry that creates the record. Also returns `render`, which renders the record once its position in
 * the chain is known.
 */
export function buildCreation(deps: WriteDeps, signer: Signer, caller: Caller, agreed: AgreedCreation) {
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
  const render = (seq: number, chain: string): string =>
    renderNew(
      caller,
      made,
      { kind: 'record-created', leaf: entry.leaf, seq, chain },
      gatedColumnsOf(caller, agreed, seq),
    )
  return { entry, render }
}

function predicateOf({ type, terms, share }: AgreedCreation, made: NewRecord): object {
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

function detailOf({ share, terms: { performer } }: AgreedCreation): StepDetail | undefined {
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

function gatedColumnsOf(
  caller: Caller,
  { terms, onBehalfOf, share }: AgreedCreation,
  seq: number,
): Rendered<GatedColumns> {
  const { performer, gate, deadlineMs, maxRevisions, tolerances } = terms
  return {
    gate,
    principalId: onBehalfOf?.agentId ?? caller.agentId,
    performerId: performer?.agentId ?? null,
    performerRemote: performer && parseRemoteAgent(performer.agent) ? performer.agent : null,
    deadline: deadlineMs === null ? null : new Date(deadlineMs),
    maxRevisions,
    revisions: 0,
    tolerances: tolerances?.canonical ?? null,
    share: share?.map(({ peerId, documents }) => ({ peerId, documents, seq })) ?? null,
  }
}
