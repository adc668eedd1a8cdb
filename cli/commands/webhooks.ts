import type { Webhook } from '../../sdk/generated/api.ts'
import { parseChoice } from '../arguments.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'
import { UsageError } from '../run.ts'
import { WEBHOOK_OPTIONS, webhookSettings } from '../webhook-options.ts'

export const webhooksList = listItems({
  usage: 'webhooks list',
  flags: '[--limit N]',
  about: `Lists the ledger's webhooks, in the order in which they were made, without their secrets: the state of each, how many entries it
has not come to, its failures in a row, and how many deliveries were given up. Needs a key with the scope webhooks:manage.`,
  examples: [
    'webhooks list',
    `webhooks list | jq -r 'select(.state != "active" or .standing.failures > 0) | .id'`,
  ],
  columns: [
    ['ID', ({ id }) => id],
    ['STATE', ({ state, reason }) => (reason === null ? state : `${state}: ${reason}`)],
    ['BEHIND', ({ standing }) => standing.behind],
    ['FAILURES', ({ standing }) => standing.failures],
    ['DEAD', ({ standing }) => standing.dead],
    ['EVENTS', ({ events }) => events.join(',')],
    ['URL', ({ url }) => url],
  ] satisfies readonly Column<Webhook>[],
  request: (client) => client.webhooks.list(),
})

export const webhooksGet = showItem({
  usage: 'webhooks get WEBHOOK',
  about: `Shows a webhook, without its secrets; \`standing\` says how far it has heard, and how it answers. Needs a key with the scope
webhooks:manage.`,
  examples: [
    'webhooks get whk_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'webhooks get whk_01kd2m3n4p5q6r7s8t9v0w1x2y | jq .standing',
  ],
  request: (client, id) => client.webhooks.get(id),
})

export const webhooksPause = showItem({
  usage: 'webhooks pause WEBHOOK',
  about: `Delivers nothing to a webhook until it is resumed; what happens meanwhile waits for it. Needs a key with the scope
webhooks:manage.`,
  examples: ['webhooks pause whk_01kd2m3n4p5q6r7s8t9v0w1x2y'],
  request: (client, id) => client.webhooks.pause(id),
})

export const webhooksResume = showItem({
  usage: 'webhooks resume WEBHOOK',
  flags: '[--from here|now]',
  about: `Delivers to a webhook again that was paused, by somebody or because it failed for five days, or that was disabled, because it
answered 410. All that it has missed is delivered first. What had been given up before is not: \`tallystick webhooks
redeliver-dead\`. Needs a key with the scope webhooks:manage.`,
  options: { from: { type: 'string' } },
  optionsHelp:
    '  --from WHERE     here, where it has stopped; now: what it has missed is left out. Otherwise here',
  examples: [
    'webhooks resume whk_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'webhooks resume whk_01kd2m3n4p5q6r7s8t9v0w1x2y --from now',
  ],
  parse: ({ from = 'here' }) => ({ from: parseChoice(from, ['here', 'now'], '--from') }),
  request: (client, id, request) => client.webhooks.resume(id, request),
})

export const webhooksUpdate = showItem({
  usage: 'webhooks update WEBHOOK',
  flags: '[--url URL] [--events EVENT,…] [--types TYPE,…] [--include WHAT,…] [--description TEXT]',
  about: `Changes a webhook. What is not given stays as it is, and so do its secrets: where the URL is another receiver's now, rotate
them. Needs a key with the scope webhooks:manage; where documents are included, also records:read.`,
  options: WEBHOOK_OPTIONS,
  optionsHelp: `  --url URL        https:, without a user and without a fragment
  --events E,…     names of events; or * alone: all
  --types T,…      only about records of these types; '' for all
  --include W,…    documents, envelope; '' for neither
  --description T  what it is for; '' for none`,
  examples: [
    'webhooks update whk_01kd2m3n4p5q6r7s8t9v0w1x2y --url https://payments.example/v2/hook',
    `webhooks update whk_01kd2m3n4p5q6r7s8t9v0w1x2y --types '' --include envelope`,
  ],
  parse: (values) => {
    const changes = webhookSettings(values)
    if (Object.values(changes).every((change) => change === undefined))
      throw new UsageError('webhooks update needs something to change: --url, --events, --types, …')
    return changes
  },
  request: (client, id, changes) => client.webhooks.update(id, changes),
})

export const webhooksRedeliverDead = showItem({
  usage: 'webhooks redeliver-dead WEBHOOK',
  flags: '[--since TIME]',
  about: `Delivers all that was given up, oldest first, and says how much that is. Needs a key with the scope webhooks:manage.`,
  options: { since: { type: 'string' } },
  optionsHelp: `  --since TIME     only events of this time or later: RFC 3339, UTC`,
  examples: [
    'webhooks redeliver-dead whk_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'webhooks redeliver-dead whk_01kd2m3n4p5q6r7s8t9v0w1x2y --since 2026-11-20T12:00:00Z',
  ],
  request: async (client, id, { since }) => ({
    redelivered: await client.webhooks.redeliverDead(id, { since }),
  }),
})

export const webhooksRecover = showItem({
  usage: 'webhooks recover WEBHOOK --since TIME',
  flags: '[--until TIME] [--delivered]',
  about: `Delivers what was recorded in a time, is for the webhook, and was never delivered to it: because it was given up or left out, or
the webhook asked for less at that time. A receiver that has lost what it had gets all of it again with --delivered. It goes on
by itself: \`recovery\` in the \`standing\` of \`tallystick webhooks get\` says how far it is. Needs a key with the scope
webhooks:manage.`,
  options: { since: { type: 'string' }, until: { type: 'string' }, delivered: { type: 'boolean' } },
  optionsHelp: `  --since TIME     recorded then or later: RFC 3339, UTC
  --until TIME     recorded before; otherwise as far as the webhook has come
  --delivered      also what was delivered`,
  examples: [
    'webhooks recover whk_01kd2m3n4p5q6r7s8t9v0w1x2y --since 2026-11-20T12:00:00Z',
    'webhooks recover whk_01kd2m3n4p5q6r7s8t9v0w1x2y --since 2026-11-20T12:00:00Z --until 2026-11-20T14:00:00Z --delivered',
  ],
  parse: ({ since, until, delivered }) => {
    if (since === undefined) throw new UsageError('say: tallystick webhooks recover WEBHOOK --since TIME')
    return { since, until, delivered }
  },
  request: (client, id, request) => client.webhooks.recover(id, request),
})
