import type pg from 'pg'
import {
  findAuditCursor,
  listLedgersUnverified,
  moveAuditCursor,
  tryLockAuditCursor,
  useSnapshot,
} from '../../db/audit/audit-cursors.ts'
import type { SeqRange } from '../../db/chain/ledger-snapshot.ts'
import { classifyFailure } from '../../db/connect/failures.ts'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import { contradiction } from '../../db/evidence/contradiction.ts'
import type { AuditedEntry } from '../../db/evidence/entries.ts'
import { type AuditedLedger, getAuditedLedger, listServerKeys } from '../../db/evidence/ledgers.ts'
import { listKeysBefore } from '../../db/ledgers/signing-keys.ts'
import { equalBytes, toHex } from '../../proof/bytes.ts'
import type { EntryStep } from '../../proof/entry/entry-step.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { parsePublicKey } from '../../proof/keys.ts'
import { LedgerAgentKeys } from '../../proof/ledger/agent-keys.ts'
import type { EntryKind } from '../../proof/statement/kinds.ts'
import type { CursorMac, CursorPlace } from '../../signing/cursor-mac.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { nativeProviders } from '../../signing/native.ts'
import { LedgerReader } from '../../verify/ledger-reader.ts'
import { unpackSteps } from '../../verify/packed-steps.ts'
import type { FaultyLedgers } from '../checkpoints/faulty-ledgers.ts'
import {
  ENTRY_FOLLOWER_ENTRIES_PER_READ,
  ENTRY_FOLLOWER_ENTRIES_PER_SPAN,
  ENTRY_FOLLOWER_LEDGERS_PER_ROUND,
  ENTRY_FOLLOWER_ROUND_MS,
} from '../limits.ts'
import type { AwaitedLedgers } from './awaited-ledgers.ts'
import { extendCursor } from './chain-state.ts'
import { refuseCursor } from './check-cursors.ts'
import type { EntryVerifier } from './entry-verifier.ts'
import { type FaultDeps, raiseFault } from './faults.ts'

export type FollowEntriesDeps = FaultDeps & {
  readonly cursorMac: CursorMac
  readonly verifier: EntryVerifier
  /**
   * Gets the verified entries on which a gated record's next step depends, so that the step need not read or verify
   * them again.
   */
  readonly envelopeKeys: Pick<EnvelopeKeys, 'known'>
  /** Ledgers that could not be read or verified, for a reason other than a fault. */
  readonly unverified: FaultyLedgers
  readonly observeEntries?: (entries: number) => void
  /** Called when a ledger's verified size has risen: what waited for it can go on. */
  readonly floorRose?: () => void
}

/**
 * Verifies new entries together with the rows derived from them, of as many ledgers as the round's time allows.
 * Returns whether to call again at once.
 *
 * An entry that was appended with a stolen API login is found here, seconds later. A change behind the cursor is
 * found by the next audit.
 */
export async function followEntries(deps: FollowEntriesDeps): Promise<boolean> {
  const ledgers = await listLedgersUnverified(deps.pool, ENTRY_FOLLOWER_LEDGERS_PER_ROUND)
  const more = await followLedgers(deps, ledgers)
  return more || ledgers.length === ENTRY_FOLLOWER_LEDGERS_PER_ROUND
}

export type FollowAwaitedDeps = FollowEntriesDeps & {
  readonly awaited: AwaitedLedgers
  readonly awaitedVerifier: EntryVerifier
}

/**
 * Does the same for ledgers with a waiting settlement. It has its own verifier, so that it does not wait for a round
 * of the others.
 */
export async function followAwaited(deps: FollowAwaitedDeps): Promise<boolean> {
  const awaited = deps.awaited.take()
  if (awaited.length === 0) return false
  const ledgers = await listLedgersUnverified(deps.pool, ENTRY_FOLLOWER_LEDGERS_PER_ROUND, awaited)
  await followLedgers({ ...deps, verifier: deps.awaitedVerifier }, ledgers)
  // Callers that still wait add their ledger again.
  return false
}

