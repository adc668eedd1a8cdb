import type { LedgerSnapshot, SeqRange } from '../db/chain/ledger-snapshot.ts'
import type { EntryDocumentRow } from '../db/chain/read-entries.ts'
import { HAS_ZSTD } from '../db/chunks/chunk-content.ts'
import type { AuditedCheckpoint } from '../db/evidence/checkpoints.ts'
import { contradiction } from '../db/evidence/contradiction.ts'
import { countRows } from '../db/evidence/counts.ts'
import type { AuditedDocument } from '../db/evidence/documents.ts'
import { type AuditedEntry, entryRowColumns } from '../db/evidence/entries.ts'
import { type AuditedLedger, ledgerColumns } from '../db/evidence/ledgers.ts'
import type { AuditedRecord } from '../db/evidence/records.ts'
import type { Evidence } from '../db/evidence/table.ts'
import {
  type EntryColumns,
  EVIDENCE,
  EVIDENCE_NAMES,
  type EvidenceName,
  type EvidenceRow,
} from '../db/evidence/tables.ts'
import { equalBytes } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import type { Uuid } from '../proof/ids.ts'
import { parseCheckpoint } from '../proof/tree/checkpoint.ts'
import { entryLine } from '../records/read/export.ts'
import { GatedStates } from './gated-states.ts'
import { type LedgerTables, openTables } from './ledger-tables.ts'
import { PeerStates } from './peer-states.ts'
import { RangeBuilder } from './range-builder.ts'
import { type EntryRange, SourceError } from './source.ts'

type EvidenceRows = { readonly [Name in EvidenceName]: readonly EvidenceRow<Name>[] }

/**
 * Reads a ledger's tables in parallel, each in the order of the entries. Returns the line of each entry as in an
 * export, together with all rows that claim to come from this entry.
 */
export class LedgerReader {
  readonly #client: LedgerSnapshot['client']
  readonly #ledgerId: Uuid
  readonly #isWhole: boolean
  readonly #row: AuditedLedger
  readonly #sha256: Sha256
  readonly #tables: LedgerTables
  readonly #onEntry: (entry: AuditedEntry) => void
  #referencesFound = 0
  /**
   * Rows of all gated records, if the whole ledger is read. The code that rebuilds the records MUST compare them with
   * these rows.
   */
  readonly gatedStates: GatedStates
  readonly peerStandings = new PeerStates()

  constructor(
    { client }: Pick<LedgerSnapshot, 'client'>,
    ledgerId: Uuid,
    row: AuditedLedger,
    /**
     * `range`: the entries to read; checkpoints are then left out. If it is absent, the whole ledger is read. `onEntry`
     * is called for each entry before the entry is verified.
     */
    options: {
      sha256: Sha256
      mayReadKeys: boolean
      range?: SeqRange
      onEntry?: (entry: AuditedEntry) => void
    },
  ) {
    const { range = null, mayReadKeys, sha256, onEntry = () => {} } = options
    this.#onEntry = onEntry
    this.#client = client
    this.#ledgerId = ledgerId
    this.#isWhole = range === null
    this.#row = row
    this.#sha256 = sha256
    this.gatedStates = new GatedStates(sha256)
    this.#tables = openTables({ client }, ledgerId, { range, mayReadKeys })
  }

  async *ranges(): AsyncGenerator<EntryRange> {
    const range = new RangeBuilder()
    try {
      for await (const entry of this.#tables.entries) {
        await this.#read(entry, range)
        if (range.isFull) yield range.build()
      }
    } catch (error) {
      // The entries before the faulty one are yielded first, so that the verification reaches them before it reports
      // the fault.
      yield range.build()
      throw error
    }
    yield range.build()
    await this.#finish()
  }

