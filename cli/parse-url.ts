/**
 * Parses a URL. Returns null if the text is not a URL. `URL.parse` is not used, because Node 20, which the packed
 * command line also supports, does not have it.
 */
export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Returns whether the address is on this machine, where nobody on the network can read along. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}
