import type { CheckpointRow, EventRow } from '../../db/events/read-events.ts'
import { type ReceivedClaims, receivedClaimsOf, verifyReceived } from '../../proof/entry/verify-received.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { EntryEvent, EventType } from './event-types.ts'

/** An event: derived from an entry's statement, or from a published checkpoint. */
export type LedgerEvent = {
  readonly ledgerId: Uuid
  readonly type: EventType
  /** Seq of the entry. For a checkpoint: seq of the last entry that it covers. */
  readonly seq: number
  readonly timestampMs: number
  /** Id of the event's record. Events of one record are delivered in order. null if the event has no record. */
  readonly recordId: Uuid | null
  /** Types of the record, or of a batch's records. Empty if the event has no record. */
  readonly recordTypes: readonly string[]
  /**
   * Traceparent of the request that wrote the entry. If that request had none, the traceparent of the request that
   * created the record, or null.
   */
  readonly traceparent: string | null
  /** Members of `data` as JSON, without braces. `renderEvent` adds the members that only some readers want. */
  readonly members: string
  /** The signed entry. null if the event is about a checkpoint. */
  readonly envelope: Uint8Array | null
  /** Envelope of another ledger that the entry received. null if the entry received no envelope. */
  readonly received: Uint8Array | null
  /**
   * Error if the stored data differ from the signed data, otherwise null. An event with a fault MUST NOT be delivered.
   */
  readonly fault: ProofError | null
}

/** Parses and checks the statement of an entry. MUST throw ProofError if the statement is not trusted. */
export type ReadStatement = (row: EventRow) => ParsedStatement

/**
 * Derives the events of one entry. `entriesUrl`: URL of the ledger's entries. A batch's event links to the records of
 * the batch by this URL.
 */
export function eventsOfEntry(
  row: EventRow,
  eventTypes: readonly EntryEvent[],
  about: {
    readonly ledgerId: Uuid
    readonly entriesUrl: string
    readonly readStatement: ReadStatement
  },
): LedgerEvent[] {
  const statements = readStatements(row, about.readStatement)
  return eventTypes.map((type) => ({
    ledgerId: about.ledgerId,
    type,
    seq: row.seq,
    timestampMs: row.recordedAt.getTime(),
    recordId: row.recordId,
    recordTypes: recordTypesOf(row),
    traceparent: traceparentOf(row, statements),
    members: statements instanceof ProofError ? '' : entryMembers(row, type, statements, about.entriesUrl),
    envelope: row.envelope,
    received: row.received,
    fault: statements instanceof ProofError ? statements : null,
  }))
}

/**
 * Statement of an entry. `received`: set if the entry received an envelope of another ledger. It contains the statement
 * of that envelope. The entry signs the envelope's leaf hash, so the envelope cannot be exchanged.
 */
type EntryStatements = { readonly statement: ParsedStatement; readonly received: ReceivedStatement | null }
type ReceivedStatement = { readonly claims: ReceivedClaims; readonly statement: ParsedStatement }

function readStatements(row: EventRow, readStatement: ReadStatement): EntryStatements | ProofError {
  if (row.chunkFault) return row.chunkFault
  try {
    const statement = readStatement(row)
    return { statement, received: row.received && readReceived(row, statement) }
  } catch (error) {
    if (error instanceof ProofError) return error
    throw error
  }
}

function readReceived(row: EventRow, statement: ParsedStatement): ReceivedStatement {
  const claims = receivedClaimsOf(statement)
  const received = verifyReceived(nativeProviders.sha256, row.received, statement)
  if (claims === null || received === null)
    throw new ProofError('received_mismatch', `${statement.kind} does not receive an entry`)
  const record = row.recordId === null ? null : formatId('rec', row.recordId)
  if (claims.record !== record)
    throw new ProofError(
      'line_contradicts_envelope',
      `the entry is about ${claims.record}, but the row of the entry names ${record}`,
    )
  return { claims, statement: received.statement }
}

/**
 * Returns the types of the entry's record, or of its batch's records. Returns an empty list if the entry has no
 * record.
 */
export function recordTypesOf(row: Pick<EventRow, 'recordType' | 'batchTypes'>): string[] {
  return row.recordType === null ? Object.keys(row.batchTypes ?? {}) : [row.recordType]
}

function traceparentOf(row: EventRow, said: EntryStatements | ProofError): string | null {
  const own = said instanceof ProofError ? undefined : said.statement.predicate['traceparent']
  return typeof own === 'string' ? own : row.recordTraceparent
}

/**
 * Renders the members of `data`. All members come from signed statements, except `chain` and the record's type, which
 * come from the row.
 */
function entryMembers(
  row: EventRow,
  type: EntryEvent,
  { statement, received }: EntryStatements,
  entriesUrl: string,
): string {
  const { ledger, kind, subjects, predicate } = statement
  const record = row.recordId && {
    id: formatId('rec', row.recordId),
    type: row.recordType,
    ...statusOf(received?.statement ?? statement),
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
    ...(received && { peer: received.claims.peer, received: predicate['received'] }),
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

/**
 * Returns the state and version of the record after the event. Both are null if the event is not a step of the record.
 */
function statusOf({ kind, predicate }: ParsedStatement): { state: JsonValue; version: JsonValue } {
  // An offer has no version of its own. Its `version` is the version that the offered step would get.
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
 * Renders an event as JSON (docs/guides/webhooks.md). `extras`: further members of `data` as JSON, each with a leading
 * comma. `id`: the event's id, or null if the JSON must not contain it.
 */
export function renderEvent(event: LedgerEvent, extras: string, id: string | null = null): string {
  const timestamp = new Date(event.timestampMs).toISOString()
  return (
    `{${id === null ? '' : `"id":"${id}",`}"type":"${event.type}","timestamp":"${timestamp}",` +
    `"data":{${event.members}${extras}}}`
  )
}

/**
 * Renders the member `envelope`, if it is requested. A settlement signal always has the member, because the receiver
 * must verify it.
 */
export function envelopeMember({ type, envelope, received }: LedgerEvent, isRequested: boolean): string {
  if (envelope === null || !(isRequested || type === 'signal.emitted')) return ''
  const own = `,"envelope":"${Buffer.from(envelope).toString('base64')}"`
  return received === null ? own : `${own},"receivedEnvelope":"${Buffer.from(received).toString('base64')}"`
}
