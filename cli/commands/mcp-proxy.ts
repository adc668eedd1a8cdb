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

Runs between an MCP client and a server, and records every tool call: an action before the call is forwarded, an outcome
after it. The client starts the proxy over stdio, instead of the server. All messages pass byte for byte. Records wait
in the outbox of this user until the server has them. If the proxy is killed during a call, the next sender records the
outcome "unknown".

  --content        store arguments and results, not only their digests, up to ${CONTENT_BYTES_MAX / 1024} KiB each
  --fail-closed    forward a call only when the server has recorded it; after ${FAIL_CLOSED_SECONDS_DEFAULT} s answer it with an error. Unreadable
                   messages are answered with an error too: not JSON, duplicate names, more than ${PROXY_MESSAGE_BYTES_MAX / 1024 ** 2} MiB
  --timeout S      how long --fail-closed waits
  --upstream URL   an MCP server on streamable HTTP, instead of a command
  --header TEXT    a header for that server, such as 'Authorization: Bearer …'. Repeatable; $NAME is an environment
                   variable
  --name NAME      name of the server in the records. Default: the name that the server gives itself
  --spool DIR      the outbox. Default: TALLYSTICK_SPOOL, or ~/.local/state/tallystick/outbox
${CONNECTION_HELP}
  -h, --help

The server gets no variable TALLYSTICK_…, and none that contains the API key.

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
    // Throws immediately if there is no key, because without a key nothing would ever be sent. Clients show the error
    // to their users.
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
 * Returns a function that opens the upstream server. Throws UsageError if neither a command nor a URL is given, or both
 * are.
 */
function openerOf(
  values: Values,
  command: readonly string[],
): (downstream: Downstream, apiKey: string) => Upstream {
  if ((values.upstream === undefined) === (command.length === 0))
    throw new UsageError(
      'usage: tallystick mcp-proxy -- COMMAND [ARGS…], or tallystick mcp-proxy --upstream URL',
    )
  const { upstream, header = [] } = values
  if (upstream === undefined) {
    if (header.length > 0) throw new UsageError('--header can only be used with --upstream')
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
 * Parses `NAME: VALUE`. `$NAME` in the value is replaced by an environment variable, so that secret values do not
 * appear in process lists.
 */
function parseHeader(text: string): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): *(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError("--header takes NAME: VALUE, such as 'Authorization: Bearer $TOKEN'")
  // Other content headers are refused, because with such a header the server could read a message that differs from the
  // recorded message.
  if (/^(content|transfer)-/i.test(name))
    throw new UsageError(
      `--header cannot set ${name}, because the proxy always sends the body unchanged, as JSON in UTF-8`,
    )
  return [
    name,
    value.replaceAll(/\$(\w+)/g, (_all, variable: string) => {
      const found = environment.variable(variable)
      if (found === undefined)
        throw new UsageError(`--header ${name} names the environment variable ${variable}, which is not set`)
      return found
    }),
  ]
}

/** Returns the options for the background process that sends the remaining records. */
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
