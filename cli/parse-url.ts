/**
 * Parses a URL. null: the text is not one. Node 20, which the packed command line also supports, has no `URL.parse`.
 */
export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Returns whether the address is this machine's, so that nobody can listen on the way. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}
