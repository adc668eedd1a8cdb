export const EVENT_STREAM = 'text/event-stream'

/**
 * Returns true if an Accept header prefers an event stream to JSON (RFC 9110 §12.5.1). A wildcard counts neither for
 * the event stream nor against it.
 */
export function prefersEventStream(accept: string | undefined): boolean {
  const qualities = new Map((accept ?? '').split(',').map(parseRange))
  const stream = qualities.get(EVENT_STREAM) ?? 0
  return stream > 0 && stream > (qualities.get('application/json') ?? 0)
}

/**
 * Returns true if an Accept header names JSON. Used by routes whose default form is not JSON. For a wildcard they send
 * the default form.
 */
export function asksForJson(accept: string | undefined): boolean {
  const qualities = new Map((accept ?? '').split(',').map(parseRange))
  return (qualities.get('application/json') ?? 0) > 0
}

function parseRange(range: string): [mediaType: string, quality: number] {
  const [mediaType, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const q = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = q === undefined ? 1 : Number(q.slice(2))
  return [mediaType!, Number.isNaN(quality) ? 0 : quality]
}
