import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { EntryStep } from '../proof/entry/entry-step.ts'
import { type Erasure, erasureOf } from '../proof/entry/erasures.ts'
import { ProofError } from '../proof/error.ts'
import type { PinnedAgents } from '../proof/ledger/agent-keys.ts'
import { type CompromisedKeys, compromisedKeys } from '../proof/ledger/compromised-keys.ts'
import { findingsOf, type LedgerTrust, verifyTrust } from '../proof/ledger/findings.ts'
import { LedgerVerifier } from '../proof/ledger/verify-ledger.ts'
import { type EntryPool, openEntryPool } from './entry-pool.ts'
import { unpackSteps } from './packed-steps.ts'
import { loadProviders } from './providers.ts'
import { outcomeOf, type VerifyFailure, type VerifyReport } from './report.ts'
import type { EntryRange, LedgerSource, OpenLedger } from './source.ts'
import type { RangeResult } from './verify-range.ts'

export type VerifyOptions = LedgerTrust & {
  /** Checkpoint notes that the user has from other sources. The ledger must extend each of them. */
  readonly checkpoints?: readonly string[]
  /**
   * Receipts with their statements, which the user has from other sources. The ledger must contain the entry of each
   * receipt, and be consistent with the tree that the receipt proves.
   */
  readonly receipts?: readonly Uint8Array[]
  /**
   * Compromised keys that the user knows from other sources. The user must name them, because the export or database
   * that is verified could omit the compromise.
   */
  readonly compromised?: CompromisedKeys
  /** Agents whose keys the user knows from other sources. */
  readonly pinnedAgents?: PinnedAgents | undefined
  /**
   * Says whether entries that should be covered by a checkpoint by now, but are not, are a failure (`refused`) or only
   * a notice (`noticed`). See LedgerVerifierOptions.
   */
  readonly lateTail?: 'refused' | 'noticed'
  /**
   * Number of threads besides the calling thread. If it is at most 1, the calling thread verifies alone. Default: one
   * thread for each CPU core, or none if the source is small.
   */
  readonly threads?: number
  /** Called from time to time. `done`: the verified part of `total`. The unit of both depends on the source. */
  readonly onProgress?: (progress: { entries: number; done: number; total: number }) => void
  /** Called for each verified entry, in order. */
  readonly onEntry?: (step: EntryStep) => void
}

/**
 * Verifies everything in a source (docs/formats/export.md). First each entry is verified separately, in parallel. Then
 * all entries are verified together, in order.
 *
 * Stops at the first refused entry, which the report names. Throws SourceError if the source cannot be read.
 */
export async function verifyLedger(source: LedgerSource, options: VerifyOptions = {}): Promise<VerifyReport> {
  const opened = await source.open().catch(proofErrorOrThrow)
  if (opened instanceof ProofError) return unreadReport(source.name, opened)
  try {
    const threads = options.threads ?? (opened.isSmall ? 1 : availableParallelism())
    const { keys, documents = 'all', hasRows = false } = opened
    const pool = await openEntryPool({ keys, documents, hasRows }, threads)
    try {
      return await verifyOpened(source.name, opened, pool, options)
    } finally {
      await pool.close()
    }
  } finally {
    await opened.close()
  }
}

/** Returns the report on a source that was refused before any of its entries was read. */
function unreadReport(name: string, { code, detail }: ProofError): VerifyReport {
  return {
    ok: false,
    source: name,
    ledger: null,
    entries: 0,
    records: 0,
    agentSigned: 0,
    statements: 0,
    documents: 'all',
    keys: 'self-asserted',
    firstKid: null,
    kids: [],
    checkpoint: 'none',
    covered: 0,
    own: 0,
    ownReachesEnd: false,
    witnessed: null,
    erasures: [],
    failure: { seq: null, code, reason: detail },
    notices: [],
  }
}

