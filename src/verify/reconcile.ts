import { ProofError } from '../proof/error.ts'
import { LedgerExchange, UnforeseenShare } from '../proof/federation/exchange.ts'
import { type ReconcileCounts, reconcile } from '../proof/federation/reconcile.ts'
import type { KeyTrust } from '../proof/ledger/findings.ts'
import { quoted } from '../proof/quoted.ts'
import { applyStrict, type VerifyReport } from './report.ts'
import { findSharedLater } from './shared-later.ts'
import { type LedgerSource, type OpenLedger, SourceError } from './source.ts'
import { type VerifyOptions, verifyLedger } from './verify-ledger.ts'

type ReconcileOptions = Pick<VerifyOptions, 'pinned' | 'threads' | 'onProgress' | 'compromised'> & {
  /**
   * Kids of envelope keys that the user knows from other sources. Each kid MUST be the kid of the first key of one of
   * the two ledgers.
   */
  readonly kids: readonly string[]
  /** Checkpoint notes of either ledger that the user has from other sources. */
  readonly checkpoints: readonly string[]
  /**
   * True if findings that rest only on a ledger's own claims are failures. It is then a failure too if a ledger has
   * received an entry that the other ledger's export does not contain, because the export ends before this entry.
   */
  readonly strict: boolean
}

/**
 * Reason why the ledgers do not reconcile. `seq` is an entry of `ledger`; null if the failure concerns no single entry.
 */
type ReconcileFailure = {
  readonly code: string
  readonly ledger: string | null
  readonly seq: number | null
  readonly reason: string
}

/**
 * Findings about each of the two ledgers and about their exchange. `counts` is null if a ledger could not be verified.
 */
type ReconcileReport = {
  readonly ok: boolean
  readonly counts: ReconcileCounts | null
  /** Trust in the keys of the two ledgers: the lower trust of the two. */
  readonly keys: KeyTrust
  readonly failure: ReconcileFailure | null
  /** Reports of the verified ledgers, in the order of the sources. */
  readonly ledgers: readonly VerifyReport[]
}

type Pair<T> = readonly [T, T]
type OpenedSide = { readonly opened: OpenLedger; readonly sharedLater: ReadonlySet<string> }

/**
 * Verifies two ledgers, one after the other. Then compares the entries that each ledger claims to have exchanged with
 * the other (docs/formats/federation.md). Throws SourceError if a source cannot be read, or if both sources are the
 * same ledger.
 */
export async function reconcileLedgers(
  sources: Pair<LedgerSource>,
  options: ReconcileOptions,
): Promise<ReconcileReport> {
  const openedSides: (OpenedSide | ProofError)[] = []
  try {
    for (const source of sources) openedSides.push(await openSide(source))
    const sides = openedSides as unknown as Pair<OpenedSide | ProofError>
    refuseSame(sources, sides)
    return await verifyBoth(sources, sides, options)
  } finally {
    for (const one of openedSides) if (!(one instanceof ProofError)) await one.opened.close()
  }
}

/**
 * Opens a source and finds the records that the ledger shared after their creation. Returns a ProofError instead of
 * throwing it.
 *
 * The source is opened only once, because standard input cannot be opened again.
 */
async function openSide(source: LedgerSource): Promise<OpenedSide | ProofError> {
  try {
    const opened = await source.open()
    try {
      return { opened, sharedLater: await findSharedLater(opened) }
    } catch (error) {
      await opened.close()
      throw error
    }
  } catch (error) {
    if (error instanceof ProofError) return error
    throw error
  }
}

function refuseSame([a, b]: Pair<LedgerSource>, [one, other]: Pair<OpenedSide | ProofError>): void {
  if (one instanceof ProofError || other instanceof ProofError) return
  const { ledger } = one.opened
  if (ledger === other.opened.ledger)
    throw new SourceError(
      'usage',
      `${a.name} and ${b.name} are both exports of ${ledger}: name exports of a ledger and of its peer`,
    )
}

async function verifyBoth(
  sources: Pair<LedgerSource>,
  sides: Pair<OpenedSide | ProofError>,
  options: ReconcileOptions,
): Promise<ReconcileReport> {
  const exchanges: LedgerExchange[] = []
  const ledgers: VerifyReport[] = []
  const total = sides.reduce((sum, side) => sum + (side instanceof ProofError ? 0 : side.opened.total), 0)
  const before = { entries: 0, done: 0 }
  for (const [i, side] of sides.entries()) {
    const sharedLater = side instanceof ProofError ? null : side.sharedLater
    const exchange = new LedgerExchange(sharedLater)
    const report = await verifySide(sources[i]!.name, side, exchange, {
      ...options,
      onProgress: ({ entries, done }) =>
        options.onProgress?.({ entries: before.entries + entries, done: before.done + done, total }),
    })
    exchanges.push(exchange)
    ledgers.push(report)
    // `documents` is set to 'all', so that withheld documents are no failure here. The comparison covers signed
    // contents only, so an auditor without access to documents can compare the ledgers too.
    const { failure, ledger } = options.strict ? applyStrict({ ...report, documents: 'all' }) : report
    if (failure)
      return refused({ ...failure, ledger, reason: `${report.source}: ${failure.reason}` }, ledgers)
    before.entries += report.entries
    before.done += side instanceof ProofError ? 0 : side.opened.total
  }
  return conclude(exchanges as unknown as Pair<LedgerExchange>, ledgers, options)
}

