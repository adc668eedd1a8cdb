import { parseUrl } from './parse-url.ts'
import { UsageError } from './run.ts'

/** The address of a Postgres. `who`: what takes it, for the error. Throws UsageError. */
export function parsePostgresUrl(url: string, who: string): string {
  const protocol = parseUrl(url)?.protocol
  if (protocol === 'postgres:' || protocol === 'postgresql:') return url
  throw new UsageError(`${who} an address that begins with postgres:// or postgresql://`)
}