async function verifyOpened(
  name: string,
  opened: OpenLedger,
  pool: EntryPool,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const { sha256, verifySignature, notice } = await loadProviders()
  const verifier = new LedgerVerifier(
    { sha256, verifySignature },
    {
      storedCheckpoints: options.checkpoints ?? [],
      storedReceipts: options.receipts,
      witnesses: options.witnesses,
      pinnedAgents: options.pinnedAgents,
      compromised: compromisedKeys(opened.keys, options.compromised),
      lateTail: options.lateTail ?? 'refused',
      idSeed: randomBytes(4).readUInt32LE(),
      ...(options.onEntry && { onEntry: options.onEntry }),
      ...(opened.observer && {
        onNode: opened.observer.node,
        onGated: opened.observer.gated,
        onRemote: opened.observer.remote,
        onOffer: opened.observer.offer,
        onErasure: opened.observer.erasure,
      }),
    },
  )
  const erasures: Erasure[] = []
  const failure = await findFailure({ opened, pool, verifier, erasures, options })
  return {
    ...outcomeOf(failure),
    source: name,
    ...findingsOf(verifier.summary, options, { documents: opened.documents ?? 'all', erasures }),
    notices: [
      ...(opened.notices ?? []),
      ...(notice === null ? [] : [notice]),
      ...(failure === null ? noticesOf(verifier, options) : []),
    ],
  }
}

/** Returns notices about observations that are no failures but may need attention. */
function noticesOf({ lateTail, summary }: LedgerVerifier, { compromised }: VerifyOptions): string[] {
  const unused = [...(compromised?.keys() ?? [])].filter((kid) => !summary.kids.has(kid))
  return [
    ...(lateTail === null ? [] : [lateTail]),
    ...unused.map((kid) => `the key ${kid}, declared compromised, has signed nothing here`),
  ]
}

type Verification = {
  readonly opened: OpenLedger
  readonly pool: EntryPool
  readonly verifier: LedgerVerifier
  readonly erasures: Erasure[]
  readonly options: VerifyOptions
}

async function findFailure(verification: Verification): Promise<VerifyFailure | null> {
  const { opened, verifier, options } = verification
  try {
    await verifyRanges(verification)
  } catch (error) {
    if (error instanceof ProofError)
      return { seq: verifier.summary.size, code: error.code, reason: error.detail }
    throw error
  }
  try {
    verifier.finish()
    await opened.observer?.finish(verifier.summary, verifier.peerings)
    verifyTrust(verifier.summary, opened.ledger, options)
  } catch (error) {
    if (error instanceof ProofError) return { seq: null, code: error.code, reason: error.detail }
    throw error
  }
  return null
}

/** Verifies all ranges. Reads the source only `rangesInFlightMax` ranges ahead of the results. */
async function verifyRanges(verification: Verification): Promise<void> {
  const { opened, pool, verifier, options } = verification
  const inFlight: { range: EntryRange; result: Promise<RangeResult> }[] = []
  const settleFirst = async () => {
    const { range, result } = inFlight.shift()!
    followRange(verification, range, await result)
    options.onProgress?.({ entries: verifier.summary.size, done: range.progress, total: opened.total })
  }
  const failure = await eachUntilFailure(opened.ranges(), async (range) => {
    const result = pool.run({ lines: range.lines, rows: range.rows })
    // The result is awaited later. Without this handler, an earlier failure of a thread would end the process.
    result.catch(() => {})
    inFlight.push({ range, result })
    if (inFlight.length >= pool.rangesInFlightMax) await settleFirst()
  })
  while (inFlight.length > 0) await settleFirst()
  if (failure) throw failure
}

/**
 * Calls `work` for each range. Returns an error of the source instead of throwing it, so that a fault of earlier
 * entries is reported first.
 */
async function eachUntilFailure(
  ranges: AsyncIterable<EntryRange>,
  work: (range: EntryRange) => Promise<void>,
): Promise<Error | null> {
  const iterator = ranges[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await iterator.next().catch((error: Error) => error)
      if (next instanceof Error) return next
      if (next.done) return null
      await work(next.value)
    }
  } finally {
    await iterator.return?.()
  }
}

function proofErrorOrThrow(error: unknown): ProofError {
  if (error instanceof ProofError) return error
  throw error
}

function followRange(
  { opened, verifier, erasures }: Verification,
  range: EntryRange,
  result: RangeResult,
): void {
  for (const note of range.checkpoints) verifier.expectCheckpoint(note)
  for (const step of unpackSteps(result.packed)) {
    verifier.append(step)
    const erasure = erasureOf(step)
    if (erasure) erasures.push(erasure)
    opened.observer?.appended(step, verifier.frontier)
  }
  if (result.failure) throw new ProofError(result.failure.code, result.failure.detail)
}
