import type { DeliveryAttempt } from '../sdk/resources/webhooks.ts'

/** Maps an error code to advice, for endpoints that could not be reached. */
const OF_ERROR: Readonly<Record<string, string>> = {
  url_refused: 'give the webhook a valid URL: tallystick webhooks update',
  address_refused:
    'give the receiver a public address, or ask the operator of the server to allow this one (TALLYSTICK_OUTBOUND_ALLOW)',
  insecure: 'use https:, or ask the operator of the server to allow the address (TALLYSTICK_OUTBOUND_ALLOW)',
  dns_failed: 'check the host name in its URL: it was not found',
  connect_failed: 'is the receiver running, and can the server reach its port through every firewall?',
  connect_timeout: 'can the server reach its port through every firewall?',
  tls_failed:
    'its certificate must be valid for its name, complete with its chain, and from a public authority',
  timeout:
    'the receiver must answer within 15 s: let it store the event, answer 2xx, and process the event later',
  reset: 'the receiver, or a proxy in front of it, closed the connection: read its log',
  malformed_answer: 'the answer is not valid HTTP/1.1: check the port',
}

const OF_STATUS: Readonly<Record<number, string>> = {
  400: 'the receiver refuses the event: does it use the newest secret (tallystick webhooks rotate-secret makes another), the unchanged body, and a correct clock?',
  401: 'the receiver must accept requests without credentials, and verify their signature',
  403: 'the receiver, or a firewall in front of it, must accept requests without credentials; the receiver verifies their signature',
  404: 'check the path of its URL: tallystick webhooks update',
  405: 'check the path of its URL: it does not accept POST',
  410: 'the receiver wants no more events, so the webhook is disabled. To enable it: tallystick webhooks resume',
  413: 'the receiver must accept larger bodies',
  429: 'the receiver asks for fewer requests: the server pauses for as long as the receiver asks',
}

export function adviceOn({ status, error }: DeliveryAttempt): string {
  const known = status === null ? of(OF_ERROR, error ?? '') : of(OF_STATUS, status)
  if (known !== undefined) return known
  if (status !== null && status >= 300 && status < 400)
    return 'redirects are not followed: give the webhook the address that the redirect leads to (tallystick webhooks update)'
  return 'read the log of the receiver: it must answer 2xx'
}

/** Returns the table's entry for a name that a server sent. Inherited members such as `constructor` are not found. */
function of<T>(table: Readonly<Record<PropertyKey, T>>, name: PropertyKey): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
