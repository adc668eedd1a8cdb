/** null for what is no URL. Node 20, on which the packed command line runs too, has no `URL.parse`. */
export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Whether it is this machine's: nobody listens on the way there. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}
