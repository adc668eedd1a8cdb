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
import type { CursorMac, CursorPosition } from '../../signing/cursor-mac.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { nativeProviders } from '../../signing/native.ts'
import { LedgerReader } from '../../verify/ledger-reader.ts'
import { unpackSteps } from '../../verify/packed-steps.ts'
import type { PausedLedgers } from '../checkpoints/faulty-ledgers.ts'
import {
  ENTRY_FOLLOWER_ENTRIES_PER_RANGE,
  ENTRY_FOLLOWER_ENTRIES_PER_READ,
  ENTRY_FOLLOWER_LEDGERS_PER_ROUND,
  ENTRY_FOLLOWER_ROUND_MS,
} from '../limits.ts'
import { extendCursor } from './chain-state.ts'
import { refuseCursor } from './check-cursors.ts'
import type { EntryVerifier } from './entry-verifier.ts'
import { type FaultDeps, raiseFault } from './faults.ts'
import type { UrgentLedgers } from './urgent-ledgers.ts'

export type FollowEntriesDeps = FaultDeps & {
  readonly cursorMac: CursorMac
  readonly verifier: EntryVerifier
  /**
   * Cache of verified entries. It gets the entries on which the next step of a gated record depends, so that they need
   * not be read and verified again for that step.
   */
  readonly envelopeKeys: Pick<EnvelopeKeys, 'known'>
  /** Ledgers whose entries could not be read or verified, for a reason other than a fault. */
  readonly pausedLedgers: PausedLedgers
  readonly observeEntries?: (entries: number) => void
  /** Called when the verified size of a ledger has grown. Work that waited for the entries can then continue. */
  readonly verifiedSizeRose?: () => void
}

/**
 * Verifies new entries, and the rows derived from them. Handles as many ledgers as the time of a round allows. Returns
 * true if the caller should call again at once.
 *
 * This finds, within seconds, an entry that an attacker appended with a stolen database login of the server. If an
 * older, already verified entry is changed, the next audit finds the change.
 */
export async function followEntries(deps: FollowEntriesDeps): Promise<boolean> {
  const ledgers = await listLedgersUnverified(deps.pool, ENTRY_FOLLOWER_LEDGERS_PER_ROUND)
  const more = await followLedgers(deps, ledgers)
  return more || ledgers.length === ENTRY_FOLLOWER_LEDGERS_PER_ROUND
}

export type FollowUrgentDeps = FollowEntriesDeps & {
  readonly urgentLedgers: UrgentLedgers
  readonly urgentVerifier: EntryVerifier
}

/**
 * Does the work of followEntries for ledgers with a waiting settlement. Has a verifier of its own, so that settlements
 * do not wait for a round of other ledgers. Always returns false.
 */
export async function followUrgent(deps: FollowUrgentDeps): Promise<boolean> {
  const awaited = deps.urgentLedgers.take()
  if (awaited.length === 0) return false
  const ledgers = await listLedgersUnverified(deps.pool, ENTRY_FOLLOWER_LEDGERS_PER_ROUND, awaited)
  await followLedgers({ ...deps, verifier: deps.urgentVerifier }, ledgers)
  // The next round need not start at once. Ledgers that were added a short time ago are still in the list.
  return false
}

async function followLedgers(deps: FollowEntriesDeps, ledgers: readonly Uuid[]): Promise<boolean> {
  const endsAt = performance.now() + ENTRY_FOLLOWER_ROUND_MS
  let more = false
  for (const ledgerId of ledgers) {
    const ledger = formatId('led', ledgerId)
    if (deps.pausedLedgers.isPaused(ledger)) continue
    if (performance.now() > endsAt) return true
    try {
      more = (await followLedger(deps, ledgerId, endsAt)) || more
      deps.pausedLedgers.resume(ledger)
    } catch (error) {
      // A deadlock means that another worker has just verified the ledger.
      if (classifyFailure(error as Error).kind === 'deadlock') continue
      deps.pausedLedgers.pause(ledger)
      deps.log.error({ err: error, ledger }, 'the entries of the ledger could not be verified')
    }
  }
  return more
}

/**
 * Verifies the new entries of a ledger. If a range contains a bad entry, smaller and smaller ranges are verified, down
 * to a single entry. So the fault names exactly the bad entry, and all entries before it are verified. Returns true if
 * the ledger has more entries to verify.
 */
