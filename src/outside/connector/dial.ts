import type { LookupAddress } from 'node:dns'
import { type LookupFunction, connect as netConnect, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { type Allowances, classifyAddress } from './allowances.ts'
import { ipOf, portOf } from './check-url.ts'
import { OutboundError, tlsFailed } from './error.ts'
import { OUTBOUND_ADDRESS_ATTEMPT_MS, OUTBOUND_ADDRESSES_MAX, OUTBOUND_CONNECT_MS_MAX } from './limits.ts'
import { isLocalName, type ResolveName } from './resolve-name.ts'

export type Dialling = {
  readonly url: URL
  readonly allowances: Allowances
  readonly allowedOnly: boolean
  readonly resolveName: ResolveName
}

type Dialled = (error: OutboundError | null, socket: Socket | null) => void

/**
 * Opens a connection to an address that is public or allowed. Calls `done` once, unless the returned socket is
 * destroyed earlier.
 *
 * The peer decides what its name resolves to, and its DNS server may return other addresses each time. So the addresses
 * are checked in the DNS lookup of the connection itself, because a second lookup could return other addresses.
 */
export function dial(dialling: Dialling, done: Dialled): Socket {
  const { url, allowances, allowedOnly } = dialling
  const socket = open(url, makeJudgedLookup(dialling))
  let connected = false
  const timer = setTimeout(
    () => socket.destroy(new OutboundError('connect_timeout')),
    OUTBOUND_CONNECT_MS_MAX,
  )
  const fail = (error: Error) => done(explain(error, connected), null)
  socket.once('connect', () => {
    connected = true
    // If the URL contains an IP address, no lookup runs, and only checkOutboundUrl has checked the address. So the
    // address that was reached is checked here again.
    const refusal = addressRefusalOf([socket.remoteAddress ?? ''], allowances, allowedOnly)
    if (refusal !== null) socket.destroy(refusal)
  })
  socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
    if (socket.destroyed) return
    clearTimeout(timer)
    socket.off('error', fail)
    done(null, socket)
  })
  socket.once('error', fail)
  socket.once('close', () => clearTimeout(timer))
  return socket
}

function open(url: URL, lookup: LookupFunction): Socket {
  const ip = ipOf(url.hostname)
  const target = {
    host: ip ?? url.hostname,
    port: portOf(url),
    lookup,
    // Several addresses are tried. Otherwise one unresponsive address would use up the time for all others.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: OUTBOUND_ADDRESS_ATTEMPT_MS,
    noDelay: true,
  }
  if (url.protocol === 'http:') return netConnect(target)
  // An IP address is never a server name (RFC 6066), so no server name is sent. The certificate is then checked against
  // `host`.
  const servername = ip === null ? { servername: url.hostname.replace(/\.$/, '') } : {}
  return tlsConnect({ ...target, ...servername, ALPNProtocols: ['http/1.1'] })
}

function makeJudgedLookup({ allowances, allowedOnly, resolveName }: Dialling): LookupFunction {
  return (name, _options, callback) => {
    // If a local name does not exist, the error is the same as for a refused name. Otherwise tenants could find out
    // which names exist in our network.
    const isLocal = isLocalName(name)
    if (isLocal && allowances.length === 0) return callback(new OutboundError('address_refused'), [])
    resolveName(name).then(
      (addresses) => {
        const ips = addresses.map(({ address }) => address)
        const permitted = addresses.filter(({ address }) => isPermitted(address, allowances, allowedOnly))
        // With autoSelectFamily, Node requests all addresses, and the callback takes a list.
        callback(addressRefusalOf(ips, allowances, allowedOnly), spread(permitted))
      },
      () => callback(new OutboundError(isLocal ? 'address_refused' : 'dns_failed'), []),
    )
  }
}

/**
 * Sorts addresses so that IPv6 and IPv4 alternate (RFC 8305). Starts with the family of the resolver's first address.
 */
function spread(addresses: readonly LookupAddress[]): LookupAddress[] {
  const first = addresses.filter(({ family }) => family === addresses[0]?.family)
  const others = addresses.filter(({ family }) => family !== addresses[0]?.family)
  return first
    .flatMap((address, index) => [address, ...others.slice(index, index + 1)])
    .concat(others.slice(first.length))
    .slice(0, OUTBOUND_ADDRESSES_MAX)
}

function isPermitted(ip: string, allowances: Allowances, allowedOnly: boolean): boolean {
  const standing = classifyAddress(ip, allowances)
  return standing === 'allowed' || (standing === 'public' && !allowedOnly)
}

/** Returns an error if no address is permitted, or null if at least one address is permitted. */
function addressRefusalOf(
  ips: readonly string[],
  allowances: Allowances,
  allowedOnly: boolean,
): OutboundError | null {
  if (ips.some((ip) => isPermitted(ip, allowances, allowedOnly))) return null
  const reachable = ips.some((ip) => classifyAddress(ip, allowances) !== 'refused')
  return new OutboundError(reachable ? 'insecure' : 'address_refused')
}

/** Converts a failure that occurred before the connection was open or, with TLS, before it was secure. */
function explain(error: Error & { code?: string }, connected: boolean): OutboundError {
  if (error instanceof OutboundError) return error
  if (connected) return tlsFailed(error.code)
  // If several addresses were tried, the AggregateError has an error for each attempt.
  const errors: readonly { code?: string }[] = error instanceof AggregateError ? error.errors : [error]
  return errors.some(({ code }) => code === 'ETIMEDOUT')
    ? new OutboundError('connect_timeout')
    : new OutboundError('connect_failed', errors[0]?.code ?? null)
}
