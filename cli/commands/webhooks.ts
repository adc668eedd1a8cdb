import type { Webhook } from '../../sdk/generated/api.ts'
import { parseChoice } from '../arguments.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'
import { UsageError } from '../run.ts'
import { WEBHOOK_OPTIONS, webhookSettings } from '../webhook-options.ts'

export const webhooksList = listItems({
  usage: 'webhooks list',
  flags: '[--limit N]',
  about: `Lists the ledger's webhooks, oldest first, without their secrets: the state of each, how many entries it is behind, its
failures in a row, and how many deliveries were given up. Needs a key with the scope webhooks:manage.`,
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
  about: `Shows a webhook, without its secrets; \`standing\` shows how far it is, and how its receiver answers. Needs a key with
the scope webhooks:manage.`,
  examples: [
    'webhooks get whk_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'webhooks get whk_01kd2m3n4p5q6r7s8t9v0w1x2y | jq .standing',
  ],
  request: (client, id) => client.webhooks.get(id),
})

export const webhooksPause = showItem({
  usage: 'webhooks pause WEBHOOK',
  about: `Delivers nothing to a webhook until it is resumed. Events wait meanwhile. Needs a key with the scope webhooks:manage.`,
  examples: ['webhooks pause whk_01kd2m3n4p5q6r7s8t9v0w1x2y'],
  request: (client, id) => client.webhooks.pause(id),
})

export const webhooksResume = showItem({
  usage: 'webhooks resume WEBHOOK',
  flags: '[--from here|now]',
  about: `Resumes a webhook that was paused (by a person, or because it failed for five days) or disabled (because it answered
410). All missed events are delivered first. Deliveries that were given up before are not: \`tallystick webhooks
redeliver-dead\` delivers those. Needs a key with the scope webhooks:manage.`,
  options: { from: { type: 'string' } },
  optionsHelp: '  --from WHERE     here: where it stopped (default); now: missed events are skipped',
  examples: [
    'webhooks resume whk_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'webhooks resume whk_01kd2m3n4p5q6r7s8t9v0w1x2y --from now',
  ],
  parse: ({ from = 'here' }) => ({ from: parseChoice(from, ['here', 'now'], '--from') }),
  request: (client, id, request) => client.webhooks.resume(id, request),
})

export const webhooksUpdate = showItem({
  usage: 'webhooks update WEBHOOK',
  flags: '[--url URL] [--events EVENT,…] [--types TYPE,…] [--include WHAT,…] [--description T]',
  about: `Changes a webhook. Options that are not given, and its secrets, do not change: if the URL is now another receiver's,
rotate the secret. Needs a key with the scope webhooks:manage; if documents are included, also records:read.`,
  options: WEBHOOK_OPTIONS,
  optionsHelp: `  --url URL        https:, without a user and without a fragment
  --events E,…     names of events; or only *, for all
  --types T,…      only events about records of these types; '' for all
  --include W,…    documents, envelope; '' for neither
  --description T  a description; '' for none`,
  examples: [
    'webhooks update whk_01kd2m3n4p5q6r7s8t9v0w1x2y --url https://payments.example/v2/hook',
    `webhooks update whk_01kd2m3n4p5q6r7s8t9v0w1x2y --types '' --include envelope`,
  ],
  parse: (values) => {
    const changes = webhookSettings(values)
    if (Object.values(changes).every((change) => change === undefined))
      throw new UsageError(
        'webhooks update needs at least one option to change, such as --url, --events or --types',
      )
    return changes
  },
  request: (client, id, changes) => client.webhooks.update(id, changes),
})

export const webhooksRedeliverDead = showItem({
  usage: 'webhooks redeliver-dead WEBHOOK',
  flags: '[--since TIME]',
  about: `Delivers everything that was given up, oldest first, and prints how many deliveries that is. Needs a key with the scope
webhooks:manage.`,
  options: { since: { type: 'string' } },
  optionsHelp: `  --since TIME     only events from this time on: RFC 3339, UTC`,
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
  about: `Delivers events of a period that are for the webhook and were never delivered to it: because they were given up or
skipped, or the webhook subscribed to fewer events then. With --delivered a receiver that has lost its data gets all
events again. Runs on by itself: \`recovery\` in the \`standing\` of \`tallystick webhooks get\` shows its progress. Needs a
key with the scope webhooks:manage.`,
  options: { since: { type: 'string' }, until: { type: 'string' }, delivered: { type: 'boolean' } },
  optionsHelp: `  --since TIME     recorded from this time on: RFC 3339, UTC
  --until TIME     recorded before this time. Default: as far as the webhook has come
  --delivered      also events that were delivered`,
  examples: [
    'webhooks recover whk_01kd2m3n4p5q6r7s8t9v0w1x2y --since 2026-11-20T12:00:00Z',
    'webhooks recover whk_01kd2m3n4p5q6r7s8t9v0w1x2y --since 2026-11-20T12:00:00Z \\\n    --until 2026-11-20T14:00:00Z --delivered',
  ],
  parse: ({ since, until, delivered }) => {
    if (since === undefined) throw new UsageError('usage: tallystick webhooks recover WEBHOOK --since TIME')
    return { since, until, delivered }
  },
  request: (client, id, request) => client.webhooks.recover(id, request),
})
