import { webhookEvent } from '../schemas/events.ts'
import { WEBHOOKS_GROUP } from './groups.ts'
import type { SchemaComponents } from './schema-components.ts'

type Json = Record<string, unknown>

/**
 * Describes the requests that are sent to webhook endpoints, by event. Receivers generate types from these
 * descriptions. docs/guides/webhooks.md describes delivery and signatures.
 */
export function describeWebhooks(schemas: SchemaComponents): Record<string, Json> {
  // Adds one schema for the body of any event. The schemas of single events are added below.
  schemas.add(webhookEvent)
  const described = webhookEvent.options.flatMap((event) =>
    [...event.shape.type.values].map((name): [string, Json] => [
      name,
      describeWebhook(name, schemas.add(event)),
    ]),
  )
  return Object.fromEntries(described)
}

function describeWebhook(name: string, schema: Json): Json {
  return {
    post: {
      summary: name,
      tags: [WEBHOOKS_GROUP],
      parameters: HEADERS,
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: {
        '2XX': { description: 'the event was delivered' },
        410: { description: 'the endpoint wants no more events: the webhook is disabled' },
        default: { description: 'the event was not delivered, and is sent again' },
      },
    },
  }
}

const HEADERS = [
  ['webhook-id', 'id of the event at this endpoint, the same in every attempt'],
  ['webhook-timestamp', 'when the request was sent, in seconds since 1970'],
  [
    'webhook-signature',
    '`v1,` (HMAC-SHA256) and `v1a,` (Ed25519) over `id.timestamp.body`, with spaces between',
  ],
].map(([header, description]) => ({
  name: header,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}))
