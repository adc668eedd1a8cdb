import type { Uuid } from '../../proof/ids.ts'
import type { EventPosition } from '../events/read-events.ts'

export type Task<Content> = {
  readonly id: Uuid
  /** Record that the event is about. Events of one record are delivered in order. null if the event has no record. */
  readonly record: string | null
  /**
   * Position after the event in the ledger's stream. null if the delivery was read from its row. Then the cursor has
   * already passed the event.
   */
  readonly after: EventPosition | null
  readonly content: Content
}

/**
 * Outcome of a delivery.
 *
 * - `retry`: the delivery stays pending.
 * - `held`: the delivery waits for an earlier delivery of its record.
 */
export type Outcome = 'delivered' | 'dead' | 'retry' | 'held'

export type Write<Content, Result> = {
  readonly task: Task<Content>
  /**
   * Outcome to write. null if the delivery is still under way. Then its row is written only so that the cursor can pass
   * the delivery.
   */
  readonly outcome: Outcome | null
  readonly result: Result | null
  /** True if the delivery already had a row. */
  readonly stored: boolean
}

type Slot<Content, Result> = {
  readonly task: Task<Content>
  state: 'queued' | 'sent' | 'settled'
  sentAtMs: number
  /** True if the delivery has a row, or gets one with the next write. */
  written: boolean
  outcome: Outcome | null
  result: Result | null
}

/**
 * Tracks the deliveries under way to one endpoint, and the position up to which its cursor may move. Uses no clock and
 * no I/O. Deliveries of one record are sent in order, all other deliveries in any order.
 *
 * The cursor may pass a delivery that has a row. If a delivery is settled while an earlier delivery is still under way,
 * the settled delivery gets a row too. So the next worker does not send it again.
 */
export class DeliveryWindow<Content, Result> {
  /** Deliveries of the stream, in the stream's order, starting at the cursor. */
  #stream: Slot<Content, Result>[] = []
  readonly #slots = new Map<Uuid, Slot<Content, Result>>()
  readonly #queue = new Set<Slot<Content, Result>>()
  /** Unsettled deliveries of each record, oldest first. */
  readonly #records = new Map<string, Slot<Content, Result>[]>()
  /**
   * Ids of records with a delivery that must be retried. An id stays until the delivery's row is written as pending. A
   * row of such a record that was read before then is out of date.
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

  get read(): EventPosition {
    return this.#read
  }

  /** Ids of deliveries that are not settled, or whose outcome is not written yet. */
  ids(): Uuid[] {
    return [...this.#slots.keys()]
  }

  /**
   * Adds a delivery.
   *
   * `isRecordOpen`: true if the record has rows that are pending or waiting. The record's next event in the stream must
   * wait for these rows. Returns false if the delivery has a row and an earlier delivery of its record has just failed.
   * The caller must read the row again after that failure is written.
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
    // If an earlier delivery of the record has no row yet, this delivery must not get a row first. So it is queued
    // behind the earlier delivery.
    const mustWait = hasFailed || (isRecordOpen && others.every(({ written }) => written))
    if (after !== null && mustWait) {
      this.#settle(this.#take(task, 'settled'), 'held', null)
      return true
    }
    const slot = this.#take(task, 'queued')
    this.#queue.add(slot)
    this.#records.set(record, [...others, slot])
    return true
  }

  /**
   * Sets the position up to which the stream was read. Events between the last added delivery and this position were
   * unwanted.
   */
  readTo(position: EventPosition): void {
    this.#read = position
  }

  /** Returns a delivery that may be sent now, and counts it as sent. */
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

  /** Settles a sent delivery. After `retry`, later deliveries of its record wait for this delivery. */
  settle(task: Task<Content>, outcome: Exclude<Outcome, 'held'>, result: Result): void {
    const slot = this.#slots.get(task.id)!
    this.#sent--
    this.#settle(slot, outcome, result)
    if (task.record === null) return
    if (outcome === 'retry') {
      this.#failed.add(task.record)
      this.#makeWait(slot)
    }
    const [, ...later] = this.#records.get(task.record)!
    if (later.length > 0) this.#records.set(task.record, later)
    else this.#records.delete(task.record)
  }

  /** Takes back an aborted delivery without an outcome. The next worker sends it again. */
  drop(task: Task<Content>): void {
    this.#sent--
    const slot = this.#slots.get(task.id)!
    slot.state = 'queued'
  }

  /**
   * Takes the rows to write, and the cursor's position after that write. Unsettled deliveries that were sent before
   * `sentBeforeMs` and block the cursor are written too. Deliveries that wait for such a delivery are written as
   * `held`.
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

  /** Must be called when the rows of these writes are committed. */
  confirm(writes: readonly Write<Content, Result>[]): void {
    for (const { task, outcome } of writes) {
      if (outcome === 'retry' && task.record !== null) this.#failed.delete(task.record)
      const isDone = this.#slots.get(task.id)?.state === 'settled'
      // A delivery that was written while under way and was settled later must be written again, so it stays.
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
    if (isSlow(first)) this.#makeWait(first)
  }

  /**
   * Marks those later deliveries of the record that have no row as `held`. Drops the later deliveries with a row,
   * because their rows say whether they wait.
   */
  #makeWait(first: Slot<Content, Result>): void {
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
