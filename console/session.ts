import { Tallystick } from '../sdk/client.ts'
import type { GetLedgerAnswer, Scope } from '../sdk/generated/api.ts'

/*
 * The reader's API key: typed in, or brought by the fragment of a link, which no server is sent. It lasts as long as the tab.
 */

const STORED = 'tallystick.apiKey'
const OTHER_KEY = 'This link brings another API key than the one that this tab has. Use the key of the link?'
const FRAGMENT = /^#key=(tly_[\x21-\x7e]{1,256})$/

/** The console's own way to one ledger. */
export type Session = {
  readonly client: Tallystick
  readonly ledger: GetLedgerAnswer
  /** Names of agents by id, as far as they are known. */
  readonly names: ReadonlyMap<string, string>
}

/**
 * The key of this tab; null: none was given. Takes the one in the address out of it, and out of the history. Another key than the one of the
 * tab is asked about first: anybody can make a link, and what its reader then types in would go to the ledger of the link.
 */
export function takeKey(): string | null {
  const [, given] = FRAGMENT.exec(location.hash) ?? []
  const stored = sessionStorage.getItem(STORED)
  if (given === undefined) return stored
  history.replaceState(null, '', `${location.pathname}${location.search}#/`)
  if (stored !== null && stored !== given && !confirm(OTHER_KEY)) return stored
  keepKey(given)
  return given
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
