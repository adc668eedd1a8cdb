import { UsageError } from './run.ts'

type SharedPeer = { readonly peer: string; readonly documents: 'whole' | 'digests' }

/**
 * Parses `PEER` or `PEER:digests`. Sorts by peer, because the signed list has this order. Throws UsageError for any
 * other text.
 */
export function parseShare(texts: readonly string[], option: string): SharedPeer[] {
  const share = texts.map((text) => {
    const [, peer, documents = 'whole'] = /^(peer_[0-9a-z]{26})(?::(whole|digests))?$/.exec(text) ?? []
    if (peer === undefined)
      throw new UsageError(`${option} takes PEER or PEER:digests; \`tallystick peers list\` shows peers`)
    return { peer, documents: documents as SharedPeer['documents'] }
  })
  return share.sort((a, b) => (a.peer < b.peer ? -1 : 1))
}
