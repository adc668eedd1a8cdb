import type { Uuid } from '../../proof/ids.ts'
import type { EventPosition } from '../events/read-events.ts'

/** A delivery that is to be made. */
export type Task<Content> = {
  readonly id: Uuid
  /** Record whose events are delivered one after another; null: no record. */
  readonly record: string | null
  /** Behind it in the ledger's stream; null: it was read from its row, which is behind the cursor. */
  readonly after: EventPosition | null
  readonly content: Content
}

/** Outcome of a delivery; `retry`: it stays pending; `held`: an earlier one of its record does. */
export type Outcome = 'delivered' | 'dead' | 'retry' | 'held'

export type Write<Content, Result> = {
  readonly task: Task<Content>
  /** null: it is under way, and only written down so that the cursor can pass it. */
  readonly outcome: Outcome | null
  readonly result: Result | null
  /** It had a row before. */
  readonly stored: boolean
}

type Slot<Content, Result> = {
  readonly task: Task<Content>
  state: 'queued' | 'sent' | 'settled'
  sentAtMs: number
  /** It has a row, or the next write gives it one. */
  written: boolean
  outcome: Outcome | null
  result: Result | null
}

/**
 * Deliveries under way to one endpoint, in order for each record and otherwise in any, and how far its cursor may move. Holds
 * no clock and does no I/O.
 *
 * The cursor may pass a delivery once that has a row. A delivery that is settled beyond one still under way gets its
 * row as well, so that the next worker, from the cursor on, finds that it is dealt with.
 */
export class DeliveryWindow<Content, Result> {
  /** From the stream, in its order, from the cursor on. */
  #stream: Slot<Content, Result>[] = []
  readonly #slots = new Map<Uuid, Slot<Content, Result>>()
  readonly #queue = new Set<Slot<Content, Result>>()
  /** Unsettled deliveries of each record, oldest first. */
  readonly #records = new Map<string, Slot<Content, Result>[]>()
  /**
   * Records of which one is to be tried again, and has no row that says so yet, so rows that are read meanwhile do not
   * know.
   */
  readonly #failed = new Set<string>()
  #writes = new Map<string, Slot<Content, Result>>()
  #passed: EventPosition
  #read: EventPosition
  #sent = 0

  constructor(position: EventPosition) {
    this.#passed = position
    this.#read = position
  }

  get queued(): number {
    return this.#queue.size
  }

  get underWay(): number {
    return this.#sent
  }

  get writes(): number {
    return this.#writes.size
  }

  /** Up to where the stream was read. */
  get read(): EventPosition {
    return this.#read
  }

