import type { CheckpointRow, EventRow } from '../../db/events/read-events.ts'
import { type SaidOfReceived, saidOfReceived, verifyReceived } from '../../proof/entry/verify-received.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { EntryEvent, EventType } from './event-types.ts'

/** Something that others hear of: an entry's statement, or a published checkpoint. */
export type LedgerEvent = {
  readonly ledgerId: Uuid
  readonly type: EventType
  /** Seq of its entry; for a checkpoint, of the last entry that it covers. */
  readonly seq: number
  readonly timestampMs: number
  /** Record whose events are told in order; null: no record. */
  readonly recordId: Uuid | null
  /** Types of the record, or of a batch's records; empty: no record. */
  readonly recordTypes: readonly string[]
  /** Traceparent of the request that wrote its entry, or else of the one that created its record. */
  readonly traceparent: string | null
  /** Members of `data` as JSON, without braces. Members that only some readers ask for are added later (`renderEvent`). */
  readonly members: string
  /** null for a checkpoint. */
  readonly envelope: Uint8Array | null
  /** Another ledger's, that its entry received; null: none. */
  readonly received: Uint8Array | null
  /** Why it must not be told: the stored data differ from the signed ones. */
  readonly fault: ProofError | null
}

/** Reads what an entry says; MUST throw ProofError where it is not to be believed. */
export type ReadStatement = (row: EventRow) => ParsedStatement

/** `entriesUrl`: where the entries are read, for the link of a batch to its records. */
export function eventsOfEntry(
  row: EventRow,
  eventTypes: readonly EntryEvent[],
  about: {
    readonly ledgerId: Uuid
    readonly entriesUrl: string
    readonly readStatement: ReadStatement
  },
): LedgerEvent[] {
  const said = readSaid(row, about.readStatement)
  return eventTypes.map((type) => ({
    ledgerId: about.ledgerId,
    type,
    seq: row.seq,
    timestampMs: row.recordedAt.getTime(),
    recordId: row.recordId,
    recordTypes: recordTypesOf(row),
    traceparent: traceparentOf(row, said),
    members: said instanceof ProofError ? '' : entryMembers(row, type, said, about.entriesUrl),
    envelope: row.envelope,
    received: row.received,
    fault: said instanceof ProofError ? said : null,
  }))
}

/** Statement of an entry, and of the one that it received: another ledger's, bound by the leaf that ours has signed. */
type Said = { readonly statement: ParsedStatement; readonly received: SaidReceived | null }
type SaidReceived = { readonly said: SaidOfReceived; readonly statement: ParsedStatement }

function readSaid(row: EventRow, readStatement: ReadStatement): Said | ProofError {
  if (row.chunkFault) return row.chunkFault
  try {
    const statement = readStatement(row)
    return { statement, received: row.received && readReceived(row, statement) }
  } catch (error) {
    if (error instanceof ProofError) return error
    throw error
  }
}

function readReceived(row: EventRow, statement: ParsedStatement): SaidReceived {
  const said = saidOfReceived(statement)
  const received = verifyReceived(nativeProviders.sha256, row.received, statement)
  if (said === null || received === null)
    throw new ProofError('received_mismatch', `${statement.kind} receives nothing`)
  const record = row.recordId === null ? null : formatId('rec', row.recordId)
  if (said.record !== record)
    throw new ProofError(
      'line_contradicts_envelope',
      `the entry is about ${said.record}, its row about ${record}`,
    )
  return { said, statement: received.statement }
}

/** Types of the entry's record, or of its batch's records; empty: no record. */
export function recordTypesOf(row: Pick<EventRow, 'recordType' | 'batchTypes'>): string[] {
  return row.recordType === null ? Object.keys(row.batchTypes ?? {}) : [row.recordType]
}

function traceparentOf(row: EventRow, said: Said | ProofError): string | null {
  const own = said instanceof ProofError ? undefined : said.statement.predicate['traceparent']
  return typeof own === 'string' ? own : row.recordTraceparent
}

/** Taken from the statement, which is signed; `chain`, and the record's type, lie beside it. */
function entryMembers(
  row: EventRow,
  type: EntryEvent,
  { statement, received }: Said,
  entriesUrl: string,
): string {
  const { ledger, kind, subjects, predicate } = statement
  const record = row.recordId && {
    id: formatId('rec', row.recordId),
    type: row.recordType,
    ...standingOf(received?.statement ?? statement),
  }
  const entry = {
    seq: row.seq,
    kind,
    leaf: row.leaf.toString('hex'),
    chain: row.chain.toString('hex'),
  }
  const data = {
    ledger,
    record,
    entry,
    subjects,
    predicate,
    ...(received && { peer: received.said.peer, received: predicate['received'] }),
    ...(type === 'signal.emitted' && { signal: predicate['signal'] }),
    ...(type === 'statement.registered' && {
      statement: {
        id: subjects[0].name,
        issuer: predicate['issuer'],
        subject: predicate['subject'],
        contentType: predicate['contentType'],
      },
    }),
    ...(type === 'batch.recorded' && {
      batch: {
        id: predicate['batch'],
        count: predicate['count'],
        types: row.batchTypes,
        records: `${entriesUrl}?after=${entry.seq - 1}&limit=1`,
      },
    }),
  }
  return JSON.stringify(data).slice(1, -1)
}

/** Where a record stands after the event; nulls: the event is no step of it. */
function standingOf({ kind, predicate }: ParsedStatement): { state: JsonValue; version: JsonValue } {
  // An offer has a version too: the one that its step would have.
  if (kind === 'step-offered') return { state: null, version: null }
  const state = predicate['to'] ?? (kind === 'record-notarized' ? 'RECORDED' : null)
  return { state, version: predicate['version'] ?? null }
}

export function checkpointEvent(ledgerId: Uuid, row: CheckpointRow): LedgerEvent {
  const size = row.size
  const data = {
    ledger: formatId('led', ledgerId),
    record: null,
    entry: null,
    checkpoint: { size, note: row.note },
  }
  return {
    ledgerId,
    type: 'checkpoint.published',
    seq: size - 1,
    timestampMs: row.publishedAt.getTime(),
    recordId: null,
    recordTypes: [],
    traceparent: null,
    members: JSON.stringify(data).slice(1, -1),
    envelope: null,
    received: null,
    fault: null,
  }
}

/**
 * The event as it is told (docs/webhooks.md). `extras`: JSON of further members of `data`, each beginning with a comma;
 * `id`: where the event carries its own.
 */
export function renderEvent(event: LedgerEvent, extras: string, id: string | null = null): string {
  const timestamp = new Date(event.timestampMs).toISOString()
  return (
    `{${id === null ? '' : `"id":"${id}",`}"type":"${event.type}","timestamp":"${timestamp}",` +
    `"data":{${event.members}${extras}}}`
  )
}

/** A settlement signal always has its envelope, because its receiver must check that. */
export function envelopeMember({ type, envelope, received }: LedgerEvent, isAsked: boolean): string {
  if (envelope === null || !(isAsked || type === 'signal.emitted')) return ''
  const own = `,"envelope":"${Buffer.from(envelope).toString('base64')}"`
  return received === null ? own : `${own},"receivedEnvelope":"${Buffer.from(received).toString('base64')}"`
}
