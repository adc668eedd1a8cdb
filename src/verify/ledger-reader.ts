import type { AuditedReceived } from '../db/audit/audited-peer-rows.ts'
import {
  type AuditedCheckpoint,
  type AuditedChunk,
  type AuditedDocument,
  type AuditedEntry,
  type AuditedLedger,
  type AuditedRecord,
  countRows,
} from '../db/audit/audited-rows.ts'
import type { LedgerSnapshot, SeqRange } from '../db/chain/ledger-snapshot.ts'
import type { EntryDocumentRow } from '../db/chain/read-entries.ts'
import { HAS_ZSTD } from '../db/chunks/chunk-content.ts'
import { equalBytes } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import type { Uuid } from '../proof/ids.ts'
import { parseCheckpoint } from '../proof/tree/checkpoint.ts'
import { entryLine } from '../records/export.ts'
import {
  chunkColumns,
  closureColumns,
  documentColumns,
  entryColumns,
  erasureColumns,
  keyColumns,
  ledgerColumns,
  recordColumns,
  statementColumns,
  typeColumns,
} from './columns-of-rows.ts'
import { contradiction } from './contradiction.ts'
import type { EntryColumns, RecordColumns } from './entry-columns.ts'
import { GatedStandings } from './gated-standings.ts'
import { type LedgerTables, openTables } from './ledger-tables.ts'
import { offerColumns, receivedColumns, receivedDocumentColumns } from './peer-columns-of-rows.ts'
import { PeerStandings } from './peer-standings.ts'
import { PortionBuilder } from './portion-builder.ts'
import { type EntryPortion, SourceError } from './source.ts'

/** Rows beside an entry that its line shows too, and those of chunks. */
type Beside = {
  readonly records: readonly AuditedRecord[]
  readonly chunks: readonly AuditedChunk[]
  readonly documents: readonly EntryDocumentRow[]
  readonly received: readonly AuditedReceived[]
}

