import { homedir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseOptions } from '../src/db/connect/connection.ts'
import { parseDatabaseOptions } from '../src/db/connect/options.ts'
import { warnOfUnknown } from '../src/variables.ts'
import type { S3Settings } from '../src/verify/archive/settings.ts'
import { type ChildEnvironment, childEnvironment } from './child-environment.ts'
import { UsageError } from './run.ts'

/** The only place of the command line tool that reads the environment. An empty variable counts as unset. */
export const environment = {
  serverUrl: (): string | undefined => process.env['TALLYSTICK_URL']?.trim() || undefined,
  apiKey: (): string | undefined => process.env['TALLYSTICK_API_KEY']?.trim() || undefined,
  /** The file of the agent's own key. */
  signingKey: (): string | undefined => process.env['TALLYSTICK_SIGNING_KEY'] || undefined,
  operatorKey: (): string | undefined => process.env['TALLYSTICK_OPERATOR_KEY']?.trim() || undefined,
  databaseOptions: (): DatabaseOptions => {
    // A password command runs with what it finds here.
    const { options, issues } = parseDatabaseOptions(withOwn('TALLYSTICK_DATABASE_'))
    const [issue] = issues
    if (issue) throw new UsageError(`${issue.path[0]}: ${issue.message}`)
    return options
  },
  /** Where archives in buckets are; credentials are found by the AWS SDK. */
  s3Settings: (): S3Settings => ({
    endpoint: process.env['TALLYSTICK_ARCHIVE_S3_ENDPOINT'] || null,
    region: process.env['TALLYSTICK_ARCHIVE_S3_REGION'] || null,
    pathStyle: process.env['TALLYSTICK_ARCHIVE_S3_PATH_STYLE'] === 'true',
    lock: null,
  }),
  databaseUrl: (): string | undefined => process.env['DATABASE_URL'],
  replicaUrl: (): string | undefined => process.env['TALLYSTICK_REPLICA_URL'] || undefined,
  /** Where a server of this machine keeps its data. */
  dataDirectory: (): string | undefined => process.env['TALLYSTICK_DATA'] || undefined,
  /** For another vendor's program: without our keys. `apiKey`: the key in use, which may not come from the environment. */
  forChild: (apiKey: string): ChildEnvironment =>
    childEnvironment(
      process.env,
      [apiKey, environment.apiKey(), environment.operatorKey()].filter((key) => key !== undefined),
    ),
  /** For another process of this command, which finds the key in the same place as this process. */
  forSender: (): NodeJS.ProcessEnv => withOwn('TALLYSTICK_'),
  /** Returns a line for each unknown variable that begins with TALLYSTICK_. */
  warnings: (): string[] => warnOfUnknown(process.env),
  variable: (name: string): string | undefined => process.env[name],
  /** Trace context of the agent that runs this command, if it has one. */
  traceparent: (): string | undefined => process.env['TRACEPARENT'] || undefined,
  /** Where records wait that hooks and proxies of this user have made. */
  outboxDirectory: (): string =>
    process.env['TALLYSTICK_SPOOL'] ||
    join(process.env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'tallystick', 'outbox'),
  /** XDG base directory specification. */
  configDirectory: (): string =>
    join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'tallystick'),
}

/** The environment without keys, but with variables of our own that begin so. */
function withOwn(prefix: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => name.startsWith(prefix))
  return { ...environment.forChild('').env, ...Object.fromEntries(own) }
}
