import { type ContradictionRow, listContradictionRows } from '../../db/chain/closures.ts'
import { readFindKey } from '../../db/chain/signed-entries.ts'
import type { Db } from '../../db/connect/client.ts'
import { toHex } from '../../proof/bytes.ts'
import { type FindKey, verifySignedEntry } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { StoredCheckpoint, StoredCheckpoints } from './stored-checkpoints.ts'

/** A stored checkpoint, and a ledger that does not extend it. In most cases the database is an older backup. */
export type Contradiction = StoredCheckpoint & {
  /** The ledger as it is in the database. null if the ledger is missing. */
  readonly found: ContradictionRow['current']
  /**
   * True if the ledger has a `ledger-restored` entry that a key of this deployment signed, and that names exactly this
   * checkpoint.
   */
  readonly isAcknowledged: boolean
  /**
   * Seq of an entry that claims to acknowledge this contradiction but is not a valid acknowledgement. null if there is
   * no such entry.
   */
  readonly refusedSeq: number | null
}

export class ContradictionError extends Error {
  readonly ledger: string

  constructor({ ledger, checkpoint, found }: Contradiction) {
    super(
      `${ledger} contradicts the checkpoint stored outside Postgres: ${describe(checkpoint.size, found)}; it gets no checkpoints until an operator acknowledges this`,
    )
    this.ledger = ledger
  }
}

function describe(size: number, found: Contradiction['found']): string {
  if (!found) return `it had ${size} entries and is gone`
  return found.size < size
    ? `it had ${size} entries and has fewer now`
    : `its first ${size} entries differ from before`
}

/** Returns the checkpoints that their ledgers do not extend. */
export async function listContradictions(
  db: Db,
  checkpoints: readonly StoredCheckpoint[],
): Promise<Contradiction[]> {
  const rows = await listContradictionRows(
    db,
    checkpoints.map(({ ledgerId, checkpoint: { size, chain } }) => ({ ledgerId, size, chain })),
  )
  const findKey = rows.some(({ restored }) => restored !== null) ? await readFindKey(db) : () => null
  return rows.map(({ index, current, restored }) => {
    const about = checkpoints[index]!
    const isAcknowledged = restored !== null && acknowledges(restored, about, findKey)
    return {
      ...about,
      found: current,
      isAcknowledged,
      refusedSeq: isAcknowledged ? null : (restored?.seq ?? null),
    }
  })
}

/**
 * Returns the newest note that is stored outside Postgres, if the ledger must extend it. Returns null if no note is
 * stored, or if the operator has acknowledged that the ledger does not extend the note. Until the next checkpoint is
 * stored, such a note is still the newest.
 */
export async function findBindingNote(
  db: Db,
  storedCheckpoints: Pick<StoredCheckpoints, 'findNote'>,
  ledgerId: Uuid,
): Promise<string | null> {
  const ledger = formatId('led', ledgerId)
  const note = await storedCheckpoints.findNote(ledger)
  if (note === null) return null
  const { checkpoint } = parseCheckpoint(note)
  const [contradiction] = await listContradictions(db, [{ ledger, ledgerId, checkpoint }])
  return contradiction?.isAcknowledged ? null : note
}

type SignedHead = { size: number; chain: string }

/**
 * Returns true if the entry is a valid acknowledgement. Somebody with the server's database login can forge the row and
 * the entry, but not the signature. The acknowledgement must name this checkpoint and this position, because an
 * attacker could insert an older acknowledgement again.
 */
function acknowledges(
  { seq, entry, chainBefore }: NonNullable<ContradictionRow['restored']>,
  { ledger, checkpoint }: StoredCheckpoint,
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
