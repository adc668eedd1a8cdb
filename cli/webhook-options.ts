import type { PatchWebhooksByIdBody } from '../sdk/generated/api.ts'

/** All settings of a webhook. With this type the compiler reports an option or a value that is missing below. */
type Settings = { readonly [Name in keyof Required<PatchWebhooksByIdBody>]: PatchWebhooksByIdBody[Name] }

export const WEBHOOK_OPTIONS = {
  url: { type: 'string' },
  events: { type: 'string' },
  types: { type: 'string' },
  include: { type: 'string' },
  description: { type: 'string' },
} as const satisfies { readonly [Name in keyof Settings]: { readonly type: 'string' } }

type Values = { readonly [Name in keyof typeof WEBHOOK_OPTIONS]?: string | undefined }

/** Returns the settings that were given as options. An empty text removes a setting. */
export function webhookSettings({ url, events, types, include, description }: Values): Settings {
  return {
    url,
    // The server checks the events' names, because a newer server may have events that this tool does not know.
    events: listOf(events) as Settings['events'],
    types: listOf(types),
    include: listOf(include) as Settings['include'],
    description: description === '' ? null : description,
  }
}

function listOf(text: string | undefined): string[] | undefined {
  return text === '' ? [] : text?.split(',')
}