/**
 * Reads a ledger's tables side by side, each in the order of the entries: an entry's line as an export has it, and
 * beside it every row that says it comes from that entry.
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
  /** Standings of a whole ledger: code that rebuilds its records MUST compare them. */
  readonly standings: GatedStandings
  readonly peerStandings = new PeerStandings()

  constructor(
    { client }: Pick<LedgerSnapshot, 'client'>,
    ledgerId: Uuid,
    row: AuditedLedger,
    /** `range`: just these entries, without checkpoints. `onEntry` hears of each as it is read, before it is verified. */
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
    this.standings = new GatedStandings(sha256)
    this.#tables = openTables({ client }, ledgerId, { range, mayReadKeys })
  }

  async *portions(): AsyncGenerator<EntryPortion> {
    const portion = new PortionBuilder()
    try {
      for await (const entry of this.#tables.entries) {
        await this.#read(entry, portion)
        if (portion.isFull) yield portion.build()
      }
    } catch (error) {
      // A fault of an entry is reported after the entries before it were verified.
      yield portion.build()
      throw error
    }
    yield portion.build()
    await this.#finish()
  }

  async #read(entry: AuditedEntry, portion: PortionBuilder): Promise<void> {
    const seq = entry.seq
    const { records: recordRows, chunks: chunkRows, documents: documentRows } = this.#tables.beside
    const records = await recordRows.take(seq)
    const chunks = await chunkRows.take(seq)
    if (chunks.length > 0 && !HAS_ZSTD) throw needsZstd()
    const documents = (await documentRows.take(seq)).map(asNamed)
    const receivedRows = await this.#tables.beside.received.take(seq)
    const columns = await this.#columnsOf(entry, seq, { records, chunks, documents, received: receivedRows })
    if (this.#isWhole) {
      this.standings.expect(seq, columns.gated)
      this.peerStandings.expect(seq, columns)
    }
    const [received] = receivedRows
    const line = entryLine(
      { entry, records: records.map(asExported), documents, received: received?.envelope ?? null },
      'all',
    )
    const contents = chunks.map(({ content }) => content)
    portion.add({ line, columns, contents, notes: await this.#notesOf(seq), progress: seq + 1 })
    // An entry that is in no portion is verified by nobody.
    this.#onEntry(entry)
  }

  /** Throws where a row is left that no entry explains. */
  async #finish(): Promise<void> {
    for (const rows of Object.values(this.#tables.beside)) await rows.finish()
    if (this.#isWhole) await this.#verifyCounts()
  }

  async #columnsOf(
    entry: AuditedEntry,
    seq: number,
    { records, chunks, documents, received }: Beside,
  ): Promise<EntryColumns> {
    const { beside } = this.#tables
    const chunkKeys = await beside.chunkKeys.take(seq)
    const agents = await beside.agents.take(seq)
    const keys = await beside.keys.take(seq)
    const disabledAgents = await beside.disabledAgents.take(seq)
    const revokedKeys = await beside.revokedKeys.take(seq)
    const signingKeys = await beside.signingKeys.take(seq)
    const revokedSigningKeys = await beside.revokedSigningKeys.take(seq)
    const types = await beside.types.take(seq)
    const erasures = await beside.erasures.take(seq)
    const rules = await beside.rules.take(seq)
    const holds = await beside.holds.take(seq)
    const liftedHolds = await beside.liftedHolds.take(seq)
    const closures = await beside.closures.take(seq)
    const idempotencyKeys = await beside.idempotencyKeys.take(seq)
    const offers = await beside.offers.take(seq)
    const receivedDocuments = await beside.receivedDocuments.take(seq)
    const statements = await beside.statements.take(seq)
    return {
      ...entryColumns(entry),
      records: records.map((record) => this.#recordColumns(record)),
      chunks: chunks.map(chunkColumns),
      chunkKeys: chunkKeys.map(({ chunk, keys }) => ({ chunk, keys })),
      documents: documents.map((document) => documentColumns(document, this.#sha256)),
      agents: agents.map(({ agentId, name }) => ({ agentId, name })),
      keys: keys.map(keyColumns),
      disabledAgentIds: disabledAgents.map(({ id }) => id),
      revokedKeyIds: revokedKeys.map(({ id }) => id),
      signingKeys: signingKeys.map(({ seq: _, ...key }) => key),
      revokedSigningKids: revokedSigningKeys.map(({ id }) => id),
      types: types.map((type) => typeColumns(type, this.#sha256)),
      erasures: erasures.map(erasureColumns),
      rules: rules.map(({ seq: _, ...rule }) => rule),
      holds: holds.map(({ seq: _, ...hold }) => hold),
      liftedHolds: liftedHolds.map(({ hold }) => hold),
      closures: closures.map(closureColumns),
      idempotencyKeys: idempotencyKeys.map(({ actorId, isForgotten }) => ({
        actorId,
        isForgotten,
        isOfErased:
          records.some((record) => record.payloadErasedSeq !== null) ||
          chunks.some((chunk) => chunk.erasedSeq !== null) ||
          documents.some((document) => document.erasedSeq !== null),
      })),
      ledger: seq === 0 ? ledgerColumns(this.#row) : null,
      offers: offers.map(offerColumns),
      received: received.map(receivedColumns),
      receivedDocuments: receivedDocuments.map((row) => receivedDocumentColumns(row, this.#sha256)),
      statements: statements.map(statementColumns),
    }
  }

  #recordColumns(record: AuditedRecord): RecordColumns {
    this.#referencesFound += record.searchedReferences?.length ?? 0
    return recordColumns(record, this.#sha256)
  }

  /** Each record's own were compared; there must be no others, by which one would be found or stand where it does not. */
  async #verifyCounts(): Promise<void> {
    const found = {
      record_references: this.#referencesFound,
      gated_records: this.standings.count,
      ...this.peerStandings.counts,
    }
    for (const [table, ofRecords] of Object.entries(found)) {
      const count = await countRows(this.#client, table as keyof typeof found, this.#ledgerId)
      if (count !== ofRecords) throw contradiction(`${table}: ${count} rows, records have ${ofRecords}`)
    }
  }

  async #notesOf(seq: number): Promise<string[]> {
    const rows = await this.#tables.beside.checkpoints.take(seq)
    for (const row of rows) verifyCheckpointRow(row)
    return rows.map(({ note }) => note)
  }
}

function asExported(record: AuditedRecord) {
  return { ...record, firstSeq: record.seq }
}

function needsZstd(): SourceError {
  const reason = 'this Node cannot read them: use version 22.15, or a newer one'
  return new SourceError(
    'usage',
    `the ledger holds batches, whose records are compressed with zstd, and ${reason}`,
  )
}

/** A name that no document has could not even be shown. */
function asNamed(row: AuditedDocument): EntryDocumentRow {
  const { document } = row
  if (document === 'evidence' || document === 'values' || document === 'reason') return { ...row, document }
  throw contradiction(`documents.document is ${JSON.stringify(document)} at seq ${row.seq}`)
}

/** Checks that the row repeats its note. LedgerVerifier checks that the note is signed, and agrees with the tree. */
function verifyCheckpointRow(row: AuditedCheckpoint): void {
  const { size, root, chain } = parseCheckpoint(row.note).checkpoint
  if (size !== row.size || !equalBytes(root, row.root) || !equalBytes(chain, row.chain)) {
    throw contradiction(`checkpoints: the row of size ${row.size} is not what its note says`)
  }
}
