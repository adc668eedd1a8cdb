import type pg from 'pg'
import type { Author } from '../append/entry.ts'
import { readFindKey, readFirstEntries } from '../db/chain/signed-entries.ts'
import { type AdministerDeps, type Administration, administer } from './administration.ts'
import { readDefinition } from './ledger-definition.ts'

type LedgerEntryClaims = Extract<
  Administration,
  { readonly kind: 'retention-set' | 'hold-set' | 'hold-lifted' | 'subject-erased' | 'export-made' }
>
type WithoutSubject<T> = T extends unknown ? Omit<T, 'subject'> : never

/** Appends an entry about the ledger itself. Returns its seq. */
export async function administerLedger(
  deps: AdministerDeps & { readonly readPool: pg.Pool },
  author: Author,
  claims: WithoutSubject<LedgerEntryClaims>,
): Promise<number> {
  const [findKey, [first]] = await Promise.all([
    readFindKey(deps.readPool),
    readFirstEntries(deps.readPool, [author.ledgerId]),
  ])
  const { digest } = readDefinition(author.ledgerId, first!, findKey)
  const subject = { id: author.ledgerId, name: author.ledger, digest }
  const done = await administer(deps, author, { ...claims, subject } as Administration)
  return done.replayed ? done.seq : done.entry.seq
}
