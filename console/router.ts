/*
 * Addresses within the console: `#/record/rec_…?peer=…`. Behind the hash, so that the same pages work from any path, and no server
 * sees what a reader looks at.
 */

export type Route = {
  /** First part; empty: the overview. */
  readonly page: string
  /** Second part, such as an id; empty: none. */
  readonly id: string
  readonly query: URLSearchParams
}

/** Names → values; what is empty is left out. */
export type Filters = Readonly<Record<string, string | undefined>>

export function linkTo(page: string, id = '', filters: Filters = {}): string {
  const given = Object.entries(filters).filter((filter): filter is [string, string] => !!filter[1])
  const query = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  return `#/${page}${id && `/${encodeURIComponent(id)}`}${query}`
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const [page = '', id = ''] = path.split('/', 2)
  return { page, id: decode(id), query: new URLSearchParams(query) }
}

/** An address that somebody has cut is no id. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
