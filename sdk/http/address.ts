import { UsageError } from '../errors.ts'

export type PathParams = Readonly<Record<string, string | number>>
/** Maps names to strings, numbers or booleans. Members that are undefined are left out of the address. */
export type Query = object

/**
 * Returns the URL of an operation, such as `/v1/records/{id}`. The base URL may have a path of its own. Throws
 * UsageError for a path parameter that is missing, empty, `.` or `..`.
 */
export function addressOf(baseUrl: URL, path: string, params: PathParams, query: Query): URL {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = params[name]
    // `.` and `..` are refused, because dots are not escaped and would change the path.
    if (value === undefined || ['', '.', '..'].includes(`${value}`))
      throw new UsageError(`${JSON.stringify(value ?? '')} is not a valid ${name}`)
    return encodeURIComponent(value)
  })
  const url = new URL(baseUrl)
  // The path is assigned, not resolved. A resolved path that begins with two slashes would name another host, which
  // would then get the key.
  url.pathname = baseUrl.pathname.replace(/\/+$/, '') + filled
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.append(name, String(value))
  return url
}

/**
 * Parses the base URL. Throws UsageError if the text is not an http(s) URL, or has a user name, password, query or
 * fragment.
 */
export function parseBaseUrl(text: string): URL {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    // The value is not shown, because users who confuse options put an API key here.
    throw new UsageError("the server's address is not a URL: it must start with http:// or https://")
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new UsageError("the server's address must start with http:// or https://")
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new UsageError(
      "the server's address must not have a user name, password or query; give the API key as `apiKey`",
    )
  return url
}
