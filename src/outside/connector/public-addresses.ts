import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6
export type Range = readonly [network: Address, prefixBits: number]

/**
 * IANA's registry of special-purpose IPv4 addresses. The list is complete, so that it can be compared with the
 * registry. A few of the ranges are globally reachable (AS112, AMT); they are listed too, because nobody receives
 * deliveries there.
 */
const IPV4_SPECIAL = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carriers' address translation; cloud providers have services here
  '127.0.0.0/8',
  '168.63.129.16/32', // looks public, but in Azure it is the host of the virtual machine
  '169.254.0.0/16', // link-local: the metadata services of clouds
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays, deprecated
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
].map(rangeOf)

/**
 * The range of IPv6 that is assigned to networks. All other IPv6 addresses count as not public, even if they are
 * assigned later.
 */
const IPV6_GLOBAL = rangeOf('2000::/3')

const IPV6_SPECIAL = [
  '2001::/23', // protocol assignments, among them Teredo, benchmarks and ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: each address contains an IPv4 address; no relay operates any more
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
].map(rangeOf)

/**
 * NAT64 addresses. Each contains an IPv4 address, to which a translator sends the packets. So that IPv4 address decides
 * whether the address is public.
 */
const NAT64 = rangeOf('64:ff9b::/96')

/** Returns true if the address belongs to the public internet, not to this machine, its network or its cloud. */
export function isPublicAddress(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return !IPV4_SPECIAL.some((range) => isIn(address, range))
  if (isIn(address, NAT64)) return isPublicAddress(new ipaddr.IPv4(address.toByteArray().slice(12)))
  return isIn(address, IPV6_GLOBAL) && !IPV6_SPECIAL.some((range) => isIn(address, range))
}

export function isIn(address: Address, [network, prefixBits]: Range): boolean {
  return address.kind() === network.kind() && address.match(network, prefixBits)
}

function rangeOf(text: string): Range {
  return ipaddr.parseCIDR(text)
}
