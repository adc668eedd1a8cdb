import type { Delivery } from '../sdk/generated/api.ts'
import type { DeliveryAttempt } from '../sdk/resources/webhooks.ts'
import type { Out } from './io.ts'
import { type Column, printItem, printItems } from './output.ts'
import { UsageError } from './run.ts'

const ATTEMPTS: readonly Column<DeliveryAttempt>[] = [
  ['AT', ({ at }) => at],
  ['MS', ({ durationMs }) => durationMs],
  ['STATUS', ({ status, error, reason }) => status ?? (reason ? `${error} ${reason}` : error)],
  ['ANSWER', ({ excerpt }) => excerpt],
]

/** Returns the two arguments of a command about one delivery. Throws UsageError if there are more or fewer. */
export function deliveryArguments(
  [webhook, event, ...more]: readonly string[],
  usage: string,
): [webhook: string, event: string] {
  if (webhook === undefined || event === undefined || more.length > 0)
    throw new UsageError(`usage: tallystick ${usage}`)
  return [webhook, event]
}

/** Prints a delivery. On a terminal it prints the fields, followed by a table of the attempts. */
export async function printDelivery(delivery: Delivery, json: boolean | undefined, out: Out): Promise<void> {
  if (json || !out.isTTY) return printItem(delivery, json, out)
  const { attemptLog, ...fields } = delivery
  printItem(fields, json, out)
  if (!Array.isArray(attemptLog) || attemptLog.length === 0) return
  out.write('\n')
  await printItems(attempts(attemptLog), ATTEMPTS, json, out)
}

async function* attempts(log: readonly DeliveryAttempt[]): AsyncGenerator<DeliveryAttempt> {
  yield* log
}
