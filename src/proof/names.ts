import { isLonger } from './bytes.ts'
import { TEXT_BYTES_MAX, URL_BYTES_MAX } from './limits.ts'

/* Text, names of note keys, origins and URLs (docs/formats/rules.md): one function each, for all who take or make them. */

/** Controls below U+0020, White_Space of Unicode (JavaScript's `\s` has U+FEFF besides, and lacks U+0085), and plus. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const BARRED = /[\u0000-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000+]/

/** Whether a key of a note may have this name (C2SP signed-note): not empty, no white space, no control below U+0020, no plus. */
export function isKeyName(name: string): boolean {
  return name !== '' && !BARRED.test(name) && name.isWellFormed()
}

const CONTROL = /\p{Cc}/u

/** Whether it is text of a signed object: 1 to TEXT_BYTES_MAX bytes, without control characters. */
export function isPlainText(text: string): boolean {
  return text !== '' && !CONTROL.test(text) && !isLonger(text, TEXT_BYTES_MAX)
}

/** Whether it is `<host>/<ledger>`, text, and the name of a note key. `ledger`: its id. The host is not looked at, but it is there. */
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

/** Whether it is the URL of a peer in the form that a chain holds. Whether it may be called is another question. */
export function isHttpUrl(text: string): boolean {
  return HTTP_URL.test(text) && !isLonger(text, URL_BYTES_MAX)
}
