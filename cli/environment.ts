import { homedir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseOptions } from '../src/db/connect/connection.ts'
import { parseDatabaseOptions } from '../src/db/connect/options.ts'
import { UsageError } from './run.ts'

/** The only place of the command line tool that reads the environment. An empty variable counts as unset. */
export const environment = {
  serverUrl: (): string | undefined => process.env['TALLYSTICK_URL'] || undefined,
  apiKey: (): string | undefined => process.env['TALLYSTICK_API_KEY'] || undefined,
  databaseOptions: (): DatabaseOptions => {
    const { options, issues } = parseDatabaseOptions(process.env)
    const [issue] = issues
    if (issue) throw new UsageError(`${issue.path[0]}: ${issue.message}`)
    return options
  },
  databaseUrl: (): string | undefined => process.env['DATABASE_URL'],
  /** Where a server of this machine keeps its data. */
  dataDirectory: (): string | undefined => process.env['TALLYSTICK_DATA'] || undefined,
  /** XDG base directory specification. */
  configDirectory: (): string =>
    join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'tallystick'),
}
