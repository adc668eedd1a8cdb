import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningClients } from '../faults/clients.ts'
import { Committer } from './cluster.ts'
import { Gaps } from './gaps.ts'

const LOOK_EVERY_MS = 10
const PROBE_EVERY_MS = 50

/**
 * Measures the longest times without a commit. For the cluster, a separate client commits through HAProxy and waits
 * for standbys. For records, the clients' answers count.
 */
export class GapWatch {
  readonly #clients: RunningClients
  readonly #gaps = new Gaps(performance.now())
  readonly #timer: NodeJS.Timeout
  readonly #probing: Promise<void>
  #written = 0
  #isStopped = false

  constructor(clients: RunningClients, databaseUrl: string) {
    this.#clients = clients
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
    this.#probing = this.#probe(databaseUrl)
  }

  begin(): void {
    this.#gaps.begin(performance.now())
  }

  get longest(): Gaps['longest'] {
    return this.#gaps.longest
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    await this.#probing
  }

  /** Checks for new records. A replayed answer does not count, because it needs no commit. */
  #look(): void {
    const written = this.#clients.attempts['201'] ?? 0
    if (written !== this.#written) this.#gaps.recordWritten(performance.now())
    this.#written = written
  }

  async #probe(databaseUrl: string): Promise<void> {
    const committer = new Committer(databaseUrl)
    for (; !this.#isStopped; await sleep(PROBE_EVERY_MS)) {
      const timeline = await committer.commit().catch(() => null) // The timeline is null if the cluster is unavailable.
      if (timeline !== null) this.#gaps.clusterCommitted(performance.now())
    }
    await committer.end()
  }
}
