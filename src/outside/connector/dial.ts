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
  /** Whether only allowed addresses will do. */
  readonly allowedOnly: boolean
  readonly resolveName: ResolveName
}

type Dialled = (error: OutboundError | null, socket: Socket | null) => void

/**
 * Opens a connection to an address that is public or allowed; calls back once, unless the returned socket is destroyed
 * before. The peer decides what its name resolves to, each time anew: so the addresses are judged in the look-up of
 * the connection itself, and there is no second one that could say something else.
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
    // For literals there is no look-up; checkOutboundUrl has judged them. In the end the address that was reached
    // counts.
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
    // One unresponsive address must not use up the deadline of the others.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: OUTBOUND_ADDRESS_ATTEMPT_MS,
    noDelay: true,
  }
  if (url.protocol === 'http:') return netConnect(target)
  // An address is never a server name (RFC 6066); the certificate is then checked against `host`.
  const servername = ip === null ? { servername: url.hostname.replace(/\.$/, '') } : {}
  return tlsConnect({ ...target, ...servername, ALPNProtocols: ['http/1.1'] })
}

function makeJudgedLookup({ allowances, allowedOnly, resolveName }: Dialling): LookupFunction {
  return (name, _options, callback) => {
    // Tenants could find out name by name what there is around us: one that is not there fails like one that is not allowed.
    const isLocal = isLocalName(name)
    if (isLocal && allowances.length === 0) return callback(new OutboundError('address_refused'), [])
    resolveName(name).then(
      (addresses) => {
        const ips = addresses.map(({ address }) => address)
        const permitted = addresses.filter(({ address }) => isPermitted(address, allowances, allowedOnly))
        // autoSelectFamily asks for all, and takes a list.
        callback(addressRefusalOf(ips, allowances, allowedOnly), spread(permitted))
      },
      () => callback(new OutboundError(isLocal ? 'address_refused' : 'dns_failed'), []),
    )
  }
}

/** The families in turn (RFC 8305), beginning with the one that the resolver put first. */
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

/** null where one of the addresses will do. */
function addressRefusalOf(
  ips: readonly string[],
  allowances: Allowances,
  allowedOnly: boolean,
): OutboundError | null {
  if (ips.some((ip) => isPermitted(ip, allowances, allowedOnly))) return null
  const reachable = ips.some((ip) => classifyAddress(ip, allowances) !== 'refused')
  return new OutboundError(reachable ? 'insecure' : 'address_refused')
}

/** Explains a failure before there was a connection, and with TLS before it was secure. */
function explain(error: Error & { code?: string }, connected: boolean): OutboundError {
  if (error instanceof OutboundError) return error
  if (connected) return tlsFailed(error.code)
  // With several addresses each has an error of its own.
  const errors: readonly { code?: string }[] = error instanceof AggregateError ? error.errors : [error]
  return errors.some(({ code }) => code === 'ETIMEDOUT')
    ? new OutboundError('connect_timeout')
    : new OutboundError('connect_failed', errors[0]?.code ?? null)
}
