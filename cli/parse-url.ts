/**
 * Parses a URL. Returns null if the text is not a URL. `URL.parse` is not used, because Node 20 does not have it. The
 * packed command line also supports Node 20.
 */
export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/**
 * Returns whether the address is on this machine. Nobody on the network can read data that is sent to such an address.
 */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}
