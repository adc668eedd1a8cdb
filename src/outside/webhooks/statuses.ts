/** Statuses that mean that the receiver is unavailable or overloaded. All other statuses refuse the event. */
const DOWN: ReadonlyMap<number, string> = new Map([
  [408, 'the request did not come to it in time (RFC 9110 §15.5.9)'],
  [429, 'too many requests (RFC 6585)'],
  [502, 'a proxy got no valid answer of it'],
  [503, 'overloaded, or under maintenance'],
  [504, 'a proxy got no answer of it in time'],
  [507, 'it has no room left (RFC 4918)'],
  [509, 'its bandwidth is used up (Apache, cPanel)'],
  // Statuses of a CDN that could not reach the origin. The CDN answers 520 instead of 502.
  [520, 'the origin answered with nothing, or with no HTTP'],
  [521, 'the origin refuses connections'],
  [522, 'the origin does not take connections in time'],
  [523, 'the origin has no route'],
  [524, 'the origin does not answer in time'],
  [525, 'the handshake with the origin failed'],
  [526, 'the certificate of the origin is not valid'],
  [527, 'the connection to the origin broke'],
  [529, 'overloaded'],
  [530, 'the name of the origin does not resolve, or its site is frozen'],
  // Statuses by which some proxies report a failed connection to the server behind them.
  [598, 'no answer was read in time'],
  [599, 'no connection was made in time'],
])

export function isDownStatus(status: number): boolean {
  return DOWN.has(status)
}

/**
 * Returns true if a Retry-After with this status is about the endpoint. With other 4xx statuses the Retry-After is
 * about the event, and events have their own schedule.
 */
export function mayAskForTime(status: number): boolean {
  return status >= 500 || isDownStatus(status)
}