async function followLedger(deps: FollowEntriesDeps, ledgerId: Uuid, endsAt: number): Promise<boolean> {
  let entries = ENTRY_FOLLOWER_ENTRIES_PER_RANGE
  for (;;) {
    const span = await verifyRange(deps, ledgerId, entries, endsAt)
    if (span.entries > 0) deps.verifiedSizeRose?.()
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

type RangeResult = {
  /** Position after the last verified entry. null if no entry was ever verified. */
  readonly cursor: CursorPosition | null
  readonly failure: ProofError | null
  readonly more: boolean
  readonly entries: number
}

/** Verifies at most `entriesMax` entries, starting at the cursor. May stop earlier, at the time `endsAt`. */
async function verifyRange(
  deps: FollowEntriesDeps,
  ledgerId: Uuid,
  entriesMax: number,
  endsAt: number,
): Promise<RangeResult> {
  return withPooledTransaction(deps.pool, async (client) => {
    await useSnapshot(client, { mayLock: true })
    if (!(await tryLockAuditCursor(client, ledgerId)))
      return { cursor: null, failure: null, more: false, entries: 0 }
    const span = await readRange(deps, client, ledgerId, { entriesMax, endsAt })
    if (span.cursor && span.entries > 0) {
      const mac = deps.cursorMac.of({ ledgerId, ...span.cursor })
      await moveAuditCursor(client, ledgerId, { ...span.cursor, mac })
    }
    return span
  })
}

async function readRange(
  deps: FollowEntriesDeps,
  client: pg.PoolClient,
  ledgerId: Uuid,
  { entriesMax, endsAt }: { readonly entriesMax: number; readonly endsAt: number },
): Promise<RangeResult> {
  let cursor = await findAuthenticCursor(deps, client, ledgerId)
  const head = await getAuditedLedger(client, ledgerId)
  const from = cursor?.nextSeq ?? 0
  const end = Math.min(Number(head.size), from + entriesMax)
  const more = end < Number(head.size)
  const entries = () => (cursor?.nextSeq ?? 0) - from
  try {
    const agentKeys = await agentKeysBefore(client, ledgerId, cursor)
    for await (const step of verifiedSteps(deps, client, ledgerId, head, { from, end })) {
      if (step === RANGE_END) {
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
 * Reads the agents' keys that were registered before the cursor. Throws ProofError if their digest differs from the
 * digest in the cursor. Without this check, the owner of the database could remove an agent's key. The server could
 * then sign entries in the agent's name without the agent.
 */
async function agentKeysBefore(
  client: pg.ClientBase,
  ledgerId: Uuid,
  cursor: CursorPosition | null,
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

/** Kinds of entries after which the worker may have to append an entry for the same record. */
const KINDS_OF_CONTINUATION: ReadonlySet<string> = new Set<EntryKind>([
  'record-created',
  'record-activated',
  'completion-submitted',
  'revision-requested',
])

const RANGE_END = Symbol('the end of a range')

/**
 * Yields verified entries in order. Throws ProofError at the first entry that is refused. Reads only a few entries at a
 * time: if a round ends early, the next round must read again what was read but not verified.
 */
async function* verifiedSteps(
  { verifier, envelopeKeys: { known } }: FollowEntriesDeps,
  client: pg.PoolClient,
  ledgerId: Uuid,
  head: AuditedLedger,
  { from, end }: SeqRange,
): AsyncGenerator<EntryStep | typeof RANGE_END> {
  const keys = await listServerKeys(client)
  for (let at = from; at < end; at += ENTRY_FOLLOWER_ENTRIES_PER_READ) {
    const range = { from: at, end: Math.min(end, at + ENTRY_FOLLOWER_ENTRIES_PER_READ) }
    let open: AuditedEntry[] = []
    const onEntry = (entry: AuditedEntry) => {
      if (KINDS_OF_CONTINUATION.has(entry.kind)) open.push(entry)
    }
    const options = { sha256: nativeProviders.sha256, mayReadKeys: true, range, onEntry }
    const reader = new LedgerReader({ client }, ledgerId, head, options)
    for await (const { lines, rows } of reader.ranges()) {
      const { packed, failure } = await verifier.run({ lines, rows }, keys)
      yield* unpackSteps(packed)
      if (failure) throw new ProofError(failure.code, failure.detail)
      // The entries are added only here, because at this point their positions in the chain are verified too.
      for (const { leaf, envelope } of open) known.addSigned(toHex(leaf), envelope, null)
      open = []
      yield RANGE_END
    }
  }
}

/** Throws ProofError if an entry is missing, or if the chain head differs from the last entry. */
function verifyEnd(head: AuditedLedger, cursor: CursorPosition | null, end: number): void {
  const next = cursor?.nextSeq ?? 0
  if (next > end) throw contradiction(`chain_heads.size is ${head.size}, but ${next} entries were verified`)
  if (next < end) throw new ProofError('seq_not_dense', `there is no entry at seq ${next}`)
  if (cursor === null || next < Number(head.size)) return
  if (!equalBytes(head.chain!, cursor.chain)) throw contradiction('chain_heads.chain is not the last entry’s')
  if (!equalBytes(head.envelopeKid!, cursor.envelopeKid))
    throw contradiction('chain_heads.envelope_kid is not the current key')
}

/** Reads the cursor and checks its MAC. Returns null if the ledger must be verified from its first entry. */
async function findAuthenticCursor(
  { cursorMac, log }: FollowEntriesDeps,
  client: pg.ClientBase,
  ledgerId: Uuid,
): Promise<CursorPosition | null> {
  const cursor = await findAuditCursor(client, ledgerId)
  if (cursor === null || cursorMac.isOf({ ledgerId, ...cursor }, cursor.mac)) return cursor
  await refuseCursor(client, log, ledgerId, cursor)
  return null
}
