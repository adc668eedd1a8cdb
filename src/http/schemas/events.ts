import { z } from 'zod'
import { ENTRY_EVENTS, type EntryEvent } from '../../outside/events/event-types.ts'
import { RECORD_STATES } from '../../proof/statement/kinds.ts'
import { EVENTS_FILTER_NAMES_MAX } from '../limits.ts'
import { pageQuery } from '../page.ts'
import { base64, entryKind, entryView, hash, idOf, instant, note, seq, typeName } from './common.ts'
import { documentLine } from './entries.ts'
import { signalView } from './gated.ts'

const MORE_NAMES = `(,NAME){0,${EVENTS_FILTER_NAMES_MAX - 1}}`
const listOf = (name: string) => new RegExp(`^NAME${MORE_NAMES}$`.replaceAll('NAME', name))

export const eventsQuery = z.strictObject({
  events: z
    .string()
    .regex(listOf('[a-z]{1,32}\\.[a-z]{1,32}'))
    .describe('which events, with commas between; absent: all')
    .optional(),
  types: z
    .string()
    .regex(listOf('[a-z][a-z0-9.-]{0,62}(/[1-9][0-9]{0,8})?'))
    .describe(
      'of records of which types, `name` or `name/version`, with commas between; what is of no record comes in any case',
    )
    .optional(),
  from: z
    .enum(['beginning', 'end'])
    .describe('instead of a cursor; absent: a page is from the beginning, a stream from the end')
    .optional(),
  ...pageQuery,
})

const place = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
/** Behind what: the next entry, how many of its events were told, up to which checkpoint. */
export const eventsCursor = z.tuple([place, z.int().min(0).max(1), place])

/* Bodies of events (docs/events.md). What `src/outside/events/event.ts` writes. */

const record = z
  .strictObject({
    id: idOf('rec'),
    type: typeName,
    state: z.enum(RECORD_STATES).describe('after this event'),
    version: z.int().min(1).describe('after this event'),
  })
  .meta({ id: 'EventRecord' })

const erasedRecord = z.strictObject({
  id: idOf('rec'),
  type: typeName,
  state: z.null().describe('an erasure is no step of it'),
  version: z.null(),
})

/** Members of every event of an entry. */
const ofEntry = {
  ledger: idOf('led'),
  entry: entryView,
  subjects: z
    .array(z.strictObject({ name: z.string(), sha256: hash }))
    .min(1)
    .describe('as signed'),
  predicate: z.looseObject({}).describe('as signed: `GET /predicates/{kind}/v1` says what it holds'),
}

/** Only in webhooks, where the endpoint asks for it. */
const included = {
  envelope: base64.describe('COSE_Sign1 of the entry').optional(),
  documents: z.array(documentLine).describe('what lies beside the entry; none of a batch').optional(),
}

const recordData = z.strictObject({ ...ofEntry, record, ...included }).meta({ id: 'RecordEventData' })

const signalData = z
  .strictObject({
    ...ofEntry,
    record,
    signal: signalView,
    ...included,
    envelope: base64.describe('the signed verdict'),
  })
  .meta({ id: 'SignalEventData' })

const batchData = z
  .strictObject({
    ...ofEntry,
    record: z.null(),
    batch: z.strictObject({
      id: idOf('bat'),
      count: z.int().min(1),
      types: z.record(typeName, z.int().min(1)).describe('how many records of each type'),
      records: z.string().describe('where they are read (scope audit:read)'),
    }),
    ...included,
  })
  .meta({ id: 'BatchEventData' })

const erasureData = z
  .strictObject({ ...ofEntry, record: erasedRecord, ...included })
  .meta({ id: 'ErasureEventData' })

const receivedData = z
  .strictObject({
    ...ofEntry,
    record: z
      .strictObject({
        id: idOf('rec'),
        type: typeName,
        state: z
          .enum(RECORD_STATES)
          .nullable()
          .describe('after what was received; null: that is no step of it'),
        version: z.int().min(1).nullable(),
      })
      .nullable()
      .describe('that the received entry is about, at its home; null: the peering'),
    peer: idOf('peer').describe('who sent it'),
    received: z
      .strictObject({
        ledger: idOf('led'),
        seq,
        leaf: hash,
        kind: entryKind,
        record: idOf('rec').nullable(),
        version: z.int().min(1).nullable(),
      })
      .describe('which entry of the other ledger'),
    ...included,
    receivedEnvelope: base64.describe('COSE_Sign1 of the received entry, beside `envelope`').optional(),
  })
  .meta({ id: 'ReceivedEventData' })

const checkpointData = z
  .strictObject({
    ledger: idOf('led'),
    record: z.null(),
    entry: z.null(),
    checkpoint: z.strictObject({ size: seq.min(1).describe('so many entries are under it'), note }),
  })
  .meta({ id: 'CheckpointEventData' })

const ofWebhook = { ledger: idOf('led'), record: z.null(), entry: z.null() }

const webhookPausedData = z
  .strictObject({
    ...ofWebhook,
    webhook: z.strictObject({
      id: idOf('whk'),
      state: z.enum(['paused', 'disabled']),
      reason: z.enum(['failing', 'gone']),
    }),
  })
  .meta({ id: 'WebhookPausedEventData' })

const webhookTestData = z
  .strictObject({ ...ofWebhook, webhook: z.strictObject({ id: idOf('whk') }) })
  .meta({ id: 'WebhookTestEventData' })

const OTHERS = ['batch.recorded', 'signal.emitted', 'payload.erased', 'entry.received'] as const
type RecordEvent = Exclude<EntryEvent, (typeof OTHERS)[number]>
const RECORD_EVENTS = ENTRY_EVENTS.filter(
  (name): name is RecordEvent => !OTHERS.some((other) => other === name),
) as [RecordEvent, ...RecordEvent[]]

/** Events with data of the same form, with their names; `head`: members that come first. */
function eventsWith<Head extends z.ZodRawShape>(head: Head) {
  const event = <Type extends z.ZodType, Data extends z.ZodType>(type: Type, data: Data) =>
    z.strictObject({ ...head, type, timestamp: instant.describe('when it was recorded'), data })
  return [
    event(z.enum(RECORD_EVENTS), recordData),
    event(z.literal('signal.emitted'), signalData),
    event(z.literal('batch.recorded'), batchData),
    event(z.literal('payload.erased'), erasureData),
    event(z.literal('entry.received'), receivedData),
    event(z.literal('checkpoint.published'), checkpointData),
  ] as const
}

/** An item of the ledger's stream of events. */
const ledgerEvent = z
  .discriminatedUnion(
    'type',
    eventsWith({ id: idOf('evt').describe('the same however often it is asked for') }),
  )
  .meta({ id: 'LedgerEvent' })

const timestamp = instant.describe('when it happened')

/** The body of a webhook; its id is the header `webhook-id`. */
export const webhookEvent = z
  .discriminatedUnion('type', [
    ...eventsWith({}),
    z.strictObject({ type: z.literal('webhook.paused'), timestamp, data: webhookPausedData }),
    z.strictObject({ type: z.literal('webhook.test'), timestamp, data: webhookTestData }),
  ])
  .meta({ id: 'WebhookEvent' })

export const eventPage = z.strictObject({
  data: z.array(ledgerEvent),
  nextCursor: z.string().describe('behind all that was looked at: where to go on, now or later'),
  more: z.boolean().describe('whether there is more to look at now, also where `data` is empty'),
})

export const eventStream = z
  .string()
  .describe('`text/event-stream`: `id` is a cursor, `event` the type, `data` the event as JSON, in one line')
