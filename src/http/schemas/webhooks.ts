import { z } from 'zod'
import type { WebhookSettings } from '../../db/events/webhooks.ts'
import { WEBHOOK_COUNT_MAX, WEBHOOK_REDELIVERED_MAX } from '../../db/limits.ts'
import { OUTBOUND_URL_CHARS_MAX } from '../../outside/connector/limits.ts'
import { TLS_REASONS } from '../../outside/connector/tls-reasons.ts'
import { EVENT_TYPES, NOTICE_TYPES } from '../../outside/events/event-types.ts'
import {
  WEBHOOK_NAMES_MAX,
  WEBHOOK_OVERLAP_SECONDS_DEFAULT,
  WEBHOOK_OVERLAP_SECONDS_MAX,
} from '../../outside/webhooks/limits.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { NAME_CHARS_MAX } from '../limits.ts'
import { idOf, instant, seq } from './common.ts'
import { WITHOUT_CONTROLS } from './names.ts'
import { time } from './times.ts'

/* Schemas for managing webhooks and their deliveries. The schemas of the delivered bodies are in events.ts. */

/**
 * Events to which a webhook can subscribe. Test events are not included, because they are sent only to the webhook that
 * is tested.
 */
const SUBSCRIBABLE = [...EVENT_TYPES, 'webhook.paused'] as const
const ALL_EVENTS = '*'

const eventName = z.enum([...EVENT_TYPES, ...NOTICE_TYPES])

const settings = {
  url: z
    .string()
    .min(1)
    .max(OUTBOUND_URL_CHARS_MAX)
    .describe('address of the receiver: https:, without a user and without a fragment'),
  description: z.string().min(1).max(NAME_CHARS_MAX).regex(WITHOUT_CONTROLS).nullable(),
  events: z
    .array(z.enum([ALL_EVENTS, ...SUBSCRIBABLE]))
    .min(1)
    .max(WEBHOOK_NAMES_MAX)
    .describe('names of events, or only `*`: all, also future ones'),
  types: z
    .array(z.string().regex(/^[a-z][a-z0-9.-]{0,62}(\/[1-9][0-9]{0,8})?$/))
    .max(WEBHOOK_NAMES_MAX)
    .describe('types of the records of events: `name/version`, or `name` for all versions; empty: all types'),
  include: z
    .array(z.enum(['documents', 'envelope']))
    .max(2)
    .describe(
      'what events contain in addition to the signed statement; `documents` needs the scope `records:read`',
    ),
} satisfies { readonly [Name in keyof WebhookSettings]: z.ZodType }

const URL_EXAMPLE = 'https://example.com/hooks/tallystick'

export const changeWebhookBody = z
  .strictObject(settings)
  .partial()
  .meta({ examples: [{ events: ['*'] }] })

export const createWebhookBody = changeWebhookBody
  .extend({ url: settings.url, events: settings.events })
  .meta({ examples: [{ url: URL_EXAMPLE, events: ['signal.emitted'], types: ['purchase'] }] })

export const resumeWebhookBody = z.strictObject({
  from: z
    .enum(['here', 'now'])
    .describe('here: missed events are delivered; now: they are skipped. Absent: here')
    .optional(),
})

export const rotateWebhookBody = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(WEBHOOK_OVERLAP_SECONDS_MAX)
    .describe(
      `seconds for which deliveries are also signed with the older secrets; absent: ${WEBHOOK_OVERLAP_SECONDS_DEFAULT}`,
    )
    .optional(),
})

export const webhooksQuery = z.strictObject(pageQuery)
export const webhooksCursor = z.tuple([idOf('whk')])

const count = z.int().min(0)
const counted = count.describe(`deliveries that will be tried; counted up to ${WEBHOOK_COUNT_MAX}`)

const standing = z.strictObject({
  nextSeq: seq.describe('seq of the next entry to examine'),
  behind: count.describe('entries that are still to be examined'),
  failures: count.describe('failed attempts in a row'),
  failingSince: instant.nullable(),
  resumeAt: instant
    .nullable()
    .describe('nothing is sent before this time, because the endpoint failed or asked for a pause'),
  lastSuccessAt: instant.nullable(),
  lastFailureAt: instant.nullable(),
  recovery: z
    .strictObject({ nextSeq: seq, endSeq: seq, delivered: z.boolean() })
    .nullable()
    .describe('progress of the recovery; null: none is running'),
  pending: counted,
  held: counted.describe(
    `deliveries that wait for an earlier event of their record; counted up to ${WEBHOOK_COUNT_MAX}`,
  ),
  dead: counted.describe(`deliveries that were given up; counted up to ${WEBHOOK_COUNT_MAX}`),
})

