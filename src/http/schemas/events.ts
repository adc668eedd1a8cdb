import { z } from 'zod'
import type { EventType, NoticeType } from '../../outside/events/event-types.ts'
import { RECORD_STATES } from '../../proof/statement/kinds.ts'
import { pageQuery } from '../answers/page.ts'
import { EVENTS_FILTER_NAMES_MAX } from '../limits.ts'
import { base64, entryKind, entryView, hash, idOf, instant, note, seq, typeName } from './common.ts'
import { documentLine } from './entries.ts'
import { signalView } from './gated.ts'

const MORE_NAMES = `(,NAME){0,${EVENTS_FILTER_NAMES_MAX - 1}}`
const listOf = (name: string) => new RegExp(`^NAME${MORE_NAMES}$`.replaceAll('NAME', name))

export const eventsQuery = z.strictObject({
  events: z
    .string()
    .regex(listOf('[a-z]{1,32}\\.[a-z]{1,32}'))
    .describe('names of events, separated by commas; absent: all')
    .optional(),
  types: z
    .string()
    .regex(listOf('[a-z][a-z0-9.-]{0,62}(/[1-9][0-9]{0,8})?'))
    .describe(
      'types of records, `name` or `name/version`, separated by commas; events of no record are always included',
    )
    .optional(),
  from: z
    .enum(['beginning', 'end'])
    .describe('where to start without a cursor; absent: a page starts at the beginning, a stream at the end')
    .optional(),
  ...pageQuery,
})

const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
/**
 * Position after an event: the seq of the next entry, the number of its events that were already returned, and the size
 * of the last checkpoint.
 */
export const eventsCursor = z.tuple([count, z.int().min(0).max(1), count])

/* Bodies of events (docs/guides/webhooks.md), as `src/outside/events/event.ts` writes them. */

const record = z
  .strictObject({
    id: idOf('rec'),
    type: typeName,
    state: z.enum(RECORD_STATES).describe('state of the record after this event'),
    version: z.int().min(1).describe('version of the record after this event'),
  })
  .meta({ id: 'EventRecord' })

const erasedRecord = z.strictObject({
  id: idOf('rec'),
  type: typeName,
  state: z.null().describe('null, because an erasure is not a step'),
  version: z.null(),
})

/** Members of every event about an entry. */
const ofEntry = {
  ledger: idOf('led'),
  entry: entryView,
  subjects: z
    .array(z.strictObject({ name: z.string(), sha256: hash }))
    .min(1)
    .describe('the signed subjects'),
  predicate: z.looseObject({}).describe('the signed predicate: `GET /predicates/{kind}/v1` describes it'),
}

/** Members that are sent only to webhooks that request them. */
const included = {
  envelope: base64.describe('COSE_Sign1 of the entry').optional(),
  documents: z.array(documentLine).describe('documents of the entry; a batch has none').optional(),
}

const recordData = z.strictObject({ ...ofEntry, record, ...included }).meta({ id: 'RecordEventData' })

const signalData = z
  .strictObject({
    ...ofEntry,
    record,
    signal: signalView,
    ...included,
    envelope: base64.describe('COSE_Sign1 of the verdict’s entry'),
  })
  .meta({ id: 'SignalEventData' })

const batchData = z
  .strictObject({
    ...ofEntry,
    record: z.null(),
    batch: z.strictObject({
      id: idOf('bat'),
      count: z.int().min(1),
      types: z.record(typeName, z.int().min(1)).describe('number of records by type'),
      records: z.string().describe('address from which to read the records; needs the scope audit:read'),
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
          .describe('state of the record after the received entry; null: that entry is not a step'),
        version: z.int().min(1).nullable(),
      })
      .nullable()
      .describe(
        'the record of the received entry, as its home knows it; null: the entry is about the peering',
      ),
    peer: idOf('peer').describe('the peer that sent the entry'),
    received: z
      .strictObject({
        ledger: idOf('led'),
        seq,
        leaf: hash,
        kind: entryKind,
        record: idOf('rec').nullable(),
        version: z.int().min(1).nullable(),
      })
      .describe('the received entry of the other ledger'),
    ...included,
    receivedEnvelope: base64
      .describe('COSE_Sign1 of the received entry; present whenever `envelope` is')
      .optional(),
  })
  .meta({ id: 'ReceivedEventData' })

const statementData = z
  .strictObject({
    ...ofEntry,
    record: z.null(),
    statement: z.strictObject({
      id: idOf('stm'),
      issuer: z.string(),
      subject: z.string(),
      contentType: z.string(),
    }),
    ...included,
  })
  .meta({ id: 'StatementEventData' })

const checkpointData = z
  .strictObject({
    ledger: idOf('led'),
    record: z.null(),
    entry: z.null(),
    checkpoint: z.strictObject({
      size: seq.min(1).describe('number of entries that the checkpoint covers'),
      note,
    }),
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

/** Schema of the data of each event. The code does not compile if an event is missing here. */
const EVENT_DATA = {
  'record.recorded': recordData,
  'record.created': recordData,
  'record.activated': recordData,
  'completion.submitted': recordData,
  'completion.verified': recordData,
  'verdict.rendered': recordData,
  'verdict.overturned': recordData,
  'revision.requested': recordData,
  'record.cancelled': recordData,
  'record.expired': recordData,
  'signal.emitted': signalData,
  'batch.recorded': batchData,
  'payload.erased': erasureData,
  'entry.received': receivedData,
  'statement.registered': statementData,
  'checkpoint.published': checkpointData,
} satisfies Record<EventType, z.ZodType>

const NOTICE_DATA = {
  'webhook.paused': webhookPausedData,
  'webhook.test': webhookTestData,
} satisfies Record<NoticeType, z.ZodType>

/**
 * Returns the schemas of events, one for each form of data. Each schema lists the names of all events whose data have
 * this form. `head`: members that come first.
 */
function variantsOf(
  dataOf: Readonly<Record<string, z.ZodObject>>,
  timestamp: z.ZodType<string>,
  head: z.ZodRawShape = {},
) {
  const namesOfData = Map.groupBy(Object.keys(dataOf), (name) => dataOf[name]!)
  const variants = [...namesOfData].map(([data, names]) =>
    z.strictObject({ ...head, type: z.literal(names), timestamp, data }),
  )
  return variants as [(typeof variants)[0], ...typeof variants]
}

const recordedAt = instant.describe('when the entry or checkpoint was recorded')
const happenedAt = instant.describe('when the event happened')

const ledgerEvent = z
  .discriminatedUnion(
    'type',
    variantsOf(EVENT_DATA, recordedAt, {
      id: idOf('evt').describe('id of the event, the same in every answer'),
    }),
  )
  .meta({ id: 'LedgerEvent' })

/** Body of a webhook. The id of the event is in the header `webhook-id`. */
export const webhookEvent = z
  .discriminatedUnion('type', [...variantsOf(EVENT_DATA, recordedAt), ...variantsOf(NOTICE_DATA, happenedAt)])
  .meta({ id: 'WebhookEvent' })

export const eventPage = z.strictObject({
  data: z.array(ledgerEvent),
  nextCursor: z.string().describe('cursor with which the next request continues, now or later'),
  more: z.boolean().describe('whether there may be more events now, even if `data` is empty'),
})

export const eventStream = z
  .string()
  .describe('`text/event-stream`: `id` is a cursor, `event` the type, `data` the event as one line of JSON')
