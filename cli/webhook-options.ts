import type { PatchWebhooksByIdBody } from '../sdk/generated/api.ts'

/** All settings of a webhook. The compiler refuses an option or a value that is left out below. */
type Settings = { readonly [Name in keyof Required<PatchWebhooksByIdBody>]: PatchWebhooksByIdBody[Name] }

export const WEBHOOK_OPTIONS = {
  url: { type: 'string' },
  events: { type: 'string' },
  types: { type: 'string' },
  include: { type: 'string' },
  description: { type: 'string' },
} as const satisfies { readonly [Name in keyof Settings]: { readonly type: 'string' } }

type Values = { readonly [Name in keyof typeof WEBHOOK_OPTIONS]?: string | undefined }

/** Returns the given settings. An empty text removes a setting. */
export function webhookSettings({ url, events, types, include, description }: Values): Settings {
  return {
    url,
    // The server checks the event names: a newer one may have more than this tool knows.
    events: listOf(events) as Settings['events'],
    types: listOf(types),
    include: listOf(include) as Settings['include'],
    description: description === '' ? null : description,
  }
}

function listOf(text: string | undefined): string[] | undefined {
  return text === '' ? [] : text?.split(',')
}
