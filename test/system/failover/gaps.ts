import { PROBE_GAP_MS_MAX } from './limits.ts'

/** Tracks the times in which the cluster, or our clients, had no commit. All times are ms of one clock. */
export class Gaps {
  #clusterAtMs: number
  /** Time in ms since which the cluster has committed without a gap. */
  #upSinceMs: number
  #recordsAtMs: number
  #longest = { cluster: 0, records: 0, beyond: 0 }

  constructor(nowMs: number) {
    this.#clusterAtMs = this.#upSinceMs = this.#recordsAtMs = nowMs
  }

  begin(nowMs: number): void {
    this.#recordsAtMs = Math.max(this.#recordsAtMs, nowMs)
    this.#longest = { cluster: 0, records: 0, beyond: 0 }
  }

  clusterCommitted(atMs: number): void {
    const gapMs = atMs - this.#clusterAtMs
    if (gapMs > PROBE_GAP_MS_MAX) this.#upSinceMs = atMs
    this.#clusterAtMs = atMs
    this.#longest.cluster = Math.max(this.#longest.cluster, gapMs)
    const beyondMs = atMs - Math.max(this.#upSinceMs, this.#recordsAtMs)
    this.#longest.beyond = Math.max(this.#longest.beyond, beyondMs)
  }

  recordWritten(atMs: number): void {
    this.#longest.records = Math.max(this.#longest.records, atMs - this.#recordsAtMs)
    this.#recordsAtMs = atMs
  }

  /**
   * Longest times in ms since `begin`. `beyond` is the time in which the cluster committed but no client's record was
   * written.
   */
  get longest(): { readonly cluster: number; readonly records: number; readonly beyond: number } {
    return this.#longest
  }
}
