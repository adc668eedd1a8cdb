import type { Uuid } from '../../src/proof/ids.ts'
import { ENTRY_KINDS, type EntryKind, LIFECYCLE } from '../../src/proof/statement/kinds.ts'
import type { TestEntry } from './test-ledger.ts'
import { genesisOf, linkOf } from './test-ledger.ts'

/*
 * In-memory model of append_entries that decides items one after another. The top of
 * migrations/functions/append-entries.sql explains the outcomes and their precedence.
 */

export type Login = 'api' | 'worker'
type ModelEntry = {
  readonly seq: number
  readonly kind: string
  readonly subject: string
  readonly version: number | null
  readonly prevSeq: number | null
  readonly leaf: string
  readonly chain: string
  readonly document: string | null
}
/**
 * A record of the model. `count`: if a chunk begins with this record, the number of the chunk's records; null if the
 * record has its own entry.
 */
type ModelRecord = { readonly firstSeq: number; readonly count: number | null }
export type ModelGated = {
  readonly firstSeq: number
  readonly principal: string
  readonly gate: string
  readonly deadlineMs: number | null
  readonly maxRevisions: number
  performer: string | null
  state: string
  version: number
  lastSeq: number
  lastLeaf: string
  revisions: number
}
type Seen = { readonly keys: Set<string>; readonly subjects: Set<string> }
type FirstRequest = { readonly request: string; readonly seq: number }
type Answer = { readonly outcome: string; readonly seq: number }
export type ModelLedger = {
  readonly kid: string
  chain: Buffer
  readonly entries: ModelEntry[]
  readonly records: Map<string, ModelRecord>
  readonly gated: Map<string, ModelGated>
  /** Maps actor and idempotency key to the first request. */
  readonly requests: Map<string, FirstRequest>
}

const WORKER_KINDS: readonly string[] = ['completion-verified', 'record-expired', 'server-key-rotated']
const CLOCK_MS_MAX = 30_000

export const hex = (value: Uint8Array | Uuid): string =>
  typeof value === 'string' ? value : Buffer.from(value).toString('hex')

export class AppendModel {
  readonly ledgers = new Map<string, ModelLedger>()

