import type { TestEntry } from './test-ledger.ts'
import { genesisOf, linkOf, STEP_KIND } from './test-ledger.ts'

/*
 * What append_entries should do, one item after another in order, in memory. The list of outcomes and their
 * precedence is the one at the top of migrations/0002-append-entries.sql.
 */

type ModelEntry = {
  readonly seq: number
  readonly kind: string
  readonly subject: string
  readonly version: number | null
  readonly prevSeq: number | null
  readonly leaf: string
  readonly chain: string
}
type ModelRecord = {
  readonly firstSeq: number
  readonly index: number | null
  state: string
  version: number
  lastSeq: number
  lastLeaf: string
}
type Seen = { readonly keys: Set<string>; readonly records: Map<string, ModelRecord | undefined> }
type FirstRequest = { readonly request: string; readonly seq: number; readonly call: number }
export type ModelLedger = {
  readonly kid: string
  chain: Buffer
  readonly entries: ModelEntry[]
  readonly records: Map<string, ModelRecord>
  /** By actor and key. */
  readonly requests: Map<string, FirstRequest>
}

const KINDS: Record<string, { recordEvent: boolean; workerOnly: boolean }> = {
  'record-notarized': { recordEvent: true, workerOnly: false },
  'batch-notarized': { recordEvent: true, workerOnly: false },
  [STEP_KIND]: { recordEvent: true, workerOnly: false },
  'test-worker-step': { recordEvent: true, workerOnly: true },
  'agent-registered': { recordEvent: false, workerOnly: false },
  'key-created': { recordEvent: false, workerOnly: false },
  'ledger-created': { recordEvent: false, workerOnly: false },
}
const TRANSITIONS = new Set([
  ' record-notarized RECORDED',
  ' batch-notarized RECORDED',
  `RECORDED ${STEP_KIND} DONE`,
  `DONE ${STEP_KIND} DONE`,
  'RECORDED test-worker-step DONE',
])
const CLOCK_MS_MAX = 30_000

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export class AppendModel {
  readonly ledgers = new Map<string, ModelLedger>()
  #call = 0

  /** One call by the API's login. */
  append(items: readonly TestEntry[]): { outcome: string; seq: number }[] {
    const seen: Seen = { keys: new Set(), records: new Map() }
    this.#call++
    return items.map((item) => {
      const id = `${hex(item.ledgerId)} ${hex(item.subjectId)}`
      const record = this.ledgers.get(hex(item.ledgerId))?.records.get(hex(item.subjectId))
      const before = seen.records.has(id) ? seen.records.get(id) : record && { ...record }
      const answer = this.#decide(item, seen, before)
      if (item.idempotency) seen.keys.add(`${hex(item.ledgerId)} ${requestOf(item)}`)
      seen.records.set(id, before)
      return answer
    })
  }

  /** `before`: the item's record as the call found it. */
  #decide(item: TestEntry, seen: Seen, before: ModelRecord | undefined): { outcome: string; seq: number } {
    const refuse = (outcome: string) => ({ outcome, seq: 0 })
    const ledger = this.ledgers.get(hex(item.ledgerId))
    const taken = item.idempotency && ledger?.requests.get(requestOf(item))
    const first = taken && taken.call < this.#call ? taken : null // a key of this call is not known yet
    if (item.kind === 'ledger-created' ? ledger !== undefined : ledger === undefined) {
      return { outcome: 'refused_ledger', seq: first?.seq ?? 0 } // the seq means nothing
    }
    if (first) {
      const same = first.request === hex(item.idempotency!.requestHash)
      return { outcome: same ? 'replayed' : 'conflict', seq: first.seq }
    }
    const sameKey = item.idempotency && seen.keys.has(`${hex(item.ledgerId)} ${requestOf(item)}`)
    const from = item.version !== null && item.version > 1 ? before : undefined
    const sameRecord =
      item.version !== null && seen.records.has(`${hex(item.ledgerId)} ${hex(item.subjectId)}`)
    // A step that the record has passed is decided at once.
    if (sameKey || (sameRecord && item.version > (from?.version ?? 0))) return refuse('again')
    const kind = KINDS[item.kind]
    if (!kind || kind.workerOnly || kind.recordEvent !== (item.version !== null))
      return refuse('refused_kind')
    if (ledger && hex(item.kid) !== ledger.kid) return refuse('stale')
    if (kind.recordEvent) {
      if (!TRANSITIONS.has(`${from?.state ?? ''} ${item.kind} ${item.toState}`))
        return refuse('refused_state')
      const previous = item.previousLeaf === null ? undefined : hex(item.previousLeaf)
      if (item.version !== (from?.version ?? 0) + 1 || previous !== from?.lastLeaf) return refuse('stale')
    }
    const record = from && ledger!.records.get(hex(item.subjectId))
    if (Math.abs(item.recordedAtMs - Date.now()) > CLOCK_MS_MAX) return refuse('refused_clock')
    return { outcome: 'appended', seq: this.#apply(item, record) }
  }

  #apply(item: TestEntry, record: ModelRecord | undefined): number {
    const ledger = this.#open(item)
    const seq = ledger.entries.length
    ledger.chain = linkOf(ledger.chain, item.leaf)
    ledger.entries.push({
      seq,
      kind: item.kind,
      subject: hex(item.subjectId),
      version: item.version,
      prevSeq: record?.lastSeq ?? null,
      leaf: hex(item.leaf),
      chain: hex(ledger.chain),
    })
    if (item.idempotency) {
      ledger.requests.set(requestOf(item), {
        request: hex(item.idempotency.requestHash),
        seq,
        call: this.#call,
      })
    }
    const now = {
      state: item.toState ?? '',
      version: item.version ?? 0,
      lastSeq: seq,
      lastLeaf: hex(item.leaf),
    }
    if (record) Object.assign(record, now)
    for (const made of item.records) {
      ledger.records.set(hex(made.recordId), { firstSeq: seq, index: made.index, ...now })
    }
    return seq
  }

  #open(item: TestEntry): ModelLedger {
    const id = hex(item.ledgerId)
    let ledger = this.ledgers.get(id)
    if (!ledger) {
      const chain = genesisOf(item.ledgerId)
      ledger = { kid: hex(item.kid), chain, entries: [], records: new Map(), requests: new Map() }
      this.ledgers.set(id, ledger)
    }
    return ledger
  }
}

const requestOf = (item: TestEntry): string =>
  `${item.actorId ? hex(item.actorId) : ''} ${item.idempotency ? hex(item.idempotency.keyHash) : ''}`
