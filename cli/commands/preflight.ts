import { API_VERSION } from '../../sdk/generated/operations.ts'
import { parseBaseUrl } from '../../sdk/http/address.ts'
import { plain } from '../../sdk/plain.ts'
import { translated } from '../../src/verify/postgres-errors.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { environment } from '../environment.ts'
import { EXIT, HELP_EXIT_CODES } from '../exit-codes.ts'
import type { Out } from '../io.ts'
import { jsonLine } from '../output.ts'
import { parsePostgresUrl } from '../parse-postgres-url.ts'
import type { Finding } from '../preflight/finding.ts'
import { PREFLIGHT_GATE_MS_DEFAULT } from '../preflight/limits.ts'
import { isWell, makeReport } from '../preflight/report.ts'
import { asUsage, UsageError } from '../run.ts'

const HELP = `tallystick preflight [--database URL]

Measures the database of a deployment, and says what is wrong with it: how long it takes to answer, to commit and to
flush a commit to its disk; its settings and connections; and the difference of the clocks. Takes about three seconds.
Writes to no table.

  --database URL        the database, with the login of the owner, a server or a worker. Default: the variable
                        DATABASE_URL (not visible in process lists)
  --replica URL         the standby for reads, with the servers' login. Default: the variable TALLYSTICK_REPLICA_URL
  --server URL          also check an API server: whether it is ready, its round trip, version and clock. Needs no key
  --gate-ms MS          highest allowed median of a flush, ${PREFLIGHT_GATE_MS_DEFAULT} by default. Above it the command ends with 1
  --json                one JSON object: docs/operate/settings.md#for-scripts
  -h, --help

Ends with 1 if something fails, with 69 if the database cannot be reached, with 77 if the login is refused.

Examples:
  tallystick preflight --database postgres://tallystick_api@db.example/tallystick
  tallystick preflight --server https://ledger.example --gate-ms 2
  tallystick preflight --json | jq '.flush.p50Ms'

${HELP_EXIT_CODES}`

const OPTIONS = {
  database: { type: 'string' },
  replica: { type: 'string' },
  server: { type: 'string' },
  'gate-ms': { type: 'string' },
  json: { type: 'boolean' },
} as const

type Values = ValuesOf<typeof OPTIONS>

export const preflight = defineCommand({
  help: HELP,
  options: OPTIONS,
  async run(values, positionals, io) {
    noArguments(positionals, 'preflight --database URL')
    const databaseUrl = parseDatabase(values.database ?? environment.databaseUrl())
    const replicaUrl = values.replica ?? environment.replicaUrl()
    if (replicaUrl !== undefined) parsePostgresUrl(replicaUrl, '--replica and TALLYSTICK_REPLICA_URL take')
    const options = parseOptions(values)
    const address = addressOf(databaseUrl)
    // Loaded on demand, because it imports the Postgres client.
    const { Database } = await import('../../src/db/connect/connection.ts')
    const { runPreflight } = await import('../preflight/preflight.ts')
    const database = asUsage(() => new Database(databaseUrl, environment.databaseOptions()))
    const replica =
      replicaUrl === undefined
        ? null
        : {
            database: asUsage(() => new Database(replicaUrl, environment.databaseOptions())),
            address: addressOf(replicaUrl),
          }
    const result = await translated(address, () =>
      runPreflight({ ...options, database, replica, now: Date.now }),
    )
    const report = makeReport(result, { address, gateMs: options.gateMs, at: new Date() })
    if (values.json) io.stdout.write(jsonLine(report, io.stdout))
    else printTable(result.findings, io.stdout)
    return isWell(result.findings) ? EXIT.ok : EXIT.refused
  },
})

const CHECK_WIDTH = 14
const INDENT = ' '.repeat(6 + CHECK_WIDTH + 1)

function printTable(findings: readonly Finding[], out: Out): void {
  for (const { check, status, detail, advice } of findings) {
    const mark = status === 'fail' ? 'FAIL' : status
    out.write(plain(`${mark.padEnd(4)}  ${check.padEnd(CHECK_WIDTH)} ${detail}`))
    out.write(advice === null ? '\n' : `\n${INDENT}→ ${plain(advice)}\n`)
  }
}

function parseDatabase(url: string | undefined): string {
  if (url === undefined || url === '')
    throw new UsageError('no database: add --database URL, or set DATABASE_URL')
  return parsePostgresUrl(url, '--database and DATABASE_URL take')
}

/** Returns the database address without user and password. */
function addressOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `postgres://${host}${pathname}`
}

function parseOptions(values: Values) {
  return {
    gateMs: parseGate(values['gate-ms']),
    server: values.server === undefined ? null : { url: parseBaseUrl(values.server), version: API_VERSION },
  }
}

function parseGate(text: string | undefined): number {
  if (text === undefined) return PREFLIGHT_GATE_MS_DEFAULT
  const ms = Number(text)
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text) && ms > 0) return ms
  throw new UsageError('--gate-ms takes a number of milliseconds, such as 5 or 0.5')
}