async function verifySide(
  name: string,
  side: OpenedSide | ProofError,
  exchange: LedgerExchange,
  { kids, checkpoints, pinned, threads, onProgress, compromised }: ReconcileOptions,
): Promise<VerifyReport> {
  const isRefused = side instanceof ProofError
  const open = () =>
    isRefused ? Promise.reject(side) : Promise.resolve({ ...side.opened, close: async () => {} })
  try {
    const report = await verifyLedger(
      { name, open },
      {
        checkpoints: isRefused ? [] : checkpoints.filter((note) => isOf(note, side.opened.ledger)),
        onEntry: (step) => exchange.follow(step),
        ...(pinned && { pinned }),
        ...(compromised && { compromised }),
        ...(threads !== undefined && { threads }),
        ...(onProgress && { onProgress }),
      },
    )
    const isGiven = report.firstKid !== null && kids.includes(report.firstKid)
    return isGiven ? { ...report, keys: 'given' } : report
  } catch (error) {
    if (!(error instanceof UnforeseenShare)) throw error
    throw new SourceError(
      'not_a_ledger',
      `${name} does not have the form of an export, or has changed: ${error.message}`,
    )
  }
}

/**
 * Returns whether a note belongs to the ledger. The first line of a note is its origin, which ends with the ledger's
 * id.
 */
function isOf(note: string, ledger: string): boolean {
  return note.slice(0, note.indexOf('\n')).endsWith(`/${ledger}`)
}

function conclude(
  [one, other]: Pair<LedgerExchange>,
  ledgers: readonly VerifyReport[],
  { kids, checkpoints, strict }: ReconcileOptions,
): ReconcileReport {
  const whole = (code: string, reason: string) => refused({ code, ledger: null, seq: null, reason }, ledgers)
  const absent = kids.find((kid) => !ledgers.some(({ firstKid }) => firstKid === kid))
  if (absent !== undefined) return whole('trusted_key_absent', `neither ledger began with the key ${absent}`)
  if (checkpoints.some((note) => !ledgers.some(({ ledger }) => isOf(note, ledger!))))
    return whole('checkpoint_foreign', 'a given checkpoint belongs to neither ledger')
  const { counts, difference } = reconcile(one, other)
  if (difference) return refused({ ...difference, reason: difference.detail }, ledgers)
  if (strict && counts.beyond > 0)
    return whole(
      'beyond_export',
      `${counts.beyond} entries were received from beyond the end of the other export: export both again`,
    )
  return { ok: true, counts, keys: weaker(ledgers), failure: null, ledgers }
}

function refused(
  { code, ledger, seq, reason }: ReconcileFailure,
  ledgers: readonly VerifyReport[],
): ReconcileReport {
  return { ok: false, counts: null, keys: weaker(ledgers), failure: { code, ledger, seq, reason }, ledgers }
}

const TRUST: readonly KeyTrust[] = ['self-asserted', 'pinned', 'given']

function weaker(ledgers: readonly VerifyReport[]): KeyTrust {
  return TRUST.find((trust) => ledgers.some(({ keys }) => keys === trust))!
}

/** Returns the last line of the output (docs/reference/cli.md). Its format is stable, because scripts parse it. */
export function formatReconciliation({ counts, failure, keys }: ReconcileReport): string {
  if (failure) {
    const { ledger, seq, code, reason } = failure
    const at = [ledger === null ? '' : `ledger=${ledger} `, seq === null ? '' : `seq=${seq} `].join('')
    return `NOT_RECONCILED ${at}code=${code} reason=${quoted(reason)}`
  }
  const { records, entries, offers, inFlight, dropped, beyond } = counts!
  const parts = [
    `records=${records}`,
    `entries=${entries}`,
    `offers=${offers}`,
    `inFlight=${inFlight}`,
    `keys=${keys}`,
  ]
  if (dropped > 0) parts.push(`dropped=${dropped}`)
  if (beyond > 0) parts.push(`beyond=${beyond}`)
  return `RECONCILED ${parts.join(' ')}`
}
