import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Outcome of one request, as its client saw it. An *intent* is the request whatever the number of attempts; its
 * name stands in the payload of each record that it makes, so that records can be traced to it without an answer.
 *
 * - `acked`: a 201 named the records.
 * - `refused`: an answer, or a connection that was never made, said that nothing was written. Not retried.
 * - `unknown`: no answer, or one that leaves it open. Not retried: it may be in the ledger, once.
 */
export type JournalLine = {
  readonly intent: string
  readonly ledger: string
  /** Records that the request asks for. */
  readonly items: number
  readonly hasKey: boolean
  readonly outcome: 'acked' | 'refused' | 'unknown'
  /** In order; empty unless acked. */
  readonly ids: readonly string[]
  /** −1 unless acked. */
  readonly seq: number
  readonly replayed: boolean
  /** When it was written down. Unix ms. */
  readonly atMs: number
}

/**
 * One client's own file. A line has left this process when `write` returns (the kernel has it), so it outlives every
 * process that a test kills; the machine itself is never cut off, and the file is never on a disk that is.
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

/** Everything that all clients wrote down. */
export function readJournals(dir: string): JournalLine[] {
  return readdirSync(dir)
    .filter((name) => /^client-\d+\.ndjson$/.test(name))
    .flatMap((name) => readFileSync(join(dir, name), 'utf8').trimEnd().split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JournalLine)
}
