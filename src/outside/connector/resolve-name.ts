import { promises as dns, type LookupAddress } from 'node:dns'
import { OUTBOUND_NAME_QUERY_MS, OUTBOUND_NAME_QUERY_TRIES } from './limits.ts'

/** The addresses of a host name, best first; rejects where there is none. */
export type ResolveName = (name: string) => Promise<readonly LookupAddress[]>

const LOCAL_NAME = /^[^.]+$|(^|\.)(home\.arpa|internal|lan|local|localhost|test)$/

/** Whether the name cannot be delegated to a stranger's name server: a host of this machine, its network or its cluster. */
export function isLocalName(name: string): boolean {
  return LOCAL_NAME.test(withoutRoot(name))
}

/**
 * Local names are for the system: its hosts file, its search domains. All others are asked for with a resolver of our
 * own, because `dns.lookup` does two look-ups at a time for the whole process (libuv: half of its threads), and anybody who
 * has a name server that never answers would hold both for ten seconds per name: nobody else's name would be resolved.
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
