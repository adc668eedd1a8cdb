import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Outcome of one request, as its client saw it. An *intent* is the request, however often it was sent. Each record of
 * the request has the intent's name in its payload. So records can be traced to their request even without an answer.
 *
 * - `acked`: a 201 named the records.
 * - `refused`: nothing was written, because the answer says so or because no connection was made. The request is not
 *   retried.
 * - `unknown`: there was no answer, or the answer does not say what happened. The request is not retried. Its records
 *   may be in the ledger once.
 */
export type JournalLine = {
  readonly intent: string
  readonly ledger: string
  readonly items: number
  readonly hasKey: boolean
  readonly outcome: 'acked' | 'refused' | 'unknown'
  /** Ids of the records in order; empty unless the outcome is `acked`. */
  readonly ids: readonly string[]
  /** Seq of the entry; −1 unless the outcome is `acked`. */
  readonly seq: number
  readonly replayed: boolean
  /** Time when the line was written, in Unix ms. */
  readonly atMs: number
}

/**
 * The file of one client. When `write` returns, the kernel has the line, so the line outlives every process that a
 * test kills. Tests never cut the power of the machine itself, and the file is never on a disk whose power is cut.
 */
export class Journal {
  readonly #file: number

  constructor(dir: string, client: number) {
    this.#file = openSync(join(dir, `client-${client}.ndjson`), 'a')
  }

  write(line: Omit<JournalLine, 'atMs'>): void {
    writeSync(this.#file, `${JSON.stringify({ ...line, atMs: Date.now() })}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

export function readJournals(dir: string): JournalLine[] {
  return readdirSync(dir)
    .filter((name) => /^client-\d+\.ndjson$/.test(name))
    .flatMap((name) => readFileSync(join(dir, name), 'utf8').trimEnd().split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JournalLine)
}
