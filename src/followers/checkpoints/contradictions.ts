import { type ContradictionRow, listContradictionRows } from '../../db/chain/closures.ts'
import { readFindKey } from '../../db/chain/signed-entries.ts'
import type { Db } from '../../db/connect/client.ts'
import { toHex } from '../../proof/bytes.ts'
import { type FindKey, verifySignedEntry } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { Kept, KeptCheckpoints } from './kept.ts'

/** A ledger that does not extend the checkpoint that was kept of it: most often it is an older backup of itself. */
export type Contradiction = Kept & {
  /** null: the ledger is gone. */
  readonly found: ContradictionRow['found']
  /** Whether its chain holds a `ledger-restored` entry, signed by us, that says that just this checkpoint was known. */
  readonly isAcknowledged: boolean
  /** Where an entry stands that is said to be that, and is not. */
  readonly refusedSeq: number | null
}

export class ContradictionError extends Error {
  readonly ledger: string

  constructor({ ledger, checkpoint, found }: Contradiction) {
    super(
      `${ledger} contradicts the checkpoint kept outside Postgres: ${describe(checkpoint.size, found)}; no checkpoints until an operator has acknowledged it`,
    )
    this.ledger = ledger
  }
}

function describe(size: number, found: Contradiction['found']): string {
  if (!found) return `it had ${size} entries and is gone`
  return found.size < size
    ? `it had ${size} entries and has fewer now`
    : `its first ${size} entries are not the ones it had`
}

/** Those of `kept` that their ledgers contradict. */
export async function listContradictions(db: Db, kept: readonly Kept[]): Promise<Contradiction[]> {
  const rows = await listContradictionRows(
    db,
    kept.map(({ ledgerId, checkpoint: { size, chain } }) => ({ ledgerId, size, chain })),
  )
  const findKey = rows.some(({ restored }) => restored !== null) ? await readFindKey(db) : () => null
  return rows.map(({ index, found, restored }) => {
    const about = kept[index]!
    const isAcknowledged = restored !== null && acknowledges(restored, about, findKey)
    return { ...about, found, isAcknowledged, refusedSeq: isAcknowledged ? null : (restored?.seq ?? null) }
  })
}

/**
 * The newest note that was kept of the ledger, which it must extend; null where there is none, and where the operator has
 * acknowledged that it does not: it stays the newest until the next checkpoint is published.
 */
export async function findBindingNote(
  db: Db,
  kept: Pick<KeptCheckpoints, 'findNote'>,
  ledgerId: Uuid,
): Promise<string | null> {
  const ledger = formatId('led', ledgerId)
  const note = await kept.findNote(ledger)
  if (note === null) return null
  const { checkpoint } = parseCheckpoint(note)
  const [contradiction] = await listContradictions(db, [{ ledger, ledgerId, checkpoint }])
  return contradiction?.isAcknowledged ? null : note
}

type SignedHead = { size: number; chain: string }

/**
 * The row that names the entry, and the entry itself, can be made with the API's login; the signature can't. But a thief
 * can put an acknowledgement of another time here once more, so it must be of just this.
 */
function acknowledges(
  { seq, entry, chainBefore }: NonNullable<ContradictionRow['restored']>,
  { ledger, checkpoint }: Kept,
  findKey: FindKey,
): boolean {
  try {
    const { statement } = verifySignedEntry(entry, findKey, nativeProviders)
    if (statement.kind !== 'ledger-restored' || statement.ledger !== ledger) return false
    const { known, found } = statement.predicate as Record<'known' | 'found', SignedHead>
    return (
      known.size === checkpoint.size &&
      known.chain === toHex(checkpoint.chain) &&
      found.size === seq &&
      found.chain === toHex(chainBefore)
    )
  } catch (error) {
    if (error instanceof ProofError) return false
    throw error
  }
}