async function followLedgers(deps: FollowEntriesDeps, ledgers: readonly Uuid[]): Promise<boolean> {
  const endsAt = performance.now() + ENTRY_FOLLOWER_ROUND_MS
  let more = false
  for (const ledgerId of ledgers) {
    const ledger = formatId('led', ledgerId)
    if (deps.unverified.isPaused(ledger)) continue
    if (performance.now() > endsAt) return true
    try {
      more = (await followLedger(deps, ledgerId, endsAt)) || more
      deps.unverified.resume(ledger)
    } catch (error) {
      // Another worker has verified it meanwhile.
      if (classifyFailure(error as Error).kind === 'deadlock') continue
      deps.unverified.pause(ledger)
      deps.log.error({ err: error, ledger }, 'the entries of the ledger could not be verified')
    }
  }
  return more
}

/**
 * Verifies a ledger's new entries. A range with a bad entry is verified again in smaller ranges, down to one entry.
 * The fault is then that entry's, and all before it are verified.
 */
async function followLedger(deps: FollowEntriesDeps, ledgerId: Uuid, endsAt: number): Promise<boolean> {
  let entries = ENTRY_FOLLOWER_ENTRIES_PER_SPAN
  for (;;) {
    const span = await verifySpan(deps, ledgerId, entries, endsAt)
    if (span.entries > 0) deps.floorRose?.()
    deps.observeEntries?.(span.entries)
    if (span.failure === null) {
      if (!span.more || performance.now() > endsAt) return span.more
    } else if (entries === 1) {
      const { code, detail } = span.failure
      const seq = span.cursor?.nextSeq ?? 0
      await raiseFault(deps, ledgerId, { foundBy: 'follower', seq, code, reason: detail })
      return false
    } else {
      entries = Math.ceil(entries / 16)
    }
  }
}

type Span = {
  /** Position after the last verified entry; null: none was ever verified. */
  readonly cursor: CursorPlace | null
  readonly failure: ProofError | null
  readonly more: boolean
  readonly entries: number
}

/** Verifies at most `entriesMax` entries from the cursor on. May end early at `endsAt`. */
async function verifySpan(
  deps: FollowEntriesDeps,
  ledgerId: Uuid,
  entriesMax: number,
  endsAt: number,
): Promise<Span> {
  return withPooledTransaction(deps.pool, async (client) => {
    await useSnapshot(client, { mayLock: true })
    if (!(await tryLockAuditCursor(client, ledgerId)))
      return { cursor: null, failure: null, more: false, entries: 0 }
    const span = await readSpan(deps, client, ledgerId, { entriesMax, endsAt })
    if (span.cursor && span.entries > 0) {
      const mac = deps.cursorMac.of({ ledgerId, ...span.cursor })
      await moveAuditCursor(client, ledgerId, { ...span.cursor, mac })
    }
    return span
  })
}

async function readSpan(
  deps: FollowEntriesDeps,
  client: pg.PoolClient,
  ledgerId: Uuid,
  { entriesMax, endsAt }: { readonly entriesMax: number; readonly endsAt: number },
): Promise<Span> {
  let cursor = await findBelievedCursor(deps, client, ledgerId)
  const head = await getAuditedLedger(client, ledgerId)
  const from = cursor?.nextSeq ?? 0
  const end = Math.min(Number(head.size), from + entriesMax)
  const more = end < Number(head.size)
  const entries = () => (cursor?.nextSeq ?? 0) - from
  try {
    const agentKeys = await agentKeysBefore(client, ledgerId, cursor)
    for await (const step of verifiedSteps(deps, client, ledgerId, head, { from, end })) {
      if (step === PORTION_END) {
        const isEnd = cursor?.nextSeq === end
        if (!isEnd && performance.now() > endsAt)
          return { cursor, failure: null, more: true, entries: entries() }
      } else {
        const identity = { ledger: formatId('led', ledgerId), issuer: head.issuer ?? '' }
        cursor = extendCursor(cursor, step, identity, agentKeys, nativeProviders.sha256)
      }
    }
    verifyEnd(head, cursor, end)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    return { cursor, failure: error, more: false, entries: entries() }
  }
  return { cursor, failure: null, more, entries: entries() }
}

