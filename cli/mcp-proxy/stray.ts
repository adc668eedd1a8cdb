import { quoted } from '../../src/proof/quoted.ts'
import { PROXY_STRAY_CHARS_MAX } from './limits.ts'

/** Quotes a server's text for a log line or an error, cut to PROXY_STRAY_CHARS_MAX. */
export function strayText(text: string): string {
  const isLong = text.length > PROXY_STRAY_CHARS_MAX
  return `${quoted(isLong ? text.slice(0, PROXY_STRAY_CHARS_MAX) : text)}${isLong ? ' …' : ''}`
}
