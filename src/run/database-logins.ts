import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { API_LOGIN, type LoginPasswords, WORKER_LOGIN } from '../db/connect/logins.ts'
import { readPasswordFile } from '../db/connect/passwords.ts'
import type { Config } from './config.ts'
import { getOrMakeSecret } from './local/secrets.ts'

type DatabaseLogins = {
  readonly apiUrl: string
  readonly workerUrl: string
  /** Passwords that migrate sets; null if the URL came from outside, with its own password. */
  readonly passwords: LoginPasswords
  /** Where passwords that were made here are kept; null when none was. */
  readonly file: string | null
  /** `file` was not there: anybody who runs with passwords from before is locked out once these are set. */
  readonly isNew: boolean
  /** They log in with tokens of RDS: migrate lets them. */
  readonly byRdsIam: boolean
}

type LoginConfig = Pick<Config, 'apiUrl' | 'workerUrl' | 'dataDir'> &
  Partial<Pick<Config, 'loginPasswordFiles' | 'loginsByRdsIam'>>

/**
 * The URLs of the two lesser logins: from the configuration, or the owner's URL with other logins. Their passwords: from the URLs,
 * or files of their own; where neither says, they are made once and kept, readable by the owner only, in the data directory.
 */
export function getLogins(config: LoginConfig, ownerUrl: string): DatabaseLogins {
  const given = givenPasswords(config)
  const isKnown = (name: 'api' | 'worker') => config[`${name}Url`] !== null || given[name] !== null
  if (config.loginsByRdsIam || (isKnown('api') && isKnown('worker'))) {
    return {
      apiUrl: config.apiUrl ?? loginUrl(ownerUrl, API_LOGIN, given.api),
      workerUrl: config.workerUrl ?? loginUrl(ownerUrl, WORKER_LOGIN, given.worker),
      passwords: given,
      file: null,
      isNew: false,
      byRdsIam: config.loginsByRdsIam ?? false,
    }
  }
  const file = join(config.dataDir, 'database-logins.json')
  mkdirSync(config.dataDir, { recursive: true, mode: 0o711 })
  let isNew = false
  const text = getOrMakeSecret(file, () => {
    isNew = true
    return JSON.stringify({ api: makePassword(), worker: makePassword() })
  })
  const kept = parsePasswords(text, file)
  return {
    apiUrl: config.apiUrl ?? loginUrl(ownerUrl, API_LOGIN, given.api ?? kept.api),
    workerUrl: config.workerUrl ?? loginUrl(ownerUrl, WORKER_LOGIN, given.worker ?? kept.worker),
    passwords: {
      api: isKnown('api') ? given.api : kept.api,
      worker: isKnown('worker') ? given.worker : kept.worker,
    },
    file,
    isNew,
    byRdsIam: false,
  }
}

/** null: the login's password is somebody else's business, or none. */
function givenPasswords(config: LoginConfig): LoginPasswords {
  const { api, worker } = config.loginPasswordFiles ?? { api: null, worker: null }
  if (config.loginsByRdsIam && (api ?? worker) !== null) {
    throw new Error(
      'TALLYSTICK_DATABASE_LOGINS=rds-iam goes with no password files: RDS takes tokens only, then',
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
    // Not JSON: said below, without the text, which may hold half of a password.
  }
  throw new Error(
    `${file} does not hold the two passwords that migrate made: put it back from a backup; ` +
      'without it, new ones are made, and anybody who has the old ones is locked out',
  )
}

const isPassword = (value: unknown) => typeof value === 'string' && value !== ''

/** Hex, so that it needs no escaping in a URL. */
function makePassword(): string {
  return randomBytes(24).toString('hex')
}

function passwordOf(url: string): string | null {
  return decodeURIComponent(new URL(url).password) || null
}

function loginUrl(ownerUrl: string, login: string, password: string | null): string {
  const url = new URL(ownerUrl)
  url.username = login
  url.password = encodeURIComponent(password ?? '')
  return url.href
}
