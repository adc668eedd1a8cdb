import { homedir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseOptions } from '../src/db/connect/connection.ts'
import { parseDatabaseOptions } from '../src/db/connect/options.ts'
import { warnOfUnknown } from '../src/variables.ts'
import type { S3Settings } from '../src/verify/archive/settings.ts'
import { type ChildEnvironment, childEnvironment } from './child-environment.ts'
import { UsageError } from './run.ts'

/** The command line reads environment variables only here. An empty variable counts as unset. */
export const environment = {
  serverUrl: (): string | undefined => process.env['TALLYSTICK_URL']?.trim() || undefined,
  apiKey: (): string | undefined => process.env['TALLYSTICK_API_KEY']?.trim() || undefined,
  /** Path of the file with the agent's own key. */
  signingKey: (): string | undefined => process.env['TALLYSTICK_SIGNING_KEY'] || undefined,
  operatorKey: (): string | undefined => process.env['TALLYSTICK_OPERATOR_KEY']?.trim() || undefined,
  databaseOptions: (): DatabaseOptions => {
    // The environment with which a password command runs.
    const { options, issues } = parseDatabaseOptions(withOwn('TALLYSTICK_DATABASE_'))
    const [issue] = issues
    if (issue) throw new UsageError(`${issue.path[0]}: ${issue.message}`)
    return options
  },
  /** Settings for archives in S3 buckets. The AWS SDK finds the credentials. */
  s3Settings: (): S3Settings => ({
    endpoint: process.env['TALLYSTICK_ARCHIVE_S3_ENDPOINT'] || null,
    region: process.env['TALLYSTICK_ARCHIVE_S3_REGION'] || null,
    pathStyle: process.env['TALLYSTICK_ARCHIVE_S3_PATH_STYLE'] === 'true',
    lock: null,
  }),
  databaseUrl: (): string | undefined => process.env['DATABASE_URL'],
  replicaUrl: (): string | undefined => process.env['TALLYSTICK_REPLICA_URL'] || undefined,
  /** Data directory of a server on this machine. */
  dataDirectory: (): string | undefined => process.env['TALLYSTICK_DATA'] || undefined,
  /**
   * Environment for another vendor's program, without keys. `apiKey`: the key in use. It is removed too, because it may
   * come from an option or a file.
   */
  forChild: (apiKey: string): ChildEnvironment =>
    childEnvironment(
      process.env,
      [apiKey, environment.apiKey(), environment.operatorKey()].filter((key) => key !== undefined),
    ),
  /**
   * Environment for another process of this command. That process finds the key in the same way as the current process.
   */
  forSender: (): NodeJS.ProcessEnv => withOwn('TALLYSTICK_'),
  /** Returns a line for each unknown variable that begins with TALLYSTICK_. */
  warnings: (): string[] => warnOfUnknown(process.env),
  variable: (name: string): string | undefined => process.env[name],
  /** Trace context of the agent that runs this command, or undefined if the agent has set none. */
  traceparent: (): string | undefined => process.env['TRACEPARENT'] || undefined,
  /** Folder in which records of this user's hooks and proxies wait. */
  outboxDirectory: (): string =>
    process.env['TALLYSTICK_SPOOL'] ||
    join(process.env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'tallystick', 'outbox'),
  /** Folder with this user's configuration, at the path of the XDG base directory specification. */
  configDirectory: (): string =>
    join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'tallystick'),
}

/** Returns the environment without keys, but with Tallystick's own variables that have this prefix. */
function withOwn(prefix: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => name.startsWith(prefix))
  return { ...environment.forChild('').env, ...Object.fromEntries(own) }
}
