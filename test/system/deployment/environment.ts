import { bareEnvironment } from '../../helpers/bare-environment.ts'

export const OPERATOR_KEY = `tlo_${'f'.repeat(40)}`
export const MASTER_KEY = new Uint8Array(32).fill(9)

export type Logins = { readonly apiUrl: string; readonly workerUrl: string }

/** Takes the URL of the database owner's login. Returns the URLs of the servers' login and of the workers' login. */
export function loginsOf(
  ownerUrl: string,
  passwords: { readonly api: string; readonly worker: string },
): Logins {
  const urlAs = (username: string, password: string) =>
    Object.assign(new URL(ownerUrl), { username, password }).href
  return {
    apiUrl: urlAs('tallystick_api', passwords.api),
    workerUrl: urlAs('tallystick_worker', passwords.worker),
  }
}

/** Returns the whole environment of a tested server and its worker. `more` overrides it. */
export function environmentOf(
  of: Logins & {
    readonly dataDir: string
    readonly masterKey?: Uint8Array
    readonly operatorKey?: string
  },
  more: NodeJS.ProcessEnv = {},
): NodeJS.ProcessEnv {
  return {
    ...bareEnvironment(),
    TALLYSTICK_API_DATABASE_URL: of.apiUrl,
    TALLYSTICK_WORKER_DATABASE_URL: of.workerUrl,
    TALLYSTICK_MASTER_KEY: Buffer.from(of.masterKey ?? MASTER_KEY).toString('hex'),
    TALLYSTICK_OPERATOR_KEY: of.operatorKey ?? OPERATOR_KEY,
    TALLYSTICK_DATA: of.dataDir,
    TALLYSTICK_HOST: '127.0.0.1',
    TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8',
    TALLYSTICK_LOG_LEVEL: 'info',
    ...more,
  }
}
