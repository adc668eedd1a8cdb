/** What a status means if the answer has no problem document, because a proxy or another server answered. */
export type StatusMeaning = {
  /** True if the state is temporary. The caller can then retry with the same key. */
  readonly passing: boolean
  /** True if the status proves that the server never got the whole request. */
  readonly nothingDone: boolean
  /** Advice for the error's text, which says what to check. */
  readonly advice: string
}

/**
 * Statuses by which any server or proxy refuses to accept a request (RFC 9110 §15.5 and §15.6, 6585, 8470). 400, 401,
 * 403, 404 and 406 prove nothing, because firewalls also send them in place of an answer. 503 proves nothing either.
 */
const NOTHING_DONE: ReadonlySet<number> = new Set([
  407, 411, 413, 414, 415, 417, 421, 425, 426, 428, 429, 431, 505, 511,
])
/** Temporary statuses from 400 to 499. nginx answers 499 if its client closed the connection. */
const PASSING_4XX: ReadonlySet<number> = new Set([408, 425, 429, 499])
/** Lasting statuses from 500 on. If the same request is repeated, it gets the same status. */
const LASTING_5XX: ReadonlySet<number> = new Set([501, 505, 510, 511])

const CHECK_ADDRESS = 'check that the address is that of a Tallystick server'
const LIMIT_OF_HEADERS = 'raise the limit of the proxy for addresses and headers'
const FIREWALL = `a firewall or a login page in front of the server may have refused it; otherwise ${CHECK_ADDRESS}`
const ADVICE: Readonly<Record<number, string>> = {
  401: FIREWALL,
  403: FIREWALL,
  406: FIREWALL,
  407: 'the proxy requires authentication: configure it in the client that connects to the proxy',
  413: 'a proxy limits the size of requests: raise its limit for bodies (client_max_body_size of nginx), or send less at once',
  414: LIMIT_OF_HEADERS,
  431: LIMIT_OF_HEADERS,
  511: 'the network requires a login first',
}

/**
 * Returns the meaning of a status. An unknown status counts as the first status of its class, and a status outside
 * all classes as 500 (RFC 9110 §15).
 */
export function meaningOf(status: number): StatusMeaning {
  const isServerError = status >= 500 || status < 100
  const passing = PASSING_4XX.has(status) || (isServerError && !LASTING_5XX.has(status))
  const fallback = passing ? 'check whether the server runs, and check the proxy' : CHECK_ADDRESS
  return { passing, nothingDone: NOTHING_DONE.has(status), advice: ADVICE[status] ?? fallback }
}