const publicKey = z
  .string()
  .regex(/^whpk_[A-Za-z0-9+/]{43}=$/)
  .describe('Ed25519 key that verifies the `v1a` signatures of deliveries')

const webhook = {
  id: idOf('whk'),
  ...settings,
  url: z.string(),
  description: z.string().nullable(),
  events: z.array(z.string()),
  types: z.array(z.string()),
  include: z.array(z.enum(['documents', 'envelope'])),
  state: z.enum(['active', 'paused', 'disabled']),
  reason: z
    .enum(['requested', 'failing', 'gone'])
    .nullable()
    .describe('why the webhook is not active. gone: the endpoint answered 410; null: it is active'),
  stateAt: instant,
  createdAt: instant,
  createdBy: idOf('agt'),
  secrets: z
    .array(
      z.strictObject({
        publicKey,
        createdAt: instant,
        expiresAt: instant.nullable(),
      }),
    )
    .describe(
      'valid secrets, newest first: one, or more during a rotation. Deliveries are signed with each of them',
    ),
  standing,
}

export const webhookAnswer = z.strictObject(webhook).meta({ id: 'Webhook' })
export const webhookPage = pageOf(webhookAnswer)
export const webhookWithSecret = z.strictObject({
  ...webhook,
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{43}=$/)
    .describe('secret that verifies the `v1` signatures of deliveries; shown only once'),
  publicKey,
})

export const deliveryParams = z.strictObject({ id: z.string(), event: z.string() })

const deliveryState = z.enum(['pending', 'held', 'delivered', 'dead'])

export const deliveriesQuery = z.strictObject({
  ...pageQuery,
  state: deliveryState.optional(),
  event: eventName.optional(),
  record: idOf('rec').optional(),
})

/** Id of the last event that the previous query examined. */
export const deliveriesCursor = z.tuple([idOf('evt')])

const delivery = {
  id: idOf('evt').describe('id of the event: the header `webhook-id`'),
  event: z.string(),
  record: idOf('rec').nullable(),
  seq: seq
    .nullable()
    .describe(
      'seq of the entry, or of the last entry of the checkpoint; null: the event is about an endpoint',
    ),
  state: deliveryState.describe('held: an earlier event of the record is pending; dead: given up'),
  attempts: count,
  dueAt: instant.nullable(),
  createdAt: instant,
  finishedAt: instant.nullable(),
}

const deliverySummary = z.strictObject(delivery).meta({ id: 'DeliverySummary' })
export const deliveryPage = pageOf(deliverySummary)

export const deliveryAnswer = z
  .strictObject({
    ...delivery,
    attemptLog: z
      .array(
        z.strictObject({
          at: instant,
          durationMs: count,
          status: z.int().nullable().describe('HTTP status of the answer; null: no answer'),
          error: z.string().nullable().describe('why the attempt failed, as a word for programs'),
          reason: z
            .enum(TLS_REASONS)
            .nullable()
            .describe('code of Node or OpenSSL, for the error `tls_failed`'),
          excerpt: z
            .string()
            .nullable()
            .describe(
              'start of the answer’s body; null: no answer, or answers of this address are not stored',
            ),
        }),
      )
      .describe('the newest attempts, oldest first'),
  })
  .meta({ id: 'Delivery' })

export const redeliverDeadBody = z.strictObject({
  since: time.describe('only events of this time or later; absent: all').optional(),
})
export const redeliverDeadAnswer = z.strictObject({
  redelivered: count.describe(
    `number of deliveries, at most ${WEBHOOK_REDELIVERED_MAX} in one request, oldest first`,
  ),
  more: z.boolean().describe('true: more deliveries were given up; send the request again'),
})

export const recoverBody = z
  .strictObject({
    since: time.describe('earliest `recordedAt` of the events, inclusive'),
    until: time
      .describe('latest `recordedAt` of the events, exclusive; absent: up to the endpoint’s position')
      .optional(),
    delivered: z.boolean().describe('whether delivered events are delivered again; absent: false').optional(),
  })
  .meta({ examples: [{ since: '2026-11-20T12:00:00Z' }] })
