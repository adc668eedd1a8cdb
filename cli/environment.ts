import { homedir } from 'node:os'
import { join } from 'node:path'

/** The only place of the command line tool that reads the environment. */
export const environment = {
  apiKey: (): string | undefined => process.env['TALLYSTICK_API_KEY'],
  databaseUrl: (): string | undefined => process.env['DATABASE_URL'],
  /** XDG base directory specification: an empty variable counts as unset. */
  configDirectory: (): string =>
    join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'tallystick'),
}
