import { Tallystick } from '../sdk/client.ts'
import type { GetLedgerAnswer, Scope } from '../sdk/generated/api.ts'

/*
 * The reader's API key. The reader types it, or it comes from the fragment of a link, which no server gets. It lasts as
 * long as the tab.
 */

const STORED = 'tallystick.apiKey'
const OTHER_KEY = 'This link contains another API key than this tab uses. Use the key of the link?'
const FRAGMENT = /^#key=(tly_[\x21-\x7e]{1,256})$/

export type Session = {
  readonly client: Tallystick
  readonly ledger: GetLedgerAnswer
  /** Maps an agent's id to its name, for agents whose name is known. */
  readonly names: ReadonlyMap<string, string>
}

/**
 * Returns the key of this tab, or null if there is no key. If the address contains a key, removes it from the address
 * and the history. Asks the reader before that key replaces the tab's key. Anybody can make such a link, and what the
 * reader types later would go to the ledger of the link.
 */
export function takeKey(): string | null {
  const [, given] = FRAGMENT.exec(location.hash) ?? []
  const stored = sessionStorage.getItem(STORED)
  if (given === undefined) return stored
  history.replaceState(null, '', `${location.pathname}${location.search}#/`)
  if (stored !== null && stored !== given && !confirm(OTHER_KEY)) return stored
  storeKey(given)
  return given
}

export function storeKey(key: string): void {
  sessionStorage.setItem(STORED, key)
}

export function forgetKey(): void {
  sessionStorage.removeItem(STORED)
}

/** Returns whether a text can be an API key. Some other texts cannot even be sent in a header. */
export function isKey(text: string): boolean {
  return /^tly_[\x21-\x7e]{1,256}$/.test(text)
}

/**
 * Returns a client. The API is one level above the console, under any path that a proxy uses for both. `apiKey`: must
 * satisfy `isKey`.
 */
export function connect(apiKey: string): Tallystick {
  const { pathname } = new URL('../', location.href)
  return new Tallystick({ baseUrl: location.origin + pathname, apiKey, retries: { retriesMax: 2 } })
}

export function has({ ledger }: Session, scope: Scope): boolean {
  return ledger.key.scopes.includes(scope)
}
