import { createHash } from 'node:crypto'
import { readSync } from 'node:fs'
import { CONTENT_BYTES_MAX, short } from '../../sdk/actions/content.ts'
import { makeIdempotencyKey } from '../../sdk/idempotency-key.ts'
import { putInInbox } from '../../sdk/node/inbox.ts'
import { makeItem } from '../../sdk/notarizer/items.ts'
import { parseCount } from '../arguments.ts'
import {
  FAIL_CLOSED_SECONDS_DEFAULT,
  FAIL_CLOSED_SECONDS_MAX,
  HOOK_HOST_EXTRA_SECONDS,
  HOOK_INPUT_BYTES_MAX,
} from '../calls/limits.ts'
import { readMessage, traceparentOf } from '../calls/message.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { environment } from '../environment.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type HookRecord, type RecordingOptions, recordOf } from '../hook/events.ts'
import { settingsOf } from '../hook/settings.ts'
import { type Io, PROCESS_IO } from '../io.ts'
import { hasSender } from '../outbox/directory.ts'
import { shellQuote } from '../shell-quote.ts'

const HELP = `tallystick hook

Records the hook events of a coding agent. Reads one event from standard input, puts its record into the outbox of this
user, and starts a process that sends it. Ends with 0 unless --fail-closed denies a call, so it never stops the agent.
The only delay is the start of this command. Every tool call becomes an action before it and an outcome after it, below
the session. Requested and denied permissions become approvals.

  --settings           print the hooks for the settings of Claude Code (~/.claude/settings.json), and end
  --content            store arguments and results, not only their digests, up to ${CONTENT_BYTES_MAX / 1024} KiB each
  --fail-closed        a tool call waits until the server has recorded it, at most ${FAIL_CLOSED_SECONDS_DEFAULT} s; otherwise it is denied
                       (exit code 2)
  --timeout S          how long --fail-closed waits. With --settings the agent's own limit is ${HOOK_HOST_EXTRA_SECONDS} s longer, because a
                       hook that the agent ends does not deny the call
  --framework NAME     name of the framework in the records, such as claude-code
  --spool DIR          the outbox. Default: TALLYSTICK_SPOOL, or ~/.local/state/tallystick/outbox
  --server URL         for the process that sends. Default: as for every command, TALLYSTICK_URL and TALLYSTICK_API_KEY,
                       or what \`tallystick init\` stored
  -h, --help

Examples:
  tallystick hook --settings
  echo '{"hook_event_name":"PreToolUse","session_id":"s1","tool_name":"Bash","tool_use_id":"t1"}' | tallystick hook
`

const OPTIONS = {
  settings: { type: 'boolean' },
  content: { type: 'boolean' },
  'fail-closed': { type: 'boolean' },
  timeout: { type: 'string' },
  framework: { type: 'string' },
  spool: { type: 'string' },
  server: { type: 'string' },
} as const

type Values = ValuesOf<typeof OPTIONS>

export const hook = defineCommand({
  help: HELP,
  options: OPTIONS,
  async run(values, _positionals, io) {
    const seconds =
      parseCount(values.timeout, '--timeout', { max: FAIL_CLOSED_SECONDS_MAX }) ?? FAIL_CLOSED_SECONDS_DEFAULT
    if (values.settings) {
      const hostSeconds = values['fail-closed'] ? seconds + HOOK_HOST_EXTRA_SECONDS : null
      io.stdout.write(settingsOf(commandOf(values), hostSeconds))
      return EXIT.ok
    }
    try {
      const record = recordOf(await readEvent(io), recordingOf(values))
      if (record === null) throw new Error('the event has no hook_event_name')
      return await putRecord(record, values, seconds, io)
    } catch (error) {
      io.stderr.write(`tallystick: this event is not recorded: ${(error as Error).message}\n`)
      return values['fail-closed'] ? EXIT.deny : EXIT.ok
    }
  },
})

