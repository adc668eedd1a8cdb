import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type Address, isIn, isPublicAddress, type Range } from './public-addresses.ts'

/** Ranges of addresses that the operator allows in addition to public addresses (TALLYSTICK_OUTBOUND_ALLOW). */
export type Allowances = readonly Range[]

/**
 * Class of an address.
 *
 * - `public`: globally routable unicast.
 * - `allowed`: an allowance contains the address, whether the address is public or not.
 * - `refused`: the address is neither public nor allowed.
 */
type AddressClass = 'public' | 'allowed' | 'refused'

/**
 * Parses addresses and ranges in CIDR notation, separated by commas. Throws an Error that names the first invalid one.
 */
export function parseAllowances(text: string): Allowances {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map(parseAllowance)
}

function parseAllowance(item: string): Range {
  const [, ip = '', prefix] = /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(item) ?? []
  if (isIP(ip) === 0) throw new Error(`${item} is neither an IP address nor a range like 10.0.0.0/8`)
  const address = parseAddress(ip)
  const bitsMax = address.kind() === 'ipv4' ? 32 : 128
  const bits = prefix === undefined ? bitsMax : Number(prefix)
  if (bits > bitsMax) throw new Error(`${item}: the prefix has at most ${bitsMax} bits`)
  if (findAddress(ip)?.kind() !== address.kind()) throw new Error(`${item}: write it as IPv4`)
  const network = networkOf(address, bits)
  // Such a range is refused, because it is ambiguous: 10.1.2.3/8 can mean one address, or all 16 million addresses of
  // 10.0.0.0/8.
  if (network.toNormalizedString() !== address.toNormalizedString()) {
    throw new Error(`${item} is inside a range: write ${network.toString()}/${bits} or one address`)
  }
  return [network, bits]
}

function networkOf(address: Address, prefixBits: number): Address {
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  return kind.networkAddressFromCIDR(`${address.toNormalizedString()}/${prefixBits}`)
}

/** Classifies an IP address in the form in which resolvers and sockets write it. Any other text is `refused`. */
export function classifyAddress(ip: string, allowances: Allowances): AddressClass {
  const address = findAddress(ip)
  if (address === null) return 'refused'
  if (allowances.some((range) => isIn(address, range))) return 'allowed'
  return isPublicAddress(address) ? 'public' : 'refused'
}

/**
 * Returns true if the address is not public. Such an address can be reached only through an allowance, and its answers
 * are not shown to the tenant.
 */
export function isPrivateAddress(ip: string): boolean {
  const address = findAddress(ip)
  return address === null || !isPublicAddress(address)
}

/**
 * Parses an address. An IPv4-mapped IPv6 address becomes an IPv4 address. Returns null for an address with a zone,
 * because such an address is link-local and never public.
 */
function findAddress(ip: string): Address | null {
  if (isIP(ip) === 0 || ip.includes('%')) return null
  const address = parseAddress(ip)
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/**
 * Parses an IPv6 address with `new URL`, because ipaddr.js parses ::8.8.8.8 wrongly: as ::ffff:8.8.8.8 instead of
 * ::808:808.
 */
function parseAddress(ip: string): Address {
  return ipaddr.parse(isIP(ip) === 4 ? ip : new URL(`http://[${ip}]`).hostname.slice(1, -1))
}
