import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { CONTENT_BYTES_MAX } from '../../sdk/actions/content.ts'
import { plain } from '../../sdk/plain.ts'
import { parseCount } from '../arguments.ts'
import { FAIL_CLOSED_SECONDS_DEFAULT, FAIL_CLOSED_SECONDS_MAX } from '../calls/limits.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect, findConnection } from '../connection.ts'
import { environment } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { Calls } from '../mcp-proxy/calls.ts'
import { openHttp } from '../mcp-proxy/http-upstream.ts'
import { PROXY_CLOSE_MS_MAX, PROXY_MESSAGE_BYTES_MAX } from '../mcp-proxy/limits.ts'
import { openProcess } from '../mcp-proxy/process-upstream.ts'
import { McpProxy } from '../mcp-proxy/proxy.ts'
import type { Downstream, Upstream } from '../mcp-proxy/upstream.ts'
import { sendInBackground } from '../outbox/background.ts'
import { OpenCalls, settleCalls } from '../outbox/calls.ts'
import { waitUntilRecorded } from '../outbox/recorded.ts'
import { Sender } from '../outbox/sender.ts'
import { parseUrl } from '../parse-url.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick mcp-proxy [OPTIONS] -- COMMAND [ARGS…]
       tallystick mcp-proxy [OPTIONS] --upstream URL

Stands between an MCP client and a server and records every tool call: an action before it is forwarded, an outcome after it. The client starts
it instead of the server, over stdio. All messages pass byte for byte. Records wait in the outbox of this user until the server has them; a call whose proxy is
killed gets the outcome "unknown" from whoever sends next.

  --content        keep arguments and results, not only their digests, up to ${CONTENT_BYTES_MAX / 1024} KiB each
  --fail-closed    a call is forwarded when the server has recorded it, and otherwise, after ${FAIL_CLOSED_SECONDS_DEFAULT} s, answered with an error; so are
                   messages that cannot be read: no JSON, doubled names, more than ${PROXY_MESSAGE_BYTES_MAX / 1024 ** 2} MiB
  --timeout S      how long a call waits for that
  --upstream URL   an MCP server behind streamable HTTP, instead of a command
  --header TEXT    a header for it, such as 'Authorization: Bearer …'. Repeatable; $NAME is a variable of the environment
  --name NAME      name of the server in the records; otherwise as it calls itself
  --spool DIR      the outbox; otherwise TALLYSTICK_SPOOL, or ~/.local/state/tallystick/outbox
${CONNECTION_HELP}
  -h, --help

The server is given no variable TALLYSTICK_…, and none in which the API key stands.

Examples:
  tallystick mcp-proxy -- npx -y @modelcontextprotocol/server-filesystem /srv/files
  tallystick mcp-proxy --upstream https://mcp.example/mcp --header 'Authorization: Bearer $TOKEN'
`

const OPTIONS = {
  content: { type: 'boolean' },
  'fail-closed': { type: 'boolean' },
  timeout: { type: 'string' },
  upstream: { type: 'string' },
  header: { type: 'string', multiple: true },
  name: { type: 'string' },
  spool: { type: 'string' },
  ...CONNECTION_OPTIONS,
} as const

type Values = ValuesOf<typeof OPTIONS>

export const mcpProxy = defineCommand({
  help: HELP,
  options: OPTIONS,
  async run(values, command, io) {
    const open = openerOf(values, command)
    const seconds = parseCount(values.timeout, '--timeout', { max: FAIL_CLOSED_SECONDS_MAX })
    // Fail at once, because clients show that to their users. Without a key nothing would ever be sent.
    const { apiKey } = await findConnection(values)
    const directory = values.spool ?? environment.outboxDirectory()
    const say = (message: string) => void io.stderr.write(`tallystick: ${plain(message)}\n`)
    settleCalls(directory)
    const openCalls = new OpenCalls(directory)
    const sender = new Sender({ directory, connect: () => connect(values), report: say })
    const waitMs = (seconds ?? FAIL_CLOSED_SECONDS_DEFAULT) * 1_000
    const failClosed = values['fail-closed'] ?? false
    const calls = new Calls({
      directory,
      open: openCalls,
      include: values.content ?? false,
      failClosed,
      server: values.name ?? null,
      command: values.upstream === undefined ? basename(command[0]!) : addressOf(values.upstream),
      sha256: (bytes) => createHash('sha256').update(bytes).digest('hex'),
      say,
    })
    const proxy = new McpProxy({
      stdin: io.stdin as NodeJS.ReadStream,
      stdout: io.stdout as NodeJS.WriteStream,
      calls,
      isRecorded: failClosed
        ? ({ handle }, signal) => waitUntilRecorded(directory, handle, waitMs, { signal })
        : null,
      stray: (line) => void io.stderr.write(line),
      say,
    })
    const { why, isFailure } = await proxy.run((downstream) => open(downstream, apiKey), stopped())
    openCalls.close()
    if (!(await sender.close(PROXY_CLOSE_MS_MAX))) sendInBackground(directory, connectionArgs(values))
    if (isFailure) say(why)
    return isFailure ? EXIT.unavailable : EXIT.ok
  },
})

/**
 * Returns a function that opens the upstream server. Throws UsageError unless exactly one of a command and a URL is
 * given.
 */
function openerOf(
  values: Values,
  command: readonly string[],
): (downstream: Downstream, apiKey: string) => Upstream {
  if ((values.upstream === undefined) === (command.length === 0))
    throw new UsageError(
      'say: tallystick mcp-proxy -- COMMAND [ARGS…], or tallystick mcp-proxy --upstream URL',
    )
  const { upstream, header = [] } = values
  if (upstream === undefined) {
    if (header.length > 0) throw new UsageError('--header goes with --upstream')
    return (downstream, apiKey) => {
      const { env, dropped } = environment.forChild(apiKey)
      for (const name of dropped)
        downstream.say(`the server does not get the variable ${name}, because it contains an API key`)
      return openProcess(command, env, downstream)
    }
  }
  const url = parseUrl(upstream)
  if (url === null) throw new UsageError('--upstream takes a URL, such as https://mcp.example/mcp')
  const headers = header.map(parseHeader)
  return (downstream) => openHttp({ url, headers, downstream })
}

/** Returns the URL without its query, which may contain a token. */
function addressOf(upstream: string): string {
  const url = new URL(upstream)
  return `${url.origin}${url.pathname}`
}

/**
 * Parses `NAME: VALUE`. `$NAME` in the value is replaced by an environment variable, for values that no process list
 * should show.
 */
function parseHeader(text: string): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): *(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError("--header takes NAME: VALUE, such as 'Authorization: Bearer $TOKEN'")
  // Other content headers would make the server read another message than the recorded one.
  if (/^(content|transfer)-/i.test(name))
    throw new UsageError(`--header ${name}: the proxy sends the body unchanged, as JSON in UTF-8`)
  return [
    name,
    value.replaceAll(/\$(\w+)/g, (_all, variable: string) => {
      const found = environment.variable(variable)
      if (found === undefined) throw new UsageError(`--header ${name}: the variable ${variable} is not set`)
      return found
    }),
  ]
}

/** Returns the options for the background process that sends the rest. */
function connectionArgs(values: Values): string[] {
  return Object.keys(CONNECTION_OPTIONS).flatMap((name) => {
    const value = values[name as keyof typeof CONNECTION_OPTIONS]
    return value === undefined ? [] : [`--${name}`, value]
  })
}

function stopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
}
