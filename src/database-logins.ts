import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { API_LOGIN, type LoginPasswords, WORKER_LOGIN } from './db/logins.ts'
import { getOrMakeSecret } from './local/secrets.ts'

type DatabaseLogins = {
  readonly apiUrl: string
  readonly workerUrl: string
  /** What migrate sets; null where the URL came from outside, with whatever password it has. */
  readonly passwords: LoginPasswords
  /** Where passwords that were made here are kept; null when none was. */
  readonly file: string | null
  /** `file` was not there: whoever runs with passwords from before is locked out once these are set. */
  readonly isNew: boolean
}

/**
 * The URLs of the two lesser logins: from the configuration, or the owner's URL with passwords that are made
 * once and kept, readable by the owner only, in the data directory.
 */
export function getLogins(
  config: Pick<Config, 'apiUrl' | 'workerUrl' | 'dataDir'>,
  ownerUrl: string,
): DatabaseLogins {
  if (config.apiUrl && config.workerUrl) {
    return {
      apiUrl: config.apiUrl,
      workerUrl: config.workerUrl,
      passwords: { api: passwordOf(config.apiUrl), worker: passwordOf(config.workerUrl) },
      file: null,
      isNew: false,
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
    apiUrl: config.apiUrl ?? loginUrl(ownerUrl, API_LOGIN, kept.api),
    workerUrl: config.workerUrl ?? loginUrl(ownerUrl, WORKER_LOGIN, kept.worker),
    passwords: {
      api: config.apiUrl ? passwordOf(config.apiUrl) : kept.api,
      worker: config.workerUrl ? passwordOf(config.workerUrl) : kept.worker,
    },
    file,
    isNew,
  }
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
      'without it, new ones are made, and whoever has the old ones is locked out',
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

function loginUrl(ownerUrl: string, login: string, password: string): string {
  const url = new URL(ownerUrl)
  url.username = login
  url.password = password
  return url.href
}
