import { streamEnvelopes, type Unfilled } from '../db/chain/envelopes.ts'
import {
  LARGE_ROWS_PER_FETCH,
  type LedgerSnapshot,
  listFilled,
  readRows,
  type SeqRange,
  streamRows,
} from '../db/chain/ledger-snapshot.ts'
import { streamContent } from '../db/chunks/read-chunks.ts'
import { ArchiveFault } from '../db/connect/archive.ts'
import type { AuditedChunk } from '../db/evidence/batch-chunks.ts'
import { type AuditedCheckpoint, CHECKPOINTS_BY_SIZE } from '../db/evidence/checkpoints.ts'
import { type AuditedEntry, ENTRIES_BY_SEQ } from '../db/evidence/entries.ts'
import type { Evidence } from '../db/evidence/table.ts'
import { EVIDENCE, EVIDENCE_NAMES, type EvidenceName, type EvidenceRow } from '../db/evidence/tables.ts'
import { ProofError } from '../proof/error.ts'
import type { Uuid } from '../proof/ids.ts'
import { OrderedRows } from './ordered-rows.ts'

/** Maximum number of entries whose envelopes are in memory at the same time. These envelopes take at most 8 MiB. */
const SHORT_RANGE_ENTRIES = 256

type EvidenceRows = { readonly [Name in EvidenceName]: OrderedRows<EvidenceRow<Name>> }

/** A ledger's entries, and the rows of every other table in the order of their entries. */
export type LedgerTables = ReturnType<typeof openTables>

/**
 * Opens the tables. `range`: the entries to read; checkpoints are then left out. If it is null, the whole ledger is
 * read.
 */
export function openTables(
  { client }: Pick<LedgerSnapshot, 'client'>,
  ledgerId: Uuid,
  { range, mayReadKeys }: { readonly range: SeqRange | null; readonly mayReadKeys: boolean },
) {
  const isShort = range !== null && range.end - range.from <= SHORT_RANGE_ENTRIES
  const queries: Record<string, string> = {}
  let filled: Promise<ReadonlySet<string>> | null = null
  const stream = <T extends object>(name: string, text: string, isLarge = false) =>
    streamRows<T & Record<string, unknown>>(client, name, text, ledgerId, {
      range,
      ...(isLarge && { rowsPerFetch: LARGE_ROWS_PER_FETCH }),
    })
  async function* readShort<T extends object>(
    name: string,
    text: string,
    short: SeqRange,
    isLarge: boolean,
  ): AsyncGenerator<T & Record<string, unknown>> {
    filled ??= listFilled(client, queries, ledgerId, short)
    if (!(await filled).has(name)) return
    if (isLarge) yield* stream<T>(name, text, isLarge)
    else yield* readRows<T & Record<string, unknown>>(client, name, text, ledgerId, short)
  }
  const read = <T extends object>(name: string, text: string, isLarge = false): AsyncIterable<T> => {
    if (!isShort) return stream<T>(name, text, isLarge)
    queries[name] = text
    return readShort<T>(name, text, range, isLarge)
  }
  const rowsOf = (name: EvidenceName) => {
    const { table, sql, isLarge } = EVIDENCE[name] as Evidence<never, unknown>
    if (name === 'idempotencyKeys' && !mayReadKeys) return new OrderedRows(table, none())
    const rows = read<{ seq: number }>(name, sql, isLarge)
    return new OrderedRows(
      table,
      name === 'chunks'
        ? withArchiveFaults(streamContent(client, rows as AsyncIterable<AuditedChunk>))
        : rows,
    )
  }
  const checkpoints = range ? none() : read<AuditedCheckpoint>('checkpoints', CHECKPOINTS_BY_SIZE)
  return {
    entries: ascending(
      withArchiveFaults(
        streamEnvelopes<AuditedEntry>(
          client,
          ledgerId,
          read<Unfilled<AuditedEntry>>('entries', ENTRIES_BY_SEQ),
          SHORT_RANGE_ENTRIES,
        ),
      ),
    ),
    checkpoints: new OrderedRows('checkpoints', withLastSeq(checkpoints)),
    evidence: Object.fromEntries(
      EVIDENCE_NAMES.map((name) => [name, rowsOf(name)]),
    ) as unknown as EvidenceRows,
  }
}

/**
 * Yields the entries. If a seq occurs twice, throws before it yields the first of the two entries. A reader that needs
 * only the first entry would otherwise not notice the second.
 */
async function* ascending(entries: AsyncIterable<AuditedEntry>): AsyncGenerator<AuditedEntry> {
  let previous: AuditedEntry | null = null
  for await (const entry of entries) {
    if (previous?.seq === entry.seq) throw new ProofError('seq_not_dense', `seq ${entry.seq} occurs twice`)
    if (previous) yield previous
    previous = entry
  }
  if (previous) yield previous
}

/**
 * Yields the rows unchanged. If the archive has lost or changed the rows' content, throws ProofError `archive_object`.
 */
async function* withArchiveFaults<T>(rows: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* rows
  } catch (error) {
    if (error instanceof ArchiveFault) throw new ProofError('archive_object', error.message)
    throw error
  }
}

async function* none(): AsyncGenerator<never> {}

/** Adds to each checkpoint the seq of the last entry that it covers. A checkpoint is compared after this entry. */
async function* withLastSeq(
  rows: AsyncIterable<AuditedCheckpoint>,
): AsyncGenerator<AuditedCheckpoint & { seq: number }> {
  for await (const row of rows) yield { ...row, seq: row.size - 1 }
}
