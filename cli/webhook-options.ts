import type { PatchWebhooksByIdBody } from '../sdk/generated/api.ts'

export const WEBHOOK_OPTIONS = {
  url: { type: 'string' },
  events: { type: 'string' },
  types: { type: 'string' },
  include: { type: 'string' },
  description: { type: 'string' },
} as const

type Values = { readonly [Name in keyof typeof WEBHOOK_OPTIONS]?: string | undefined }

/** Returns the given settings. An empty text removes a setting. */
export function webhookSettings({ url, events, types, include, description }: Values): PatchWebhooksByIdBody {
  return {
    url,
    // The server checks the event names: a newer one may have more than this tool knows.
    events: listOf(events) as PatchWebhooksByIdBody['events'],
    types: listOf(types),
    include: listOf(include) as PatchWebhooksByIdBody['include'],
    description: description === '' ? null : description,
  }
}

function listOf(text: string | undefined): string[] | undefined {
  return text === '' ? [] : text?.split(',')
}
