import { promises as dns, type LookupAddress } from 'node:dns'
import { OUTBOUND_NAME_QUERY_MS, OUTBOUND_NAME_QUERY_TRIES } from './limits.ts'

/** Resolves a host name to its addresses, best first. Rejects if there are no addresses. */
export type ResolveName = (name: string) => Promise<readonly LookupAddress[]>

const LOCAL_NAME = /^[^.]+$|(^|\.)(home\.arpa|internal|lan|local|localhost|test)$/

/**
 * Returns true for a name of this machine, its network or its cluster. No public name server can answer for such a
 * name.
 */
export function isLocalName(name: string): boolean {
  return LOCAL_NAME.test(withoutRoot(name))
}

/**
 * Makes a resolver of host names. The operating system resolves local names, because it knows the hosts file and the
 * search domains. `resolver` resolves all other names.
 *
 * `dns.lookup` is not used for other names: it runs only two lookups at a time for the whole process (libuv gives it
 * half of its threads). A tenant whose name server never answers could block both lookups for ten seconds per name. No
 * other name would resolve meanwhile.
 */
export function makeResolveName(resolver = makeResolver()): ResolveName {
  return async (name) => {
    const bare = withoutRoot(name)
    if (isLocalName(name)) return await dns.lookup(name, { all: true, order: 'verbatim' })
    const [six, four] = await Promise.allSettled([resolver.resolve6(bare), resolver.resolve4(bare)])
    const addresses = [...addressesOf(six, 6), ...addressesOf(four, 4)]
    if (addresses.length === 0) throw new Error('it has no address')
    return addresses
  }
}

function makeResolver(): dns.Resolver {
  return new dns.Resolver({ timeout: OUTBOUND_NAME_QUERY_MS, tries: OUTBOUND_NAME_QUERY_TRIES })
}

function withoutRoot(name: string): string {
  return name.replace(/\.$/, '')
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === 'rejected' ? [] : answer.value.map((address) => ({ address, family }))
}
