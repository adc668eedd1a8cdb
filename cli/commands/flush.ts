import { setTimeout as sleep } from 'node:timers/promises'
import { SpoolInUseError } from '../../sdk/errors.ts'
import { plain } from '../../sdk/plain.ts'
import { noArguments, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { environment } from '../environment.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { hasWork } from '../outbox/directory.ts'
import {
  FLUSH_SECONDS_DEFAULT,
  FLUSH_SECONDS_MAX,
  OUTBOX_BACKGROUND_MS_MAX,
  OUTBOX_IDLE_MS,
  OUTBOX_RETRY_MS,
} from '../outbox/limits.ts'
import {
  reportRarely,
  type SenderOptions,
  type SendResult,
  sendOnce,
  sendWhileItWorks,
} from '../outbox/sender.ts'

const HELP = `tallystick flush

Sends the records that hooks and proxies have put into the outbox of this user, and shows what is left. Hooks and
proxies send records themselves within seconds: use this after an outage of the server, and to see why records are not
sent. Ends with 69 if something is left.

  --spool DIR      the outbox. Default: TALLYSTICK_SPOOL, or ~/.local/state/tallystick/outbox
  --timeout S      how long to try; default ${FLUSH_SECONDS_DEFAULT}
  --background     the mode of hooks: wait ${OUTBOX_IDLE_MS / 1000} s for more records, and give up ${OUTBOX_BACKGROUND_MS_MAX / 1000} s after the last success
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick flush
`

export const flush = defineCommand({
  help: HELP,
  options: {
    spool: { type: 'string' },
    timeout: { type: 'string' },
    background: { type: 'boolean' },
    ...CONNECTION_OPTIONS,
  },
  async run(values, positionals, io) {
    noArguments(positionals, 'flush')
    const seconds = parseCount(values.timeout, '--timeout', { max: FLUSH_SECONDS_MAX })
    const options = {
      directory: values.spool ?? environment.outboxDirectory(),
      connect: () => connect(values),
      report: reportRarely((message) => void io.stderr.write(`tallystick: ${plain(message)}\n`)),
    }
    if (values.background) return flushInBackground(options)
    return flushNow(options, (seconds ?? FLUSH_SECONDS_DEFAULT) * 1_000, io)
  },
})

async function flushNow(options: SenderOptions, timeoutMs: number, io: Io): Promise<ExitCode> {
  const { directory } = options
  const signal = AbortSignal.timeout(timeoutMs)
  const { recorded, refused, left } = await sendWhenFree(options, signal)
  io.stdout.write(`${recorded} records sent${refused > 0 ? `, ${refused} refused` : ''}\n`)
  if (left === null && !hasWork(directory)) return EXIT.ok
  io.stderr.write(
    `tallystick: records are left in ${directory}: ${plain(left ?? 'they arrived after the last attempt')}. What to do: remove this cause, and run the command again\n`,
  )
  return EXIT.unavailable
}

/** Sends the records. If another process uses the spool, tries again until that process has released it. */
async function sendWhenFree(options: SenderOptions, signal: AbortSignal): Promise<SendResult> {
  for (;;) {
    try {
      return await sendOnce(options, { idleMs: 0, signal })
    } catch (error) {
      if (!(error instanceof SpoolInUseError)) throw error
      if (!hasWork(options.directory)) return { recorded: 0, refused: 0, left: null }
      if (signal.aborted) return { recorded: 0, refused: 0, left: error.message }
      await sleep(OUTBOX_RETRY_MS)
    }
  }
}

async function flushInBackground(options: SenderOptions): Promise<ExitCode> {
  const limits = { idleMs: OUTBOX_IDLE_MS, giveUpMs: OUTBOX_BACKGROUND_MS_MAX }
  try {
    const left = await sendWhileItWorks(options, limits)
    return left === null ? EXIT.ok : EXIT.unavailable
  } catch (error) {
    if (error instanceof SpoolInUseError) return EXIT.ok
    throw error
  }
}
