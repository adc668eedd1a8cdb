import type pg from 'pg'
import { type AppendOutcome, commitBatch } from '../../append/commit.ts'
import { sealEntry } from '../../append/entry.ts'
import type { EntryRow } from '../../db/chain/append-entries.ts'
import { readFindKey, readFirstEntries } from '../../db/chain/signed-entries.ts'
import {
  type LedgerToRotate,
  listLedgersToRotate,
  listSigningKeys,
  retireEnvelopeKeys,
} from '../../db/schema/rotation.ts'
import type { ServerKey } from '../../db/schema/server-keys.ts'
import { type LedgerDefinition, readDefinition } from '../../ledgers/ledger-definition.ts'
import { toBase64, toHex } from '../../proof/bytes.ts'
import type { Signer } from '../../proof/crypto.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { PausedLedgers } from '../checkpoints/faulty-ledgers.ts'
import { ROTATION_LEDGERS_PER_ROUND } from '../limits.ts'

export type RotateDeps = {
  readonly pool: pg.Pool
  readonly loadSigners: () => Promise<Signer[]>
  /** Ledgers that could not be moved to the new key on the last try. */
  readonly unmoved: PausedLedgers
  readonly now: () => number
  readonly log: {
    info(details: object, message: string): void
    error(details: object, message: string): void
  }
}

/**
 * Moves ledgers to the newest envelope key. Each ledger is moved by an entry in its own chain, which the old key signs.
 * Retires keys that no ledger uses. Returns true if the caller should call again at once.
 *
 * Nothing is stored between rounds: the head of a ledger names its key and changes together with the entry. So a worker
 * may be killed at any point. If two workers move a ledger at the same time, one of the two entries is refused as
 * stale.
 */
export async function rotateKeys(deps: RotateDeps): Promise<boolean> {
  const keys = await listSigningKeys(deps.pool)
  const newest = keys.at(-1)
  if (!newest || keys.length === 1) return false
  const ledgers = await listLedgersToRotate(deps.pool, newest.kid, ROTATION_LEDGERS_PER_ROUND)
  const moved = await moveLedgers(deps, ledgers, newest)
  const retired = await retireEnvelopeKeys(deps.pool)
  if (moved > 0 || retired > 0) deps.log.info({ newKid: toHex(newest.kid), moved, retired }, 'keys rotate')
  return ledgers.length === ROTATION_LEDGERS_PER_ROUND && moved > 0
}

/**
 * Moves ledgers and returns the number of moved ledgers. If a ledger fails, this is logged, the ledger is paused, and
 * the other ledgers continue.
 */
async function moveLedgers(
  deps: RotateDeps,
  ledgers: readonly LedgerToRotate[],
  newest: ServerKey,
): Promise<number> {
  const waiting = ledgers.filter(({ ledgerId }) => !deps.unmoved.isPaused(formatId('led', ledgerId)))
  if (waiting.length === 0) return 0
  const entries = await signRotations(deps, waiting, newest)
  if (entries.length === 0) return 0
  const outcomes = await commitBatch(deps.pool, entries)
  let moved = 0
  for (const [i, outcome] of outcomes.entries()) {
    const ledger = formatId('led', entries[i]!.ledgerId)
    if (outcome.status === 'appended') {
      moved++
      deps.unmoved.resume(ledger)
    } else reportOutcome(deps, ledger, outcome)
  }
  return moved
}

/**
 * Logs an outcome that needs attention. The outcomes `stale` (another worker was first) and `closed` (the ledger was
 * closed after it was listed) are not logged. After both, the next round reads the ledger again.
 */
function reportOutcome(deps: RotateDeps, ledger: string, outcome: AppendOutcome): void {
  if (outcome.status === 'stale' || (outcome.status === 'refused' && outcome.reason === 'closed')) return
  const err = 'error' in outcome ? outcome.error : new Error(`append_entries answered ${outcome.status}`)
  reportFault(deps, ledger, err)
}

async function signRotations(
  deps: RotateDeps,
  ledgers: readonly LedgerToRotate[],
  newest: ServerKey,
): Promise<EntryRow[]> {
  const [signers, findKey, firstEntries] = await Promise.all([
    deps.loadSigners(),
    readFindKey(deps.pool),
    readFirstEntries(
      deps.pool,
      ledgers.map(({ ledgerId }) => ledgerId),
    ),
  ])
  const signerOf = new Map(signers.map((signer) => [toHex(signer.kid), signer]))
  return ledgers.flatMap(({ ledgerId, kid }, i) => {
    try {
      const signer = signerOf.get(toHex(kid))
      if (!signer) throw new Error(`this deployment cannot open its envelope key ${toHex(kid)}`)
      const definition = readDefinition(ledgerId, firstEntries[i]!, findKey)
      return [signRotation(signer, ledgerId, definition, newest, deps.now())]
    } catch (error) {
      reportFault(deps, formatId('led', ledgerId), error as Error)
      return []
    }
  })
}

function signRotation(
  signer: Signer,
  ledgerId: Uuid,
  { digest, issuer }: LedgerDefinition,
  { kid, key }: ServerKey,
  nowMs: number,
): EntryRow {
  const ledger = formatId('led', ledgerId)
  const author = { ledger, ledgerId, issuer, envelopeKid: toHex(signer.kid), agent: 'system' } as const
  const { entry } = sealEntry(
    signer,
    author,
    {
      kind: 'server-key-rotated',
      subject: { id: ledgerId, name: ledger, digest },
      predicate: { newKey: { kid: toHex(kid), alg: key.alg, spki: toBase64(key.spki) } },
      detail: { newKid: toHex(kid) },
    },
    nowMs,
  )
  return entry
}

function reportFault(deps: RotateDeps, ledger: string, err: Error): void {
  deps.unmoved.pause(ledger)
  deps.log.error(
    { err, ledger },
    'the ledger could not be moved to the new envelope key and still uses the old one',
  )
}
