type Environment = Readonly<Record<string, string | undefined>>

type TokenRequest = {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly region: string
}

const URLS = ['TALLYSTICK_API_DATABASE_URL', 'TALLYSTICK_WORKER_DATABASE_URL', 'DATABASE_URL'] as const
const PORT_DEFAULT = '5432'

/**
 * Parses the environment of the command that prints a token for use as database password (src/db/connect/passwords.ts).
 * Without PGHOST, as when an operator runs the command by hand, it uses the only database URL of the environment.
 *
 * Postgres accepts a token only for the host name that the token was made for. It refuses a token made for an alias.
 */
export function parseTokenRequest(env: Environment): TokenRequest {
  const login = env['PGHOST'] ? loginOfVariables(env) : loginOfUrl(env)
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || regionOf(login.host)
  if (!region) throw new Error(`set AWS_REGION: the host name ${login.host} does not name its region`)
  return { ...login, region }
}

function loginOfVariables(env: Environment): Omit<TokenRequest, 'region'> {
  const user = env['PGUSER']
  if (!user) throw new Error('set PGUSER too, not only PGHOST: a token is made for a login')
  return { host: env['PGHOST']!, port: Number(env['PGPORT'] || PORT_DEFAULT), user }
}

function loginOfUrl(env: Environment): Omit<TokenRequest, 'region'> {
  const [name, another] = URLS.filter((url) => env[url])
  if (name === undefined)
    throw new Error(`no login is named: set PGHOST and PGUSER, or one of ${URLS.join(', ')}`)
  if (another !== undefined)
    throw new Error(`${name} and ${another} are both set, so the login is not clear: set PGHOST and PGUSER`)
  const url = new URL(env[name]!)
  return {
    host: url.hostname,
    port: Number(url.port || PORT_DEFAULT),
    user: decodeURIComponent(url.username),
  }
}

function regionOf(host: string): string | null {
  return /\.([a-z]{2}(?:-[a-z]+)+-\d)\.rds\.amazonaws\.com(?:\.cn)?$/.exec(host)?.[1] ?? null
}
