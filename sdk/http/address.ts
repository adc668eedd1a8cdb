import { UsageError } from '../errors.ts'

export type PathParams = Readonly<Record<string, string | number>>
/** Names → strings, numbers or booleans; undefined is left out. */
export type Query = object

/** The address of an operation: `/v1/records/{id}` below the server's own address, which may have a path of its own. */
export function addressOf(baseUrl: URL, path: string, params: PathParams, query: Query): URL {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = params[name]
    // Dots are not escaped, and would lead to another address.
    if (value === undefined || ['', '.', '..'].includes(`${value}`))
      throw new UsageError(`${JSON.stringify(value ?? '')} is no ${name}`)
    return encodeURIComponent(value)
  })
  const url = new URL(baseUrl)
  // Set, not resolved: a path that begins with two slashes would be the address of another host, and the key would be
  // sent there.
  url.pathname = baseUrl.pathname.replace(/\/+$/, '') + filled
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.append(name, String(value))
  return url
}

/** Throws UsageError for what is no http(s) address, or would send a secret along with it. */
export function parseBaseUrl(text: string): URL {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    // Not shown: a user who mistook one option for another has put a key there.
    throw new UsageError("the server's address is no URL: it begins with http:// or https://")
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new UsageError("the server's address begins with http:// or https://")
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new UsageError("the server's address has no user name, password or query; the API key is `apiKey`")
  return url
}
