import type { Tallystick } from '../../sdk/client.ts'
import type { Delivery } from '../../sdk/generated/api.ts'
import { sleep } from '../../sdk/http/retries.ts'
import { plain } from '../../sdk/plain.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS } from '../output.ts'
import { adviceOn } from '../webhook-advice.ts'
import { printDelivery } from '../webhook-deliveries.ts'

/** Maximum wait in ms for the first attempt. It is longer than an endpoint may take for its answer. */
const WAIT_MS = 20_000
const POLL_MS_MIN = 100
const POLL_MS_MAX = 1_000

const HELP = `tallystick webhooks test WEBHOOK

Sends a webhook an empty event (webhook.test), waits up to ${WAIT_MS / 1000} s for the first attempt, and shows how long it took and
the answer. Ends with 1 if the event was not delivered, and says what to do; the server tries it again all the same.
Ends with 69 if there was no attempt in that time. Needs a key with the scope webhooks:manage.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick webhooks test whk_01kd2m3n4p5q6r7s8t9v0w1x2y
`

export const webhooksTest = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'webhooks test WEBHOOK')
    const client = await connect(values)
    const delivery = await sendTest(client, id)
    await printDelivery(delivery, values.json, io.stdout)
    return judgeTest(client, id, delivery, io)
  },
})

/**
 * Sends a test event. Returns the delivery after its first attempt. If there was no attempt within `waitMs`, returns
 * the delivery's current state.
 */
export async function sendTest(client: Tallystick, id: string, waitMs = WAIT_MS): Promise<Delivery> {
  const { id: event } = await client.webhooks.test(id)
  const until = Date.now() + waitMs
  for (let pollMs = POLL_MS_MIN; ; pollMs = Math.min(POLL_MS_MAX, pollMs * 1.5)) {
    const delivery = await client.webhooks.delivery(id, event)
    if (delivery.attempts > 0 || Date.now() > until) return delivery
    await sleep(pollMs)
  }
}

/** Returns the exit code. If the event was not delivered, prints what to do. */
export async function judgeTest(
  client: Tallystick,
  id: string,
  { state, attemptLog }: Delivery,
  io: Pick<Io, 'stderr'>,
): Promise<ExitCode> {
  if (state === 'delivered') return EXIT.ok
  const say = (what: string, todo: string) =>
    io.stderr.write(`tallystick: ${plain(`${what}. What to do: ${todo}`)}\n`)
  const attempt = attemptLog.at(-1)
  if (attempt !== undefined) {
    const { status, error, reason } = attempt
    say(`it was not delivered (${status ?? error}${reason ? `, ${reason}` : ''})`, adviceOn(attempt))
    return EXIT.refused
  }
  const { resumeAt } = (await client.webhooks.get(id)).standing
  if (resumeAt === null)
    say('nothing was sent in time', 'ask the operator of the server whether a worker is running')
  else
    say(
      `nothing is sent before ${resumeAt}, because the receiver fails, or asked for a pause`,
      `repair the receiver, then run tallystick webhooks resume ${id}`,
    )
  return EXIT.unavailable
}