/**
 * Reads the agents' keys before the cursor. They must have the digest that the cursor was written with. Otherwise the
 * database's owner could remove an agent's key; with that key stored, an entry signed by the server alone is refused.
 * Throws ProofError.
 */
async function agentKeysBefore(
  client: pg.ClientBase,
  ledgerId: Uuid,
  cursor: CursorPlace | null,
): Promise<LedgerAgentKeys> {
  const keys = new LedgerAgentKeys(nativeProviders)
  const rows = await listKeysBefore(client, ledgerId, cursor?.nextSeq ?? 0)
  keys.load(
    rows.map(({ kid, alg, spki, agentId, ...row }) => ({
      ...row,
      kid: toHex(kid),
      agent: formatId('agt', agentId),
      key: parsePublicKey(alg, spki),
    })),
  )
  const [found, known] = [keys.digest, cursor?.agentKeys ?? null].map((digest) => digest && toHex(digest))
  if (found !== known)
    throw contradiction('agent_signing_keys differs from the keys that verified entries registered')
  return keys
}

/** Kinds of entries after which the worker may have to append for the record. */
const GOES_ON: ReadonlySet<string> = new Set<EntryKind>([
  'record-created',
  'record-activated',
  'completion-submitted',
  'revision-requested',
])

const PORTION_END = Symbol('the end of a portion')

/**
 * Yields verified entries, in order. Throws ProofError at the first refused one. Few are read at a time: a round that
 * ends early would read again what it had read ahead.
 */
async function* verifiedSteps(
  { verifier, envelopeKeys: { known } }: FollowEntriesDeps,
  client: pg.PoolClient,
  ledgerId: Uuid,
  head: AuditedLedger,
  { from, end }: SeqRange,
): AsyncGenerator<EntryStep | typeof PORTION_END> {
  const keys = await listServerKeys(client)
  for (let at = from; at < end; at += ENTRY_FOLLOWER_ENTRIES_PER_READ) {
    const range = { from: at, end: Math.min(end, at + ENTRY_FOLLOWER_ENTRIES_PER_READ) }
    let open: AuditedEntry[] = []
    const onEntry = (entry: AuditedEntry) => {
      if (GOES_ON.has(entry.kind)) open.push(entry)
    }
    const options = { sha256: nativeProviders.sha256, mayReadKeys: true, range, onEntry }
    const reader = new LedgerReader({ client }, ledgerId, head, options)
    for await (const { lines, rows } of reader.portions()) {
      const { packed, failure } = await verifier.run({ lines, rows }, keys)
      yield* unpackSteps(packed)
      if (failure) throw new ProofError(failure.code, failure.detail)
      // By now their position in the chain is verified too.
      for (const { leaf, envelope } of open) known.addSigned(toHex(leaf), envelope, null)
      open = []
      yield PORTION_END
    }
  }
}

/** Throws ProofError unless all entries were there and the chain head agrees with the last one. */
function verifyEnd(head: AuditedLedger, cursor: CursorPlace | null, end: number): void {
  const next = cursor?.nextSeq ?? 0
  if (next > end) throw contradiction(`chain_heads.size is ${head.size}, but ${next} entries were verified`)
  if (next < end) throw new ProofError('seq_not_dense', `there is no entry at seq ${next}`)
  if (cursor === null || next < Number(head.size)) return
  if (!equalBytes(head.chain!, cursor.chain)) throw contradiction('chain_heads.chain is not the last entry’s')
  if (!equalBytes(head.envelopeKid!, cursor.envelopeKid))
    throw contradiction('chain_heads.envelope_kid is not the current key')
}

/** Reads the cursor and checks its MAC. null: the ledger is verified from its first entry. */
async function findBelievedCursor(
  { cursorMac, log }: FollowEntriesDeps,
  client: pg.ClientBase,
  ledgerId: Uuid,
): Promise<CursorPlace | null> {
  const cursor = await findAuditCursor(client, ledgerId)
  if (cursor === null || cursorMac.isOf({ ledgerId, ...cursor }, cursor.mac)) return cursor
  await refuseCursor(client, log, ledgerId, cursor)
  return null
}
