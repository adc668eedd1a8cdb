/**
 * Parses a Retry-After header (RFC 9110, section 10.2.3): seconds, or a date. null for anything else. The peer may ask for any
 * number of years: the caller MUST bound it.
 */
export function parseRetryAfterMs(header: string | string[] | undefined, nowMs: number): number | null {
  if (typeof header !== 'string') return null
  if (/^-?\d{1,12}$/.test(header)) return Math.max(0, Number(header) * 1_000)
  // Only the form that is to be sent: `Date.parse` takes much more for a date.
  if (!HTTP_DATE.test(header)) return null
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs)
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
