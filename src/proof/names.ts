import { isLonger } from './bytes.ts'
import { TEXT_BYTES_MAX, URL_BYTES_MAX } from './limits.ts'

/*
 * Checks of text, names of note keys, origins and URLs (docs/formats/rules.md). Producers and verifiers call the same
 * functions.
 */

/**
 * Controls below U+0020, Unicode White_Space, and plus. JavaScript's `\s` is different: it includes U+FEFF and lacks
 * U+0085.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const BARRED = /[\u0000-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000+]/

/**
 * Returns true if a note key may have this name (C2SP signed-note). The name must not be empty. It must not contain
 * white space, controls below U+0020 or a plus.
 */
export function isKeyName(name: string): boolean {
  return name !== '' && !BARRED.test(name) && name.isWellFormed()
}

const CONTROL = /\p{Cc}/u

/**
 * Returns true if `text` is allowed in a signed object. It must have 1 to TEXT_BYTES_MAX bytes and no control
 * characters.
 */
export function isPlainText(text: string): boolean {
  return text !== '' && !CONTROL.test(text) && !isLonger(text, TEXT_BYTES_MAX)
}

/**
 * Returns true if `origin` is `<host>/<ledger>`, plain text, and a valid key name. `ledger`: the ledger's id. The host
 * must not be empty, and is not checked further.
 */
export function isOrigin(origin: string, ledger: string): boolean {
  const host = origin.slice(0, -ledger.length - 1)
  return (
    origin === `${host}/${ledger}` &&
    host !== '' &&
    !host.startsWith('/') &&
    isKeyName(origin) &&
    isPlainText(origin)
  )
}

export const HTTP_URL: RegExp = /^https?:\/\/[!-~]+$/

/**
 * Returns true if `text` is a URL that a chain may name as a peer's address. Whether the server may call this URL is
 * decided elsewhere, by the rules for outgoing calls.
 */
export function isHttpUrl(text: string): boolean {
  return HTTP_URL.test(text) && !isLonger(text, URL_BYTES_MAX)
}
