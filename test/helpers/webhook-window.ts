import assert from 'node:assert/strict'
import { DeliveryWindow, type Outcome, type Task } from '../../src/outside/webhooks/window.ts'
import type { Uuid } from '../../src/proof/ids.ts'

type State = 'pending' | 'held' | 'delivered' | 'dead'
type Row = { state: State; due: boolean }
type Answer = Exclude<Outcome, 'held'>
type Event = { readonly id: Uuid; readonly record: string | null; readonly at: number }
type SimTask = Task<Event>

const STRAGGLER_STEPS = 3

/**
 * Simulates a sender with a DeliveryWindow. The stream of events, the rows and the cursor are plain values. At most one
 * database call runs at a time. While a call runs, deliveries are answered. The simulation asserts the window's
 * guarantees.
 */
export class WindowSim {
  readonly #stream: Event[] = []
  readonly #rows = new Map<string, Row>()
  #cursor = 0
  #window = this.#newWindow()
  #underWay: SimTask[] = []
  /**
   * Completes the database call in progress, with the data from when the call began; null if no call is in progress.
   */
  #busy: (() => void) | null = null
  #now = 0
  readonly #sent = new Set<string>()
  readonly #done = new Set<string>()

  append(record: string | null): void {
    const at = this.#stream.length
    this.#stream.push({ id: `${record ?? 'none'} ${at}` as Uuid, record, at })
  }

  /** Starts the next read. Returns false if no read is possible now. */
  beginNext(most: number): boolean {
    if (this.#busy) return false
    const { seq } = this.#window.read
    const page = this.#stream.slice(seq, seq + most)
    if (page.length === 0) return false
    const open = new Set(page.filter(({ record }) => this.#isOpen(record)).map(({ record }) => record))
    const fresh = page.filter(({ id }) => !this.#rows.has(id))
    this.#busy = () => {
      for (const event of fresh)
        this.#window.add(taskOf(event, positionOf(event.at + 1)), open.has(event.record))
      this.#window.readTo(positionOf(seq + page.length))
    }
    return true
  }

  beginDue(): boolean {
    if (this.#busy || this.#window.writes > 0) return false
    const inHand = new Set(this.#window.ids())
    const due = this.#stream.filter(({ id }) => {
      const row = this.#rows.get(id)
      return row?.state === 'pending' && row.due && !inHand.has(id)
    })
    if (due.length === 0) return false
    this.#busy = () => {
      for (const event of due) this.#window.add(taskOf(event, null), false)
    }
    return true
  }

  beginWrite(withStragglers: boolean): boolean {
    if (this.#busy) return false
    this.#busy = this.#write(withStragglers)
    return true
  }

  endStep(): boolean {
    const step = this.#busy
    this.#busy = null
    step?.()
    return step !== null
  }

  send(): boolean {
    const task = this.#window.next(this.#now++)
    if (!task) return false
    const { id, record } = task.content
    this.#requireFirst(task.content)
    assert.ok(
      record === null || this.#underWay.every(({ content }) => content.record !== record),
      `two of ${record} are under way`,
    )
    this.#sent.add(id)
    this.#underWay.push(task)
    return true
  }

  answer(which: number, outcome: Answer): boolean {
    const task = this.#underWay.splice(which % Math.max(1, this.#underWay.length), 1)[0]
    if (!task) return false
    this.#now++
    if (outcome !== 'retry') this.#done.add(task.id)
    this.#window.settle(task, outcome, 'result')
    return true
  }

  /** Advances the time until all pending deliveries are due. */
  wait(): void {
    for (const row of this.#rows.values()) row.due = true
  }

  /** Redelivers an event like a request to the API. Returns false if no event can be redelivered. */
  redeliver(which: number): boolean {
    const done = this.#stream.filter(({ id }) =>
      ['delivered', 'dead'].includes(this.#rows.get(id)?.state ?? ''),
    )
    const event = done[which % Math.max(1, done.length)]
    if (!event) return false
    const earlier = this.#stream.slice(0, event.at).filter(({ record }) => record === event.record)
    const waits = event.record !== null && earlier.some(({ id }) => this.#isOpenRow(id))
    this.#rows.set(event.id, { state: waits ? 'held' : 'pending', due: true })
    return true
  }

  /** Simulates a crash: only written state remains. The effect of a call in progress is unknown. */
  crash(): void {
    this.#busy = null
    this.#underWay = []
    this.#window = this.#newWindow()
  }

  /** Runs until every delivery is answered and no work is left. */
  finish(): void {
    for (let rounds = 0; rounds < 10_000; rounds++) {
      this.wait()
      const steps = [
        () => this.endStep(),
        () => this.#window.writes > 0 && this.beginWrite(false),
        () => this.answer(0, 'delivered'),
        () => this.send(),
        () => this.beginDue(),
        () => this.beginNext(5),
      ]
      if (!steps.some((step) => step())) break
    }
    this.#write(false)()
    const lost = this.#stream.filter(({ id }) => !this.#done.has(id))
    assert.deepEqual(lost, [], 'never delivered')
    assert.equal(this.#cursor, this.#stream.length, 'the cursor is at the end')
    const open = this.#stream.filter(({ id }) => this.#isOpenRow(id))
    assert.deepEqual(open, [], 'still open')
  }

  /** Asserts the order of events within each record: all earlier events were delivered or given up. */
  #requireFirst({ id, record, at }: Event): void {
    if (record === null || this.#sent.has(id)) return
    const earlier = this.#stream
      .slice(0, at)
      .filter((other) => other.record === record && !this.#done.has(other.id))
    assert.deepEqual(earlier, [], `${id} is sent before`)
  }

  #newWindow(): DeliveryWindow<Event, string> {
    return new DeliveryWindow(positionOf(this.#cursor))
  }

  /**
   * Takes the writes that are ready in the window. Returns a function that writes their rows and the cursor, like one
   * transaction.
   */
  #write(withStragglers: boolean): () => void {
    const sentBefore = withStragglers ? this.#now - STRAGGLER_STEPS : Number.NEGATIVE_INFINITY
    const { writes, position } = this.#window.takeWrites(sentBefore)
    return () => {
      for (const { task, outcome } of writes) {
        const state = outcome === null || outcome === 'retry' ? 'pending' : outcome
        this.#rows.set(task.id, { state, due: false })
      }
      this.#cursor = Math.max(this.#cursor, position.seq)
      const passed = this.#stream.slice(0, this.#cursor)
      assert.ok(
        passed.every(({ id }) => this.#rows.has(id)),
        'the cursor has passed what has no row',
      )
      this.#window.confirm(writes)
      for (const { task, outcome, stored } of writes)
        if (
          task.record !== null &&
          (outcome === 'held' || (stored && outcome !== 'retry' && outcome !== null))
        )
          this.#release(task.record)
    }
  }

  #release(record: string): void {
    const open = this.#stream.filter((event) => event.record === record && this.#isOpenRow(event.id))
    if (open.length > 0 && open.every(({ id }) => this.#rows.get(id)!.state === 'held'))
      this.#rows.set(open[0]!.id, { state: 'pending', due: true })
  }

  #isOpen(record: string | null): boolean {
    return this.#stream.some(
      (event) => event.record === record && record !== null && this.#isOpenRow(event.id),
    )
  }

  #isOpenRow(id: string): boolean {
    return ['pending', 'held'].includes(this.#rows.get(id)?.state ?? '')
  }
}

function positionOf(seq: number) {
  return { seq, eventsDelivered: 0, checkpoint: 0 }
}

function taskOf(event: Event, after: SimTask['after']): SimTask {
  return { id: event.id, record: event.record, after, content: event }
}