  /** Ids in hand: neither settled nor dropped, or not written yet. */
  ids(): Uuid[] {
    return [...this.#slots.keys()]
  }

  /**
   * `isRecordOpen`: rows of its record are pending or held; the next one of the stream waits for them. false: it has a row, and
   * waits for what has just failed; it is to be read again once that is written.
   */
  add(task: Task<Content>, isRecordOpen: boolean): boolean {
    const { record, after } = task
    if (record === null) {
      this.#queue.add(this.#take(task, 'queued'))
      return true
    }
    const others = this.#records.get(record) ?? []
    const hasFailed = this.#failed.has(record)
    if (after === null && hasFailed) return false
    // Behind one without a row it must be sent after that one, and so can't have a row before.
    const mustHold = hasFailed || (isRecordOpen && others.every(({ written }) => written))
    if (after !== null && mustHold) {
      this.#settle(this.#take(task, 'settled'), 'held', null)
      return true
    }
    const slot = this.#take(task, 'queued')
    this.#queue.add(slot)
    this.#records.set(record, [...others, slot])
    return true
  }

  /** The stream was read up to here; nothing after what was added so far is wanted. */
  readTo(position: EventPosition): void {
    this.#read = position
  }

  /** One that may be sent now, and counts as sent. */
  next(nowMs: number): Task<Content> | null {
    for (const slot of this.#queue) {
      const { record } = slot.task
      if (record !== null && this.#records.get(record)![0] !== slot) continue
      this.#queue.delete(slot)
      slot.state = 'sent'
      slot.sentAtMs = nowMs
      this.#sent++
      return slot.task
    }
    return null
  }

  /** Settles a sent delivery. One that stays pending holds the later ones of its record. */
  settle(task: Task<Content>, outcome: Exclude<Outcome, 'held'>, result: Result): void {
    const slot = this.#slots.get(task.id)!
    this.#sent--
    this.#settle(slot, outcome, result)
    if (task.record === null) return
    if (outcome === 'retry') {
      this.#failed.add(task.record)
      this.#holdBehind(slot)
    }
    const [, ...later] = this.#records.get(task.record)!
    if (later.length > 0) this.#records.set(task.record, later)
    else this.#records.delete(task.record)
  }

  /** Drops a delivery that is no longer under way, without an outcome: it will be sent again. */
  drop(task: Task<Content>): void {
    this.#sent--
    const slot = this.#slots.get(task.id)!
    slot.state = 'queued'
  }

  /**
   * Takes the rows to write, and the position that holds once they are written. Deliveries sent before `sentBeforeMs` that keep
   * the cursor from moving are written as they stand, and those that wait for them are held.
   */
  takeWrites(sentBeforeMs: number): { writes: Write<Content, Result>[]; position: EventPosition } {
    let passed = 0
    for (const slot of this.#stream) {
      this.#writeStraggler(slot, sentBeforeMs)
      if (slot.state !== 'settled' && !slot.written && !this.#writes.has(slot.task.id)) break
      this.#passed = slot.task.after!
      passed++
    }
    this.#stream = this.#stream.slice(passed)
    const writes = [...this.#writes.values()].map((slot) => {
      const { task, outcome, result, written } = slot
      slot.written = true
      return { task, outcome, result, stored: written }
    })
    this.#writes = new Map()
    return { writes, position: this.#stream.length === 0 ? this.#read : this.#passed }
  }

  /** These stand in the database. */
  confirm(writes: readonly Write<Content, Result>[]): void {
    for (const { task, outcome } of writes) {
      if (outcome === 'retry' && task.record !== null) this.#failed.delete(task.record)
      const isDone = this.#slots.get(task.id)?.state === 'settled'
      // One that was under way when it was written, and is settled since, is to be written again.
      if (isDone && !this.#writes.has(task.id)) this.#slots.delete(task.id)
    }
  }

  #take(task: Task<Content>, state: Slot<Content, Result>['state']): Slot<Content, Result> {
    const written = task.after === null
    const slot = { task, state, sentAtMs: 0, written, outcome: null, result: null }
    this.#slots.set(task.id, slot)
    if (task.after !== null) this.#stream.push(slot)
    return slot
  }

  #writeStraggler(slot: Slot<Content, Result>, sentBeforeMs: number): void {
    const isSlow = ({ state, sentAtMs }: Slot<Content, Result>) => state === 'sent' && sentAtMs < sentBeforeMs
    const { id, record } = slot.task
    if (isSlow(slot) && !slot.written) this.#writes.set(id, slot)
    if (slot.state !== 'queued' || record === null) return
    const first = this.#records.get(record)![0]!
    if (isSlow(first)) this.#holdBehind(first)
  }

  /** Holds deliveries without a row; the row of the others says whether they are held. */
  #holdBehind(first: Slot<Content, Result>): void {
    const record = first.task.record!
    const [, ...later] = this.#records.get(record)!
    this.#records.set(record, [first])
    for (const slot of later) {
      this.#queue.delete(slot)
      if (slot.written) this.#slots.delete(slot.task.id)
      else this.#settle(slot, 'held', null)
    }
  }

  #settle(slot: Slot<Content, Result>, outcome: Outcome, result: Result | null): void {
    slot.state = 'settled'
    slot.outcome = outcome
    slot.result = result
    this.#writes.set(slot.task.id, slot)
  }
}