function commandOf(values: Values): string {
  const flags = (['content', 'fail-closed'] as const)
    .filter((name) => values[name])
    .map((name) => `--${name}`)
  const named = (['timeout', 'spool', 'server'] as const).flatMap((name) =>
    values[name] === undefined ? [] : [`--${name}`, shellQuote(values[name])],
  )
  const framework = values.framework ?? 'claude-code'
  return ['tallystick hook', '--framework', shellQuote(framework), ...flags, ...named].join(' ')
}

function recordingOf(values: Values): RecordingOptions {
  return {
    include: values.content ?? false,
    failClosed: values['fail-closed'] ?? false,
    framework: short(values.framework, 128),
    sha256: (bytes) => createHash('sha256').update(bytes).digest('hex'),
  }
}

async function readEvent(io: Io) {
  const bytes = await readAll(io)
  if (bytes.length > HOOK_INPUT_BYTES_MAX)
    throw new Error(`it has more than ${HOOK_INPUT_BYTES_MAX} bytes, the maximum`)
  const message = readMessage(bytes.toString('utf8'))
  if (message === null) throw new Error('standard input is not JSON')
  return message
}

/**
 * Reads standard input. It reads synchronously if possible, because loading a stream takes longer than the hook
 * itself. A non-blocking pipe needs the stream.
 */
async function readAll(io: Io): Promise<Buffer> {
  const pieces: Buffer[] = []
  if (io === PROCESS_IO && readNow(pieces)) return Buffer.concat(pieces)
  for await (const piece of io.stdin) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

/**
 * Reads standard input synchronously. Returns false if the pipe is non-blocking. `pieces` may then contain some input
 * already.
 */
function readNow(pieces: Buffer[]): boolean {
  try {
    for (;;) {
      const piece = Buffer.alloc(READ_BYTES)
      const bytes = readSync(0, piece)
      if (bytes === 0) return true
      pieces.push(piece.subarray(0, bytes))
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EAGAIN') return false
    if (code === 'EOF') return true // Windows reports the end of input with this code
    throw error
  }
}

const READ_BYTES = 64 * 1024

async function putRecord(
  { type, payload, options, isBefore }: HookRecord,
  values: Values,
  seconds: number,
  io: Io,
): Promise<ExitCode> {
  const directory = values.spool ?? environment.outboxDirectory()
  const isAwaited = isBefore && values['fail-closed'] === true
  const handle = options.handle ?? (isAwaited ? `hook:${makeIdempotencyKey()}` : undefined)
  const traceparent = traceparentOf(environment.traceparent())
  const put = (type: string, payload: object, options: object) =>
    putInInbox(
      directory,
      makeItem(payload, { type, traceparent, ...options }, Date.now()),
      makeIdempotencyKey(),
    )
  const recorded = isAwaited ? await import('../outbox/recorded.ts') : null
  const before = recorded?.newestRecorded(directory, handle!)
  put(type, payload, { ...options, handle })
  if (!hasSender(directory)) {
    const { sendInBackground } = await import('../outbox/background.ts')
    sendInBackground(directory, values.server === undefined ? [] : ['--server', values.server])
  }
  if (recorded === null) return EXIT.ok
  if (await recorded.waitUntilRecorded(directory, handle!, seconds * 1_000, { before })) return EXIT.ok
  const error = `the ledger did not record it within ${seconds} s: tallystick hook --fail-closed denied it`
  put('agent-outcome/1', { status: 'denied', error }, { parentHandle: handle })
  io.stderr.write(
    `tallystick: denied, because ${error}. What to do: run \`tallystick flush\`, which says what is wrong\n`,
  )
  return EXIT.deny
}

/**
 * Runs `tallystick hook` as this process. With `--fail-closed`, wrong arguments also deny the action, because agents
 * treat every other exit code as permission.
 */
export async function runHook(args: readonly string[]): Promise<ExitCode> {
  try {
    return await hook.run(args)
  } catch (error) {
    const { run } = await import('../run.ts')
    const code = await run(() => Promise.reject(error), process.stderr)
    return args.some((arg) => arg.startsWith('--fail-closed')) ? EXIT.deny : code
  }
}
