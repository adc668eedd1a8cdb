import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { makeDirectory } from '../../sdk/node/make-directory.ts'
import { DEFAULT_LOGINS, type LoginNames, type LoginPasswords, loginUrl } from '../db/connect/logins.ts'
import { DATABASE } from '../db/connect/owner.ts'
import { readPasswordFile } from '../db/connect/passwords.ts'
import type { Config } from './config.ts'
import { getOrMakeSecret } from './local/secrets.ts'

type DatabaseLogins = {
  readonly apiUrl: string
  readonly workerUrl: string
  readonly names: LoginNames
  /** Passwords that `migrate` sets. A password is null if the configured URL contains it. */
  readonly passwords: LoginPasswords
  /** File with generated passwords; null if no passwords were generated. */
  readonly file: string | null
  /**
   * True if `file` was missing, so that its passwords are new. After these passwords are set, processes with older
   * passwords can no longer connect.
   */
  readonly isNew: boolean
  /** True if the logins use RDS tokens. `migrate` then permits RDS tokens for both logins. */
  readonly byRdsIam: boolean
}

type LoginConfig = Pick<Config, 'apiUrl' | 'workerUrl' | 'dataDir'> &
  Partial<Pick<Config, 'loginPasswordFiles' | 'loginsByRdsIam'>>

/**
 * Returns the two restricted logins.
 *
 * Names and addresses come from the configured URLs. Without URLs, the address comes from the owner's URL, and the name
 * depends on the database. Passwords come from the URLs or from password files. If there are none, passwords are
 * generated once and stored in the data folder, readable only by the owner.
 */
export function getLogins(config: LoginConfig, ownerUrl: string): DatabaseLogins {
  const given = configuredPasswords(config)
  const names = {
    api: nameOf(config.apiUrl) ?? defaultName('api', ownerUrl),
    worker: nameOf(config.workerUrl) ?? defaultName('worker', ownerUrl),
  }
  const isKnown = (name: 'api' | 'worker') => config[`${name}Url`] !== null || given[name] !== null
  if (config.loginsByRdsIam || (isKnown('api') && isKnown('worker'))) {
    return {
      apiUrl: config.apiUrl ?? loginUrl(ownerUrl, names.api, given.api),
      workerUrl: config.workerUrl ?? loginUrl(ownerUrl, names.worker, given.worker),
      names,
      passwords: given,
      file: null,
      isNew: false,
      byRdsIam: config.loginsByRdsIam ?? false,
    }
  }
  const file = join(config.dataDir, 'database-logins.json')
  makeDirectory(config.dataDir, 0o711)
  let isNew = false
  const text = getOrMakeSecret(file, () => {
    isNew = true
    return JSON.stringify({ api: makePassword(), worker: makePassword() })
  })
  const kept = parsePasswords(text, file)
  return {
    apiUrl: config.apiUrl ?? loginUrl(ownerUrl, names.api, given.api ?? kept.api),
    workerUrl: config.workerUrl ?? loginUrl(ownerUrl, names.worker, given.worker ?? kept.worker),
    names,
    passwords: {
      api: isKnown('api') ? given.api : kept.api,
      worker: isKnown('worker') ? given.worker : kept.worker,
    },
    file,
    isNew,
    byRdsIam: false,
  }
}

/** Returns the configured passwords. A password is null if it is not configured. */
function configuredPasswords(config: LoginConfig): LoginPasswords {
  const { api, worker } = config.loginPasswordFiles ?? { api: null, worker: null }
  if (config.loginsByRdsIam && (api ?? worker) !== null) {
    throw new Error(
      'with TALLYSTICK_DATABASE_LOGINS=rds-iam RDS accepts only tokens: remove the password files from the configuration',
    )
  }
  const passwordFor = (url: string | null, file: string | null) =>
    file === null ? url && passwordOf(url) : readPasswordFile(file)
  return { api: passwordFor(config.apiUrl, api), worker: passwordFor(config.workerUrl, worker) }
}

function parsePasswords(text: string, file: string): { api: string; worker: string } {
  try {
    const kept = JSON.parse(text) ?? {}
    if (isPassword(kept.api) && isPassword(kept.worker)) return kept
  } catch {
    // The text is not JSON. The error below does not contain the text, because the text may contain a part of a
    // password.
  }
  throw new Error(
    `${file} does not have the two passwords that migrate made: restore it from a backup; ` +
      'without the file new passwords are made, and processes with the old ones are locked out',
  )
}

const isPassword = (value: unknown) => typeof value === 'string' && value !== ''

/** Returns a random password in hex, because hex needs no escaping in a URL. */
function makePassword(): string {
  return randomBytes(24).toString('hex')
}

function passwordOf(url: string): string | null {
  return decodeURIComponent(new URL(url).password) || null
}

function nameOf(url: string | null): string | null {
  return url && decodeURIComponent(new URL(url).username)
}

/** Maximum length of a login's name in bytes. Postgres truncates longer names, so that two names could become equal. */
const NAME_BYTES_MAX = 63
const DIGEST_DIGITS = 16

/**
 * Returns `tallystick_api` or `tallystick_worker`. If the database is not named `tallystick`, its name is appended.
 * Logins belong to the whole Postgres server, and a second deployment in the server must not change the passwords of
 * the first one.
 */
function defaultName(part: keyof LoginNames, ownerUrl: string): string {
  const { pathname, username } = new URL(ownerUrl)
  const database = decodeURIComponent(pathname.slice(1)) || decodeURIComponent(username)
  if (database === DATABASE) return DEFAULT_LOGINS[part]
  const name = `${DEFAULT_LOGINS[part]}_${database}`
  if (Buffer.byteLength(name) <= NAME_BYTES_MAX) return name
  const digest = createHash('sha256').update(database).digest('hex').slice(0, DIGEST_DIGITS)
  return `${DEFAULT_LOGINS[part]}_${digest}`
}
