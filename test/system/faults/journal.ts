import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Outcome of one request, as its client saw it. An *intent* is the request, however often it was sent. The intent's
 * name is in the payload of each of its records, so that records can be traced to it without an answer.
 *
 * - `acked`: a 201 named the records.
 * - `refused`: an answer, or a connection that was never made, means that nothing was written. Not retried.
 * - `unknown`: no answer, or one that leaves it open. Not retried: it may be in the ledger, once.
 */
export type JournalLine = {
  readonly intent: string
  readonly ledger: string
  readonly items: number
  readonly hasKey: boolean
  readonly outcome: 'acked' | 'refused' | 'unknown'
  /** In order; empty unless acked. */
  readonly ids: readonly string[]
  /** −1 unless acked. */
  readonly seq: number
  readonly replayed: boolean
  /** Time when the line was written. Unix ms. */
  readonly atMs: number
}

/**
 * One client's own file. When `write` returns, the kernel has the line, so it outlives every process that a test
 * kills. The machine itself is never cut off, and the file is never on a disk that is.
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