  append(items: readonly TestEntry[], login: Login): Answer[] {
    // All items of a call are decided by the state at the start of the call.
    const found = new Map(
      [...this.ledgers].map(([id, ledger]) => [
        id,
        {
          gated: new Map([...ledger.gated].map(([record, gated]) => [record, { ...gated }])),
          requests: new Map(ledger.requests),
        },
      ]),
    )
    const seen: Seen = { keys: new Set(), subjects: new Set() }
    const answers: Answer[] = []
    const decide = (item: TestEntry, led?: ModelGated) => {
      const before = found.get(hex(item.ledgerId))
      const stands = item.version !== null && item.version > 1 ? gatedOf(before, item) : undefined
      const answer = this.#decide(item, login, seen, {
        first: item.idempotency ? before?.requests.get(requestOf(item)) : undefined,
        gated: led ?? stands,
        follows: led !== undefined,
      })
      if (item.idempotency) seen.keys.add(`${hex(item.ledgerId)} ${requestOf(item)}`)
      seen.subjects.add(`${hex(item.ledgerId)} ${hex(item.subjectId)}`)
      return answer
    }
    for (let i = 0; i < items.length; i++) {
      const [item, next] = [items[i]!, items[i + 1]]
      if (login === 'worker' && next && isPair(item, next)) {
        const led = leadBy(item, gatedOf(found.get(hex(item.ledgerId)), item))
        const pair = [decide(item), decide(next, led)]
        const both = pair.every(({ outcome }) => outcome === 'appended')
        const alone = (answer: Answer) => (answer.outcome === 'appended' ? refuse('again') : answer)
        answers.push(...(both ? [this.#append(item), this.#append(next)] : pair.map(alone)))
        i++
        continue
      }
      const answer = decide(item)
      answers.push(answer.outcome === 'appended' ? this.#append(item) : answer)
    }
    return answers
  }

  #decide(
    item: TestEntry,
    login: Login,
    seen: Seen,
    before: { first: FirstRequest | undefined; gated: ModelGated | undefined; follows: boolean },
  ): Answer {
    const { first, gated } = before
    const ledger = this.ledgers.get(hex(item.ledgerId))
    if (item.kind === 'ledger-created' ? ledger !== undefined : ledger === undefined) {
      return { outcome: 'refused_ledger', seq: first?.seq ?? 0 } // Any value: the seq of a refused item has no meaning.
    }
    if (first) {
      const same = first.request === hex(item.idempotency!.requestHash)
      return { outcome: same ? 'replayed' : 'conflict', seq: first.seq }
    }
    const sameKey = item.idempotency && seen.keys.has(`${hex(item.ledgerId)} ${requestOf(item)}`)
    const sameRecord =
      item.version !== null && seen.subjects.has(`${hex(item.ledgerId)} ${hex(item.subjectId)}`)
    // A second step of the same record in one call gets `again`. A step whose version the record has already reached is
    // refused instead.
    if (sameKey || (sameRecord && !before.follows && item.version > (gated?.version ?? 0)))
      return refuse('again')
    return refuse(decideKind(item, login, ledger) ?? decideStep(item, gated) ?? decideClock(item))
  }

  #append(item: TestEntry): Answer {
    const ledger = this.#open(item)
    const seq = ledger.entries.length
    ledger.chain = linkOf(ledger.chain, item.leaf)
    ledger.entries.push({
      seq,
      kind: item.kind,
      subject: hex(item.subjectId),
      version: item.version,
      prevSeq: gatedOf(ledger, item)?.lastSeq ?? null,
      leaf: hex(item.leaf),
      chain: hex(ledger.chain),
      document: item.document?.name ?? null,
    })
    if (item.idempotency) {
      ledger.requests.set(requestOf(item), { request: hex(item.idempotency.requestHash), seq })
    }
    moveRecords(ledger, item, seq)
    return { outcome: 'appended', seq }
  }

  #open(item: TestEntry): ModelLedger {
    const id = hex(item.ledgerId)
    let ledger = this.ledgers.get(id)
    if (!ledger) {
      const chain = genesisOf(item.ledgerId)
      const maps = { records: new Map(), gated: new Map(), requests: new Map() }
      ledger = { kid: hex(item.kid), chain, entries: [], ...maps }
      this.ledgers.set(id, ledger)
    }
    return ledger
  }
}

/** Adds the records that an item makes. If the item is a step, applies it to its gated record. */
export function moveRecords(ledger: ModelLedger, item: TestEntry, seq: number): void {
  for (const made of item.records) ledger.records.set(hex(made.recordId), { firstSeq: seq, count: null })
  for (const chunk of item.chunks)
    ledger.records.set(hex(chunk.firstRecordId), { firstSeq: seq, count: chunk.count })
  const stands = { state: item.toState!, version: item.version!, lastSeq: seq, lastLeaf: hex(item.leaf) }
  if (item.gated) {
    const { performerId, gate, deadlineMs, maxRevisions } = item.gated
    ledger.gated.set(hex(item.subjectId), {
      firstSeq: seq,
      principal: hex(item.partyId!),
      performer: performerId && hex(performerId),
      gate,
      deadlineMs,
      maxRevisions,
      revisions: 0,
      ...stands,
    })
    return
  }
  const gated = gatedOf(ledger, item)
  if (!gated || item.version === null) return
  if (item.kind === 'record-activated') gated.performer = hex(item.partyId!)
  if (item.kind === 'revision-requested') gated.revisions++
  Object.assign(gated, stands)
}

