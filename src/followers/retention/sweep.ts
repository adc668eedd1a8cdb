import type pg from 'pg'
import type { AppendOutcome } from '../../append/commit.ts'
import { sealEntry } from '../../append/entry.ts'
import type { EntryRow } from '../../db/chain/append-entries.ts'
import { readFindKey, readFirstEntries } from '../../db/chain/signed-entries.ts'
import { constraintOf } from '../../db/connect/constraints.ts'
import { isUnavailable } from '../../db/connect/failures.ts'
import { type ErasableRow, listErasable } from '../../db/records/erasures.ts'
import { type RetentionRecord, readRetentionPage } from '../../db/records/retention-records.ts'
import { claimSweep, readRuleEntries, releaseSweep, type Sweep } from '../../db/records/retention-work.ts'
import { readDefinition } from '../../ledgers/ledger-definition.ts'
import { Slice } from '../../load/slice.ts'
import { toHex } from '../../proof/bytes.ts'
import { type FindKey, verifySignedEntry } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { erasureEntry } from '../../records/erase/erasure-entry.ts'
import { ERASABLE_LISTED_MAX, MS_PER_DAY } from '../../records/limits.ts'
import { type RetentionState, readRetention } from '../../records/retention/read-retention.ts'
import { isHeld, isOver, retentionOf } from '../../records/retention/rules.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { Signers } from '../../signing/signers.ts'
import { agreedTime, type Clocks } from '../clocks.ts'
import { RETENTION_DOCUMENTS_PER_PAGE, RETENTION_ENTRIES_PER_CALL } from '../limits.ts'
import { commitSteps, errorOf, hasMoved } from '../verification/commit-steps.ts'

export type RetentionDeps = Clocks & {
  readonly pool: pg.Pool
  readonly signers: Signers
  /** Called with the number of documents that retention rules have erased. */
  readonly observeRetention: (documents: number) => void
  readonly log: {
    info(details: object, message: string): void
    error(details: object, message: string): void
  }
}

type Rules = RetentionState['rules']
/** A record whose retention has ended. `digest`: digest of the record's payload. `rule`: seq of the retention rule. */
type DueRecord = { readonly record: RetentionRecord; readonly digest: Uint8Array; readonly rule: number }
type DueDocument = { readonly recordId: Uuid; readonly document: ErasableRow; readonly rule: number }

/**
 * Handles one page of the sweep of one ledger: erases the documents of records whose retention has ended. Each erasure
 * is one entry, which names the rule. The worker removes the documents later (src/followers/erasure).
 *
 * When an entry is appended, the database decides again, with its own clock and while the chain is locked. So a legal
 * hold that was set in the meantime still prevents the erasure.
 *
 * Returns true if there may be more to do. Ledgers are handled round-robin, one page at a time. After a crash the page
 * is handled again, and documents that are already erased are skipped.
 */
export async function sweepRetention(deps: RetentionDeps): Promise<boolean> {
  const sweep = await claimSweep(deps.pool)
  if (sweep === null) return false
  try {
    const nextSeq = await sweepPage(deps, sweep)
    await releaseSweep(deps.pool, sweep, nextSeq === null ? 'done' : { nextSeq })
  } catch (error) {
    if (isUnavailable(error as Error)) throw error
    const ledger = formatId('led', sweep.ledgerId)
    deps.log.error({ err: error, ledger, seq: sweep.nextSeq }, 'a retention rule could not be applied')
    await releaseSweep(deps.pool, sweep, 'failed')
  }
  return true
}

/**
 * Erases the documents of one page. Returns the seq at which the next page begins, or null if the sweep is complete.
 */
async function sweepPage(deps: RetentionDeps, sweep: Sweep): Promise<number | null> {
  const { pool } = deps
  const { ledgerId, nextSeq: from } = sweep
  const { rules, holds } = await readRetention(pool, ledgerId)
  const shortest = Math.min(...rules.map(({ days }) => days ?? Number.POSITIVE_INFINITY))
  if (!Number.isFinite(shortest)) return null
  const nowMs = agreedTime(deps)
  const before = new Date(nowMs - shortest * MS_PER_DAY)
  const due: DueRecord[] = []
  const nextSeq = await readRetentionPage(pool, ledgerId, { from, before }, (record, digest) => {
    if (!record.isGated && !record.hasPayload) return
    const rule = retentionOf(rules, record)
    if (rule === null || !isOver(record.since, rule.days, nowMs) || isHeld(holds, record)) return
    due.push({ record, digest: digest(), rule: rule.ruleSeq })
  })
  if (due.length === 0) return nextSeq
  const by = await openAuthor(deps, sweep, rules, due)
  const batches = new ErasureBatches(deps, by)
  let documentsRead = 0
  try {
    for (const { record, digest, rule } of due) {
      if (documentsRead >= RETENTION_DOCUMENTS_PER_PAGE && record.madeSeq > from) return record.madeSeq
      for (const document of await documentsOf(pool, sweep, record, digest)) {
        documentsRead++
        await batches.add({ recordId: record.recordId, document, rule })
      }
    }
    return nextSeq
  } finally {
    const details = { ledger: by.author.ledger, documents: await batches.close(), from }
    deps.log.info(details, 'documents were erased by retention rules')
  }
}

