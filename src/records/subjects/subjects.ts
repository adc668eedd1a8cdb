import { listErasable } from '../../db/records/erasures.ts'
import { listCasesOn, listHoldsOn } from '../../db/records/retention-rules.ts'
import { listSubjectRecords } from '../../db/records/subjects.ts'
import { ApiError } from '../../errors.ts'
import { administerLedger } from '../../ledgers/administer-ledger.ts'
import { administer } from '../../ledgers/administration.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { formatId } from '../../proof/ids.ts'
import { SUBJECT_ERASED_MAX } from '../../proof/limits.ts'
import { type ErasableView, type EraseDeps, viewOf } from '../erase/erase.ts'
import { erasureEntry } from '../erase/erasure-entry.ts'
import {
  ERASABLE_LISTED_MAX,
  SUBJECT_ERASURES_AT_ONCE,
  SUBJECT_PAGES_MAX,
  SUBJECT_RECORDS_PER_PAGE,
} from '../limits.ts'
import { hashSubject } from './label.ts'

/** Position in a list of a person's records: seq of the entry, and index in the batch. */
export type SubjectPosition = { readonly seq: number; readonly index: number }

type SubjectRecord = { readonly record: string; readonly documents: readonly ErasableView[] }

const BEFORE_ALL: SubjectPosition = { seq: -1, index: 0 }

/**
 * Returns a page of a person's records that still have documents. Each document comes with the path of the request that
 * erases it. `next`: null on the last page.
 */
export async function findSubject(
  deps: EraseDeps,
  caller: Caller,
  label: string,
  after: SubjectPosition = BEFORE_ALL,
): Promise<{ readonly data: readonly SubjectRecord[]; readonly next: SubjectPosition | null }> {
  const page = await readPage(deps, caller, label, after)
  const data = page.records
    .filter(({ documents }) => documents.length > 0)
    .map(({ recordId, documents }) => ({
      record: formatId('rec', recordId),
      documents: documents.map((document) => viewOf(recordId, document)),
    }))
  return { data, next: page.next }
}

type Erased = {
  /** Seq of the `subject-erased` entry, which lists the erasures. */
  readonly seq: number
  /** Seqs of the `payload-erased` entries. Each of these entries erased one document. */
  readonly erased: readonly number[]
  readonly held: readonly (ErasableView & { readonly record: string; readonly case: string })[]
  readonly next: SubjectPosition | null
}

/**
 * Erases the documents of a person's records, as many as one `subject-erased` entry can list. The caller continues at
 * `next`. Two kinds of documents are reported instead of erased: documents under a legal hold, and evidence that was
 * offered to another ledger and is still needed. The database decides each erasure separately.
 *
 * After a failed erasure no further erasure begins, and the `subject-erased` entry lists the documents that were erased
 * before. `next` is then the position before the first record with a document that is still undecided. Throws the error
 * of the failed erasure if no document was erased.
 */
export async function eraseSubject(
  deps: EraseDeps,
  caller: Caller,
  {
    label,
    code,
    reason,
    after = BEFORE_ALL,
  }: {
    readonly label: string
    readonly code: string
    readonly reason: string | null
    readonly after?: SubjectPosition
  },
): Promise<Erased> {
  const erased: number[] = []
  const held: Erased['held'][number][] = []
  let next: SubjectPosition | null = after
  let [count, isFull] = [0, false]
  try {
    for (let pages = 0; next !== null && !isFull && pages < SUBJECT_PAGES_MAX; pages++) {
      const page: Page = await readPage(deps, caller, label, next)
      const records: PageRecord[] = []
      for (const record of page.records) {
        count += record.documents.length
        isFull = count > SUBJECT_ERASED_MAX
        if (isFull) break
        records.push(record)
      }
      const start: SubjectPosition = next
      const done = await erasePage(deps, caller, records, { code, reason })
      erased.push(...done.erased)
      const whole = done.failed ? records.slice(0, records.indexOf(done.failed.record)) : records
      for (const one of done.held)
        if (whole.includes(one.record)) held.push({ ...nameOf(one), case: one.case })
      const last = whole.at(-1)
      next = last ? { seq: last.seq, index: last.index } : start
      if (done.failed) throw done.failed.error
      if (!isFull) next = page.next
    }
  } catch (error) {
    if (erased.length === 0) throw error
  }
  erased.sort((a, b) => a - b)
  const seq = await administerLedger(deps, caller, {
    kind: 'subject-erased',
    predicate: { code, erased, held: held.length },
    detail: {},
  })
  return { seq, erased, held, next }
}

