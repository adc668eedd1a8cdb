import type { DeliveryAttempt } from '../sdk/resources/webhooks.ts'

/** Advice by error code, for endpoints that could not be reached. */
const OF_ERROR: Readonly<Record<string, string>> = {
  url_refused: 'give it a URL that can be delivered to: tallystick webhooks update',
  address_refused:
    'give it a public address, or ask the operator of the server to allow this one (TALLYSTICK_OUTBOUND_ALLOW)',
  insecure: 'use https:, or ask the operator of the server to allow the address (TALLYSTICK_OUTBOUND_ALLOW)',
  dns_failed: 'check the name in its URL: it was not found',
  connect_failed: 'is the receiver running, and its port reachable from the server, through every firewall?',
  connect_timeout: 'is its port reachable from the server, through every firewall?',
  tls_failed: 'its certificate must be valid, for its name, with the whole chain, and of a public authority',
  timeout: 'the receiver must answer within 15 s: let it keep the event, answer 2xx, and work on it later',
  reset: 'the receiver, or a proxy before it, cut the connection: look at its log',
  malformed_answer: 'what listens there does not speak HTTP/1.1 as it should: check the port',
}

const OF_STATUS: Readonly<Record<number, string>> = {
  400: 'the receiver refuses it: has it the newest secret (tallystick webhooks rotate-secret makes another), the body as it came, and a right clock?',
  401: 'the receiver must let requests in without credentials: their signature is what it verifies',
  403: 'the receiver, or a firewall before it, must let requests in without credentials: their signature is what it verifies',
  404: 'check the path of its URL: tallystick webhooks update',
  405: 'check the path of its URL: it takes no POST',
  410: 'the receiver wants no more, and the webhook is disabled: when that is mended, tallystick webhooks resume',
  413: 'the receiver must take larger bodies',
  429: 'the receiver asks for fewer requests: it is left alone for as long as it says',
}

export function adviceOn({ status, error }: DeliveryAttempt): string {
  const known = status === null ? of(OF_ERROR, error ?? '') : of(OF_STATUS, status)
  if (known !== undefined) return known
  if (status !== null && status >= 300 && status < 400)
    return 'redirects are not followed: give it the address that this one leads to (tallystick webhooks update)'
  return 'look at the log of the receiver: it must answer 2xx'
}

/** Looks up a name that a server sent, without finding inherited members. */
function of<T>(table: Readonly<Record<PropertyKey, T>>, name: PropertyKey): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