/** Lists the record's documents that are not erased. A record that is not gated has only a payload. */
async function documentsOf(
  pool: pg.Pool,
  { ledgerId }: Sweep,
  { recordId, isGated, madeSeq: seq, type, agents }: RetentionRecord,
  digest: Uint8Array,
): Promise<readonly ErasableRow[]> {
  if (isGated) {
    const documents = await listErasable(pool, ledgerId, recordId, { limit: ERASABLE_LISTED_MAX })
    return documents.filter(({ needed }) => needed === null)
  }
  const [document, erasedSeq, needed] = ['payload', null, null] as const
  return [{ document, subjectId: recordId, digest, seq, erasedSeq, needed, type, agents }]
}

/**
 * Returns the author of the erasures, which is the server. Throws ProofError if an applied rule differs from the signed
 * rule.
 */
async function openAuthor(deps: RetentionDeps, sweep: Sweep, rules: Rules, due: readonly DueRecord[]) {
  const { pool } = deps
  const { ledgerId } = sweep
  const [findKey, [first]] = await Promise.all([readFindKey(pool), readFirstEntries(pool, [ledgerId])])
  const { issuer } = readDefinition(ledgerId, first!, findKey)
  await verifyRules(pool, sweep, rules, due, findKey)
  const ledger = formatId('led', ledgerId)
  const author = { agent: 'system', ledger, ledgerId, issuer, envelopeKid: toHex(sweep.envelopeKid) } as const
  return { author, signer: await deps.signers.signerOf(author) }
}

type ErasureAuthor = Awaited<ReturnType<typeof openAuthor>>

/**
 * Commits the erasures of a page in batches. While one batch is committed, the next batch is signed. Each entry
 * contains the time at which it is signed, because the database refuses entries that are much older than its clock.
 */
class ErasureBatches {
  readonly #deps: RetentionDeps
  readonly #by: ErasureAuthor
  #slice = new Slice()
  #entries: EntryRow[] = []
  #committing: Promise<void> = Promise.resolve()
  #erased = 0

  constructor(deps: RetentionDeps, by: ErasureAuthor) {
    this.#deps = deps
    this.#by = by
  }

  /** Signs an erasure. Throws if an earlier batch has failed. */
  async add({ recordId, document, rule }: DueDocument): Promise<void> {
    if (this.#slice.isOver) await this.#slice.next()
    const claims = erasureEntry(recordId, document, { code: 'retention', reason: null, rule })
    const { author, signer } = this.#by
    this.#entries.push(sealEntry(signer, author, claims, this.#deps.now()).entry)
    if (this.#entries.length >= RETENTION_ENTRIES_PER_CALL) await this.#commit()
  }

  /** Commits the last batch and returns the number of appended erasures. Throws if a batch has failed. */
  async close(): Promise<number> {
    if (this.#entries.length > 0) await this.#commit()
    await this.#committing
    return this.#erased
  }

  async #commit(): Promise<void> {
    const entries = this.#entries
    this.#entries = []
    await this.#committing
    this.#committing = commit(this.#deps, entries).then((erased) => {
      this.#erased += erased
    })
    // This only prevents an unhandled rejection. The next batch or `close` awaits the promise and gets the error.
    this.#committing.catch(() => {})
  }
}

/**
 * Commits entries and returns the number of appended entries. An entry is not appended if, for example, its document
 * was erased first or a hold was set. Throws for other failures.
 */
async function commit(
  { pool, observeRetention }: RetentionDeps,
  entries: readonly EntryRow[],
): Promise<number> {
  const outcomes = await commitSteps(
    pool,
    entries.map((entry) => [entry]),
  )
  let erased = 0
  for (const [outcome] of outcomes as [AppendOutcome][]) if (outcome.status === 'appended') erased++
  observeRetention(erased)
  for (const [outcome] of outcomes as [AppendOutcome][]) {
    if (outcome.status === 'unavailable' || outcome.status === 'unknown') throw outcome.error
    if (outcome.status === 'appended' || hasMoved(outcome) || isDecidedOtherwise(outcome)) continue
    throw errorOf(outcome)
  }
  return erased
}

/**
 * Returns true if the erasure is no longer allowed or needed: the document was already erased, a hold was set, or a
 * rule was lengthened.
 */
function isDecidedOtherwise(outcome: AppendOutcome): boolean {
  if (outcome.status !== 'failed') return false
  return ['erasures_pkey', 'erasures_held', 'erasures_kept'].includes(constraintOf(outcome.error) ?? '')
}

/**
 * Throws ProofError if an applied rule differs from the rule in its signed entry. So nobody can erase documents by
 * changing the table of rules.
 */
async function verifyRules(
  pool: pg.Pool,
  { ledgerId }: Sweep,
  rules: Rules,
  due: readonly DueRecord[],
  findKey: FindKey,
): Promise<void> {
  const used = [...new Set(due.map(({ rule }) => rule))]
  const lines = new Map((await readRuleEntries(pool, ledgerId, used)).map((line) => [line.seq, line]))
  for (const seq of used) {
    const line = lines.get(seq)
    const { type, agentId, days } = rules.find((rule) => rule.seq === seq)!
    const { kind, ledger, predicate } = line
      ? verifySignedEntry(line, findKey, nativeProviders).statement
      : { kind: 'no entry', ledger: '', predicate: {} as Record<string, unknown> }
    const signed = JSON.stringify([
      kind,
      ledger,
      predicate['type'] ?? null,
      predicate['agent'] ?? null,
      predicate['days'],
    ])
    const agent = agentId && formatId('agt', agentId)
    const stored = JSON.stringify(['retention-set', formatId('led', ledgerId), type, agent, days])
    if (signed !== stored)
      throw new ProofError(
        'columns_contradict_entries',
        `the retention rule of entry ${seq} in the table retention_rules differs from what was signed`,
      )
  }
}
