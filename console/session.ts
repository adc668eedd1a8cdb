import { Tallystick } from '../sdk/client.ts'
import type { GetLedgerAnswer, Scope } from '../sdk/generated/api.ts'

/*
 * The reader's API key: typed in, or brought by the fragment of a link, which no server is sent. It lasts as long as the tab.
 */

const STORED = 'tallystick.apiKey'
const FRAGMENT = /^#key=(tly_[\x21-\x7e]{1,256})$/

/** The console's own way to one ledger. */
export type Session = {
  readonly client: Tallystick
  readonly ledger: GetLedgerAnswer
  /** Names of agents by id, as far as they are known. */
  readonly names: ReadonlyMap<string, string>
}

/** `key`: of this tab; null: none was given. `offered`: another one, which a link has brought: the reader is asked, or a stranger's link could show another ledger. */
export type Keys = { readonly key: string | null; readonly offered: string | null }

/** Takes the key in the address out of it, and out of the history. */
export function takeKeys(): Keys {
  const key = sessionStorage.getItem(STORED)
  const [, given] = FRAGMENT.exec(location.hash) ?? []
  if (given === undefined) return { key, offered: null }
  history.replaceState(null, '', `${location.pathname}${location.search}#/`)
  if (key !== null && key !== given) return { key, offered: given }
  keepKey(given)
  return { key: given, offered: null }
}

export function keepKey(key: string): void {
  sessionStorage.setItem(STORED, key)
}

export function forgetKey(): void {
  sessionStorage.removeItem(STORED)
}

/** Whether a text can be an API key: others could not even be sent. */
export function isKey(text: string): boolean {
  return /^tly_[\x21-\x7e]{1,256}$/.test(text)
}

/** The API is one level above the console, wherever a proxy has put both. `apiKey`: `isKey`. */
export function connect(apiKey: string): Tallystick {
  const { pathname } = new URL('../', location.href)
  return new Tallystick({ baseUrl: location.origin + pathname, apiKey, retries: { retriesMax: 2 } })
}

export function has({ ledger }: Session, scope: Scope): boolean {
  return ledger.key.scopes.includes(scope)
}