  async #read(entry: AuditedEntry, range: RangeBuilder): Promise<void> {
    const { seq } = entry
    const evidence = await this.#rowsAt(seq)
    const { records, chunks, received: receivedRows } = evidence
    if (chunks.length > 0 && !HAS_ZSTD) throw needsZstd()
    const documents = evidence.documents.map(asNamed)
    const columns = this.#columnsOf(entry, evidence)
    if (this.#isWhole) {
      this.gatedStates.expect(seq, columns.gated)
      this.peerStandings.expect(seq, columns)
    }
    const [received] = receivedRows
    const line = entryLine(
      { entry, records: records.map(asExported), documents, received: received?.envelope ?? null },
      'all',
    )
    const contents = chunks.map(({ content }) => content)
    range.add({ line, columns, contents, notes: await this.#notesOf(seq), progress: seq + 1 })
    // The callback is called last, because only an entry that was added to a range will be verified.
    this.#onEntry(entry)
  }

  /** Throws if a row belongs to no entry. */
  async #finish(): Promise<void> {
    for (const rows of [this.#tables.checkpoints, ...Object.values(this.#tables.evidence)])
      await rows.finish()
    if (this.#isWhole) await this.#verifyCounts()
  }

  async #rowsAt(seq: number): Promise<EvidenceRows> {
    const rows: Partial<Record<EvidenceName, readonly unknown[]>> = {}
    for (const name of EVIDENCE_NAMES) {
      const table = this.#tables.evidence[name]
      rows[name] = table.isBehind(seq) ? [] : await table.take(seq)
    }
    return rows as unknown as EvidenceRows
  }

  #columnsOf(entry: AuditedEntry, evidence: EvidenceRows): EntryColumns {
    const { records, chunks, documents } = evidence
    for (const { searchedReferences } of records) this.#referencesFound += searchedReferences?.length ?? 0
    const isErased =
      records.some((record) => record.payloadErasedSeq !== null) ||
      chunks.some((chunk) => chunk.erasedSeq !== null) ||
      documents.some((document) => document.erasedSeq !== null)
    const context = { sha256: this.#sha256, isErased }
    const columns: Partial<Record<EvidenceName, readonly unknown[]>> = {}
    for (const name of EVIDENCE_NAMES) {
      const table = EVIDENCE[name] as Evidence<{ seq: number }, unknown>
      columns[name] = evidence[name].map((row) => table.columns(row, context))
    }
    return {
      ...entryRowColumns(entry),
      ...(columns as unknown as Pick<EntryColumns, EvidenceName>),
      ledger: entry.seq === 0 ? ledgerColumns(this.#row) : null,
    }
  }

  /**
   * Compares the number of rows in each table with the number of rows that all records need. An additional row could
   * make a search find a record that does not match.
   */
  async #verifyCounts(): Promise<void> {
    const found = {
      record_references: this.#referencesFound,
      gated_records: this.gatedStates.count,
      ...this.peerStandings.counts,
    }
    for (const [table, ofRecords] of Object.entries(found)) {
      const count = await countRows(this.#client, table as keyof typeof found, this.#ledgerId)
      if (count !== ofRecords) throw contradiction(`${table}: ${count} rows, but records have ${ofRecords}`)
    }
  }

  async #notesOf(seq: number): Promise<string[]> {
    const rows = await this.#tables.checkpoints.take(seq)
    for (const row of rows) verifyCheckpointRow(row)
    return rows.map(({ note }) => note)
  }
}

function asExported(record: AuditedRecord) {
  return { ...record, firstSeq: record.seq }
}

function needsZstd(): SourceError {
  const reason = 'this Node.js cannot read them: use version 22.15 or newer'
  return new SourceError(
    'usage',
    `the ledger holds batches, whose records are compressed with zstd, and ${reason}`,
  )
}

/** Returns the document. Throws if the document's name is unknown, because such a document could never be shown. */
function asNamed(row: AuditedDocument): EntryDocumentRow {
  const { document } = row
  if (document === 'evidence' || document === 'values' || document === 'reason') return { ...row, document }
  throw contradiction(`documents.document is ${JSON.stringify(document)} at seq ${row.seq}`)
}

/**
 * Verifies that the row has the same values as its note. LedgerVerifier verifies the note's signature and compares the
 * note with the tree.
 */
function verifyCheckpointRow(row: AuditedCheckpoint): void {
  const { size, root, chain } = parseCheckpoint(row.note).checkpoint
  if (size !== row.size || !equalBytes(root, row.root) || !equalBytes(chain, row.chain)) {
    throw contradiction(`checkpoints: the row of size ${row.size} contradicts its note`)
  }
}
