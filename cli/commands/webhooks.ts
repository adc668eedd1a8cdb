import type { Webhook } from '../../sdk/generated/api.ts'
import { parseChoice } from '../arguments.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'

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
  ask: (client) => client.webhooks.list(),
})

export const webhooksGet = showItem({
  usage: 'webhooks get WEBHOOK',
  about: `Shows a webhook, without its secrets; \`standing\` says how far it has heard, and how it answers. Needs a key with the scope
webhooks:manage.`,
  examples: [
    'webhooks get whk_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'webhooks get whk_01kd2m3n4p5q6r7s8t9v0w1x2y | jq .standing',
  ],
  ask: (client, id) => client.webhooks.get(id),
})

export const webhooksPause = showItem({
  usage: 'webhooks pause WEBHOOK',
  about: `Delivers nothing to a webhook until it is resumed; what happens meanwhile waits for it. Needs a key with the scope
webhooks:manage.`,
  examples: ['webhooks pause whk_01kd2m3n4p5q6r7s8t9v0w1x2y'],
  ask: (client, id) => client.webhooks.pause(id),
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
  check: ({ from }) => void placeOf(from),
  ask: (client, id, { from }) => client.webhooks.resume(id, { from: placeOf(from) }),
})

const PLACES = ['here', 'now'] as const

function placeOf(from: string | undefined) {
  return parseChoice(from ?? 'here', PLACES, '--from')
}
