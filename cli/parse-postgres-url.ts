import { parseUrl } from './parse-url.ts'
import { UsageError } from './run.ts'

/**
 * Returns the URL if it is a Postgres address. Throws UsageError for any other text. `who`: first words of the error
 * message, which name the setting.
 */
export function parsePostgresUrl(url: string, who: string): string {
  const protocol = parseUrl(url)?.protocol
  if (protocol === 'postgres:' || protocol === 'postgresql:') return url
  throw new UsageError(`${who} an address that starts with postgres:// or postgresql://`)
}
