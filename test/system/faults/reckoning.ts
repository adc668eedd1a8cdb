import type { JournalLine } from './journal.ts'

export type StoredRecord = {
  readonly ledger: string
  readonly id: string
  readonly seq: number
  /**
   * The request that made the record, and the record's position in that request. The record's payload contains both.
   */
  readonly intent: string
  readonly item: number
}

/** Counts of records, unless a member's comment says otherwise. `lost`, `doubled`, `ghosts` and `torn` must be 0. */
export type Reckoning = {
  readonly acked: number
  readonly found: number
  readonly lost: number
  /** Number of additional records for items that have more than one record. */
  readonly doubled: number
  /**
   * Number of records in the ledger that should not exist. Either the client was told that nothing was written, or the
   * record was never sent.
   */
  readonly ghosts: number
  readonly torn: number
  /** Number of requests with an unknown outcome, and the number of these requests that are in the ledger. */
  readonly unknown: number
  readonly unknownFound: number
  readonly refused: number
  readonly replayed: number
}

export function reckon(journal: readonly JournalLine[], stored: readonly StoredRecord[]): Reckoning {
  const byIntent = Map.groupBy(stored, (record) => record.intent)
  const counts = {
    acked: 0,
    found: 0,
    lost: 0,
    doubled: 0,
    ghosts: 0,
    torn: 0,
    unknown: 0,
    unknownFound: 0,
    refused: 0,
    replayed: 0,
  }
  for (const line of journal) {
    const records = byIntent.get(line.intent) ?? []
    byIntent.delete(line.intent)
    counts.doubled += records.length - new Set(records.map((record) => record.item)).size
    if (records.length > 0 && records.length < line.items) counts.torn++
    if (line.outcome === 'acked') {
      const found = countFound(line, records)
      counts.acked += line.ids.length
      counts.found += found
      counts.lost += line.ids.length - found
      if (line.replayed) counts.replayed++
    } else if (line.outcome === 'refused') {
      counts.refused++
      counts.ghosts += records.length
    } else {
      counts.unknown++
      if (records.length > 0) counts.unknownFound++
    }
  }
  for (const records of byIntent.values()) counts.ghosts += records.length
  return counts
}

function countFound(line: JournalLine, records: readonly StoredRecord[]): number {
  const byItem = new Map(records.map((record) => [record.item, record]))
  return line.ids.filter((id, item) => {
    const record = byItem.get(item)
    return (
      record !== undefined && record.id === id && record.seq === line.seq && record.ledger === line.ledger
    )
  }).length
}

/** Formats the line that every fault test prints. */
export function formatReckoning(r: Reckoning): string {
  return (
    `acked=${r.acked} found=${r.found} lost=${r.lost} doubled=${r.doubled} ghosts=${r.ghosts} torn=${r.torn} ` +
    `requests: unknown=${r.unknown} (${r.unknownFound} of them in the ledger) refused=${r.refused} replayed=${r.replayed}`
  )
}