type ErasureReason = { readonly code: string; readonly reason: string | null }

type ErasedPage = {
  readonly erased: readonly number[]
  readonly held: readonly (ErasureCandidate & { readonly case: string })[]
  /** The first record with a document whose erasure is still undecided, and the error. null if no erasure failed. */
  readonly failed: { readonly record: PageRecord; readonly error: unknown } | null
}

async function erasePage(
  deps: EraseDeps,
  caller: Caller,
  records: readonly PageRecord[],
  erasure: ErasureReason,
): Promise<ErasedPage> {
  const wanted = records.flatMap((record) => record.documents.map((document) => ({ record, document })))
  const cases = await listCasesOn(
    deps.readPool,
    caller.ledgerId,
    wanted.map(({ record: { recordId }, document: { seq, type, agents } }) => ({
      recordId,
      seq,
      type,
      agents,
    })),
  )
  const erased: number[] = []
  const held: (ErasureCandidate & { readonly case: string })[] = []
  const undecided = new Set<ErasureCandidate>()
  for (const [i, one] of wanted.entries()) {
    const of = cases[i]!
    if (of === null) undecided.add(one)
    else held.push({ ...one, case: of })
  }
  // Payloads are erased last, because the label is erased with the payload. After an interruption, a repeated request
  // still finds the record by its label.
  const free = [...undecided].sort((a, b) => Number(isPayload(a)) - Number(isPayload(b)))
  for (let start = 0; start < free.length; start += SUBJECT_ERASURES_AT_ONCE) {
    const some = free.slice(start, start + SUBJECT_ERASURES_AT_ONCE)
    const outcomes = await Promise.allSettled(some.map((one) => eraseOne(deps, caller, one, erasure)))
    for (const [i, outcome] of outcomes.entries()) {
      const one = some[i]!
      if (outcome.status === 'rejected') continue
      undecided.delete(one)
      if (typeof outcome.value === 'number') erased.push(outcome.value)
      else if (outcome.value !== null) held.push({ ...one, case: outcome.value })
    }
    const rejected = outcomes.find((outcome) => outcome.status === 'rejected')
    if (!rejected) continue
    const [first] = undecided
    return { erased, held, failed: { record: first!.record, error: rejected.reason } }
  }
  return { erased, held, failed: null }
}

type Page = Awaited<ReturnType<typeof readPage>>
type PageRecord = Page['records'][number]
type PageDocument = PageRecord['documents'][number]
type ErasureCandidate = { readonly record: PageRecord; readonly document: PageDocument }

function isPayload({ document }: ErasureCandidate): boolean {
  return document.document === 'payload'
}

function nameOf({ record: { recordId }, document }: ErasureCandidate) {
  return { ...viewOf(recordId, document), record: formatId('rec', recordId) }
}

/**
 * Erases one document. Returns the seq of the erasure, or null if the document was erased before. If a legal hold
 * covers the document, returns the hold's case. If the document is offered evidence that is still needed, returns a
 * text about this.
 */
async function eraseOne(
  deps: EraseDeps,
  caller: Caller,
  { record: { recordId }, document: found }: ErasureCandidate,
  { code, reason }: ErasureReason,
): Promise<number | string | null> {
  if (found.needed !== null) return `needed ${found.needed}`
  try {
    const done = await administer(deps, caller, erasureEntry(recordId, found, { code, reason, rule: null }))
    return done.replayed ? done.seq : done.entry.seq
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'already_ended') return null
    if (error.code !== 'held') throw error
    const [hold] = await listHoldsOn(deps.readPool, caller.ledgerId, recordId, found)
    return hold?.caseId ?? 'lifted since'
  }
}

async function readPage({ readPool }: EraseDeps, caller: Caller, label: string, after: SubjectPosition) {
  const { ledgerId, subjectSalt } = caller
  const limit = SUBJECT_RECORDS_PER_PAGE
  const found = await listSubjectRecords(readPool, ledgerId, hashSubject(subjectSalt, label), {
    after,
    limit: limit + 1,
  })
  const records = await Promise.all(
    found.slice(0, limit).map(async ({ recordId, seq, index }) => {
      const documents = await listErasable(readPool, ledgerId, recordId, { limit: ERASABLE_LISTED_MAX })
      return { recordId, seq, index, documents }
    }),
  )
  const last = records.at(-1)
  return { records, next: found.length > limit ? { seq: last!.seq, index: last!.index } : null }
}
