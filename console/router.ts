/*
 * Addresses within the console: `#/record/rec_…?peer=…`. They are in the URL's fragment. Therefore the pages work below
 * any path, and no server learns what a reader opens.
 */

export type Route = {
  /** First part of the address. An empty text means the overview. */
  readonly page: string
  /** Second part of the address, such as an id. Empty if there is no second part. */
  readonly id: string
  readonly query: URLSearchParams
}

/** Values by name. Empty values are left out. */
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

/** Decodes a part of the address. A text with a broken escape is returned unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
