import { parseId, type Uuid } from '../../proof/ids.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'

/** A peer with which an entry shares its record. The query of the entries reads these rows too (entries.ts). */
export type ShareColumns = { readonly peerId: Uuid; readonly documents: string }

export function signedShares({ predicate }: ParsedStatement): ShareColumns[] {
  const share = (predicate['share'] ?? []) as readonly { readonly peer: string; readonly documents: string }[]
  return share.map(({ peer, documents }) => ({ peerId: parseId('peer', peer), documents }))
}
