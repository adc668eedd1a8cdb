import { performance } from 'node:perf_hooks'
import { type Answer, LoadConnection, type Target } from './connection.ts'
import type { Gate, LifecycleRequests, LifecycleStep } from './requests.ts'

export type LifecycleEvents = {
  /**
   * Called for each answer. `answer.body` is null except for a creation, a poll, a sampled answer or an unexpected
   * answer.
   */
  onAnswer(step: LifecycleStep, ms: number, answer: Answer, expected: boolean): void
  onBegin(): void
  /**
   * Called when a record is complete. `deliveredAt`: time of the completion's answer. `verifiedAt`: time when the
   * client saw the verification.
   */
  onComplete(record: CompleteRecord): void
  /** Called when the client gives up a record that it has started. The record stays as it is. */
  onAbandoned(): void
  onLost(wasInFlight: boolean, code: string): void
}

export type CompleteRecord = {
  readonly begunAt: number
  readonly deliveredAt: number
  readonly verifiedAt: number
  readonly looks: number
}

/** Pause in ms after a refusal, and before a reconnect. */
const PAUSE_MS = 50
const RECORD_ID = /^\{"id":"(rec_[0-9a-z]{26})"/
const STATE = /"state":"([A-Z]+)"/

/**
 * Runs one record at a time, from creation to verdict, on one keep-alive connection. It plays both parties, each with
 * its own API key. Each step is sent after the last one is answered. To wait for the worker, it sends one request
 * that the server answers after the verification.
 */
export class LifecycleClient {
  readonly #gate: Gate
  readonly #requests: LifecycleRequests
  readonly #events: LifecycleEvents
  readonly #connection: LoadConnection
  #step: LifecycleStep = 'create'
  #record = ''
  #begunAt = 0
  #deliveredAt = 0
  #verifiedAt = 0
  #looks = 0
  #isBusy = false
  #isStopped = false

  constructor(target: Target, gate: Gate, requests: LifecycleRequests, events: LifecycleEvents) {
    this.#gate = gate
    this.#requests = requests
    this.#events = events
    this.#connection = new LoadConnection(
      target,
      { next: () => requests.of(this.#step, this.#record) },
      {
        onAnswer: (answer) => this.#onAnswer(answer),
        onLost: (wasInFlight, code) => this.#onLost(wasInFlight, code),
      },
    )
  }

  open(): Promise<void> {
    return this.#connection.open()
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  get inFlight(): boolean {
    return this.#connection.inFlight
  }

  begin(): void {
    if (this.#isStopped) return
    this.#requests.turn()
    this.#isBusy = true
    this.#begunAt = performance.now()
    this.#looks = 0
    this.#events.onBegin()
    this.#send('create')
  }

  /** Stops the start of new lifecycles. Lifecycles in progress are completed. */
  stop(): void {
    this.#isStopped = true
  }

  close(): void {
    this.#isStopped = true
    this.#connection.close()
  }

  #send(step: LifecycleStep): void {
    this.#step = step
    const now = performance.now()
    this.#connection.send(now, now, step !== 'activate' && step !== 'complete')
  }

  #onAnswer(answer: Answer): void {
    const step = this.#step
    const expected = answer.status === (step === 'create' ? 201 : 200)
    this.#events.onAnswer(step, performance.now() - this.#connection.sentAt, answer, expected)
    if (!expected || !this.#goOn(step, answer.body)) this.#abandon()
  }

  /** Continues with the step after `step`. Returns false if the answer does not match `step`. */
  #goOn(step: LifecycleStep, body: string | null): boolean {
    if (step === 'create') {
      const record = RECORD_ID.exec(body!)?.[1]
      if (record === undefined) return false
      this.#record = record
      this.#send('activate')
    } else if (step === 'activate') this.#send('complete')
    else if (step === 'complete') {
      this.#deliveredAt = performance.now()
      this.#send('look')
    } else if (step === 'look') return this.#onPoll(STATE.exec(body!)?.[1])
    else this.#complete()
    return true
  }

  #onPoll(state: string | undefined): boolean {
    this.#looks++
    this.#verifiedAt = performance.now()
    if (state === 'SUBMITTED' || (state === 'VERIFIED' && this.#gate === 'auto')) this.#send('look')
    else if (state === 'VERIFIED') this.#send('judge')
    else if (state === 'ACCEPTED' && this.#gate === 'auto') this.#complete()
    else return false
    return true
  }

  #complete(): void {
    this.#isBusy = false
    this.#events.onComplete({
      begunAt: this.#begunAt,
      deliveredAt: this.#deliveredAt,
      verifiedAt: this.#verifiedAt,
      looks: this.#looks,
    })
    this.begin()
  }

  #abandon(): void {
    this.#isBusy = false
    this.#events.onAbandoned()
    setTimeout(() => this.begin(), PAUSE_MS)
  }

  #onLost(wasInFlight: boolean, code: string): void {
    this.#events.onLost(wasInFlight, code)
    if (this.#isBusy) this.#events.onAbandoned()
    this.#isBusy = false
    const reopen = () => {
      if (this.#isStopped) return
      this.open().then(
        () => this.begin(),
        () => void setTimeout(reopen, PAUSE_MS),
      )
    }
    setTimeout(reopen, PAUSE_MS)
  }
}
