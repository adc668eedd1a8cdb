import type { Tallystick } from '../../sdk/client.ts'
import type { Webhook } from '../../sdk/generated/api.ts'
import { type Finding, fail, ok, warn } from '../preflight/finding.ts'
import { messageOf } from './message-of.ts'

const CHECK = 'webhooks'

/**
 * Checks the webhooks. Undelivered events are only a warning, because the ledger is intact and the receiver often
 * belongs to somebody else.
 */
export async function* checkWebhooks(
  client: Tallystick,
  scopes: readonly string[],
): AsyncGenerator<Finding, void, undefined> {
  if (!scopes.includes('webhooks:manage')) {
    const advice = 'use a key with webhooks:manage'
    return yield { check: CHECK, status: 'skip', detail: 'the key lacks webhooks:manage', advice }
  }
  let count = 0
  let troubled = 0
  try {
    for await (const webhook of client.webhooks.list()) {
      count++
      const findings = findingsOf(webhook)
      troubled += findings.length
      yield* findings
    }
  } catch (error) {
    return yield fail(CHECK, messageOf(error), null)
  }
  if (troubled === 0) yield ok(CHECK, count === 0 ? 'there are none' : `${count}, none has failures`)
}

function findingsOf({ id, url, state, reason, stateAt, standing }: Webhook): Finding[] {
  const { failures, failingSince, dead } = standing
  const resume = `when its receiver works again: tallystick webhooks resume ${id}`
  const say = (what: string, advice: string) => warn(CHECK, `${id} (${url}) ${what}`, advice)
  return [
    ...(state === 'active' ? [] : [say(`has been ${state} since ${stateAt}: ${reason}`, resume)]),
    ...(state === 'active' && failures > 0
      ? [
          say(
            `has failed since ${failingSince}; failures in a row: ${failures}`,
            `tallystick webhooks test ${id}`,
          ),
        ]
      : []),
    ...(dead > 0
      ? [say(`has deliveries that were given up: ${dead}`, `tallystick webhooks redeliver-dead ${id}`)]
      : []),
  ]
}