/** Returns true for the worker's completion-verified and the verdict directly after it. */
function isPair(item: TestEntry, next: TestEntry): boolean {
  return (
    item.kind === 'completion-verified' &&
    next.kind === 'verdict-rendered' &&
    next.actorId === null &&
    hex(item.ledgerId) === hex(next.ledgerId) &&
    hex(item.subjectId) === hex(next.subjectId) &&
    next.version === item.version! + 1 &&
    next.previousLeaf !== null &&
    hex(next.previousLeaf) === hex(item.leaf)
  )
}

/** Returns the state of the record after `item`. Does not check whether `item` may be appended. */
function leadBy(item: TestEntry, before: ModelGated | undefined): ModelGated {
  const nobody = { firstSeq: 0, principal: '', performer: null, gate: '', deadlineMs: null, maxRevisions: 0 }
  const to = { state: item.toState!, version: item.version!, lastLeaf: hex(item.leaf) }
  return { ...nobody, lastSeq: 0, revisions: 0, ...before, ...to }
}

function decideKind(item: TestEntry, login: Login, ledger: ModelLedger | undefined): string | null {
  const known = item.kind in ENTRY_KINDS
  const movesRecord =
    item.kind === 'batch-notarized' || (known && ENTRY_KINDS[item.kind as EntryKind].movesRecord)
  if (!known || movesRecord !== (item.version !== null)) return 'refused_kind'
  const workers = WORKER_KINDS.includes(item.kind) || (movesRecord && item.actorId === null)
  if (workers && login !== 'worker') return 'refused_kind'
  return ledger && hex(item.kid) !== ledger.kid ? 'stale' : null
}

function decideStep(item: TestEntry, gated: ModelGated | undefined): string | null {
  if (item.version === null) return null
  const known = (way: { from: string | null; kind: string; to: string }) =>
    way.from === (gated?.state ?? null) && way.kind === item.kind && way.to === item.toState
  const batch = { from: null, kind: 'batch-notarized', to: 'RECORDED' }
  if (![...LIFECYCLE, batch].some(known)) return 'refused_state'
  if (item.kind === 'revision-requested' && gated!.revisions >= gated!.maxRevisions) return 'refused_state'
  const previous = item.previousLeaf === null ? undefined : hex(item.previousLeaf)
  if (item.version !== (gated?.version ?? 0) + 1 || previous !== gated?.lastLeaf) return 'stale'
  if (!gated) return null
  if (!isEntitled(item, gated)) return 'refused_party'
  const late = gated.deadlineMs !== null && gated.deadlineMs <= Date.now()
  if (late && (item.kind === 'record-activated' || item.kind === 'completion-submitted'))
    return 'refused_deadline'
  return !late && item.kind === 'record-expired' ? 'refused_deadline' : null
}

/** Returns whether the item's party may take this step: the last column of the table in docs/reference/lifecycle.md. */
function isEntitled(item: TestEntry, gated: ModelGated): boolean {
  const party = item.actorId && item.partyId ? hex(item.partyId) : null
  switch (item.kind) {
    case 'completion-verified':
    case 'record-expired':
      return item.actorId === null
    case 'record-activated':
      return party !== null && party !== gated.principal && party === (gated.performer ?? party)
    case 'completion-submitted':
      return party !== null && party === gated.performer
    case 'verdict-overturned':
      return party !== null && party !== gated.performer
    case 'verdict-rendered':
      if (gated.gate === 'principal') return party === gated.principal
      return item.actorId === null && (gated.state === 'VERIFIED') === (item.toState === 'ACCEPTED')
    default:
      return party === gated.principal
  }
}

function decideClock(item: TestEntry): string {
  return Math.abs(item.recordedAtMs - Date.now()) > CLOCK_MS_MAX ? 'refused_clock' : 'appended'
}

const refuse = (outcome: string): Answer => ({ outcome, seq: 0 })

const gatedOf = (ledger: Pick<ModelLedger, 'gated'> | undefined, item: TestEntry) =>
  ledger?.gated.get(hex(item.subjectId))

const requestOf = (item: TestEntry): string =>
  `${item.actorId ? hex(item.actorId) : ''} ${item.idempotency ? hex(item.idempotency.keyHash) : ''}`
