import type { JournalLine } from './journal.ts'

/** A record as the database holds it. */
export type StoredRecord = {
  readonly ledger: string
  readonly id: string
  readonly seq: number
  /** From its payload: whose request made it, and its place in that request. */
  readonly intent: string
  readonly item: number
}

/** Counts of records, unless said otherwise. `lost`, `doubled`, `ghosts` and `torn` must be 0. */
export type Reckoning = {
  readonly acked: number
  /** Acknowledged, and in the ledger under that id and seq. */
  readonly found: number
  /** Acknowledged, and not there. */
  readonly lost: number
  /** In the ledger more often than once for one item of one request. */
  readonly doubled: number
  /** In the ledger although the client was told that nothing was written, or although nobody asked for it. */
  readonly ghosts: number
  /** Batches of which only some items are in the ledger. */
  readonly torn: number
  /** Requests that nobody knows the outcome of, and how many of them are in the ledger. */
  readonly unknown: number
  readonly unknownFound: number
  /** Requests. */
  readonly refused: number
  readonly replayed: number
}

/** Lays what clients wrote down beside what the ledger holds. */
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

/** The line that every fault test prints. */
export function formatReckoning(r: Reckoning): string {
  return (
    `acked=${r.acked} found=${r.found} lost=${r.lost} doubled=${r.doubled} ghosts=${r.ghosts} torn=${r.torn} ` +
    `requests: unknown=${r.unknown} (${r.unknownFound} of them in the ledger) refused=${r.refused} replayed=${r.replayed}`
  )
}
