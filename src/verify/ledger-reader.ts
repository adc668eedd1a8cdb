import {
  AGENTS_BY_SEQ,
  type AuditedAgent,
  type AuditedCheckpoint,
  type AuditedClosure,
  type AuditedDocument,
  type AuditedEnd,
  type AuditedEntry,
  type AuditedErasure,
  type AuditedIdempotencyKey,
  type AuditedKey,
  type AuditedLedger,
  type AuditedRecord,
  type AuditedType,
  CHECKPOINTS_BY_SIZE,
  CLOSURES_BY_SEQ,
  countRows,
  DISABLED_AGENTS_BY_SEQ,
  DOCUMENTS_BY_SEQ,
  ENTRIES_BY_SEQ,
  ERASURES_BY_SEQ,
  IDEMPOTENCY_KEYS_BY_SEQ,
  KEYS_BY_SEQ,
  RECORDS_BY_SEQ,
  REVOKED_KEYS_BY_SEQ,
  TYPES_BY_SEQ,
} from '../db/audited-rows.ts'
import { type LedgerSnapshot, readRows, type SeqRange, streamRows } from '../db/ledger-snapshot.ts'
import type { EntryDocumentRow } from '../db/read-entries.ts'
import { equalBytes } from '../proof/bytes.ts'
import { parseCheckpoint } from '../proof/checkpoint.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { ProofError } from '../proof/error.ts'
import { entryLine } from '../records/export.ts'
import { ChunkBuilder } from './chunk-builder.ts'
import {
  closureColumns,
  documentColumns,
  entryColumns,
  erasureColumns,
  keyColumns,
  ledgerColumns,
  recordColumns,
  typeColumns,
} from './columns-of-rows.ts'
import { contradiction } from './contradiction.ts'
import type { EntryColumns, RecordColumns } from './entry-columns.ts'
import { GatedStandings } from './gated-standings.ts'
import { OrderedRows } from './ordered-rows.ts'
import type { EntryChunk } from './source.ts'

/** Of envelopes, held whole: 8 MiB. */
const SHORT_RANGE_ENTRIES = 256

/**
 * Reads a ledger's tables side by side, each in the order of the entries: an entry's line as an export has it, and
 * beside it every row that says it comes from that entry.
 */
export class LedgerReader {
  readonly #client: LedgerSnapshot['client']
  readonly #ledgerId: Uint8Array
  readonly #isWhole: boolean
  readonly #row: AuditedLedger
  readonly #sha256: Sha256
  readonly #entries: AsyncIterable<AuditedEntry>
  readonly #checkpoints: OrderedRows<AuditedCheckpoint & { seq: string }>
  readonly #records: OrderedRows<AuditedRecord>
  readonly #documents: OrderedRows<AuditedDocument>
  readonly #agents: OrderedRows<AuditedAgent>
  readonly #keys: OrderedRows<AuditedKey>
  readonly #disabledAgents: OrderedRows<AuditedEnd>
  readonly #revokedKeys: OrderedRows<AuditedEnd>
  readonly #types: OrderedRows<AuditedType>
  readonly #erasures: OrderedRows<AuditedErasure>
  readonly #closures: OrderedRows<AuditedClosure>
  readonly #idempotencyKeys: OrderedRows<AuditedIdempotencyKey>
  #referencesFound = 0
  /** Of a whole ledger: whoever rebuilds its records MUST compare them. */
  readonly standings = new GatedStandings()

  constructor(
    { client }: Pick<LedgerSnapshot, 'client'>,
    ledgerId: Uint8Array,
    row: AuditedLedger,
    /** `range`: just these entries, without checkpoints. */
    options: { sha256: Sha256; mayReadKeys: boolean; range?: SeqRange },
  ) {
    const range = options.range ?? null
    const isShort = range !== null && range.end - range.from <= SHORT_RANGE_ENTRIES
    const rows = <T extends object>(name: string, text: string) =>
      // An entry can have thousands of records.
      isShort && text !== RECORDS_BY_SEQ
        ? readRows<T & Record<string, unknown>>(client, name, text, ledgerId, range)
        : streamRows<T & Record<string, unknown>>(client, name, text, ledgerId, range)
    this.#client = client
    this.#ledgerId = ledgerId
    this.#isWhole = range === null
    this.#row = row
    this.#sha256 = options.sha256
    this.#entries = ascending(rows<AuditedEntry>('entries', ENTRIES_BY_SEQ))
    this.#checkpoints = new OrderedRows(
      'checkpoints',
      range ? none() : withLastSeq(rows<AuditedCheckpoint>('checkpoints', CHECKPOINTS_BY_SIZE)),
    )
    this.#records = new OrderedRows('records', rows<AuditedRecord>('records', RECORDS_BY_SEQ))
    this.#documents = new OrderedRows('documents', rows<AuditedDocument>('documents', DOCUMENTS_BY_SEQ))
    this.#agents = new OrderedRows('agents', rows<AuditedAgent>('agents', AGENTS_BY_SEQ))
    this.#keys = new OrderedRows('api_keys', rows<AuditedKey>('api_keys', KEYS_BY_SEQ))
    this.#disabledAgents = new OrderedRows(
      'agents.disabled_seq',
      rows<AuditedEnd>('disabled_agents', DISABLED_AGENTS_BY_SEQ),
    )
    this.#revokedKeys = new OrderedRows(
      'api_keys.revoked_seq',
      rows<AuditedEnd>('revoked_keys', REVOKED_KEYS_BY_SEQ),
    )
    this.#types = new OrderedRows('types', rows<AuditedType>('types', TYPES_BY_SEQ))
    this.#erasures = new OrderedRows('erasures', rows<AuditedErasure>('erasures', ERASURES_BY_SEQ))
    this.#closures = new OrderedRows(
      'ledger_closures',
      rows<AuditedClosure>('ledger_closures', CLOSURES_BY_SEQ),
    )
    this.#idempotencyKeys = new OrderedRows(
      'idempotency_keys',
      options.mayReadKeys ? rows<AuditedIdempotencyKey>('idempotency_keys', IDEMPOTENCY_KEYS_BY_SEQ) : none(),
    )
  }

  async *chunks(): AsyncGenerator<EntryChunk> {
    const chunk = new ChunkBuilder()
    try {
      for await (const entry of this.#entries) {
        await this.#read(entry, chunk)
        if (chunk.isFull) yield chunk.build()
      }
    } catch (error) {
      // What is wrong with an entry is said after those before it were verified.
      yield chunk.build()
      throw error
    }
    yield chunk.build()
    await this.#finish()
  }

  async #read(entry: AuditedEntry, chunk: ChunkBuilder): Promise<void> {
    const seq = Number(entry.seq)
    const records = await this.#records.take(seq)
    const documents = (await this.#documents.take(seq)).map(asNamed)
    const columns = await this.#columnsOf(entry, seq, records, documents)
    if (this.#isWhole) this.standings.expect(seq, columns.gated)
    const line = entryLine({ entry, records: records.map(asExported), documents }, 'all')
    chunk.add(line, columns, await this.#notesOf(seq), seq + 1)
  }

  /** Throws where a row is left that no entry explains. */
  async #finish(): Promise<void> {
    for (const rows of [
      this.#checkpoints,
      this.#records,
      this.#documents,
      this.#agents,
      this.#keys,
      this.#disabledAgents,
      this.#revokedKeys,
      this.#types,
      this.#erasures,
      this.#closures,
      this.#idempotencyKeys,
    ])
      await rows.finish()
    if (this.#isWhole) await this.#verifyCounts()
  }

  async #columnsOf(
    entry: AuditedEntry,
    seq: number,
    records: readonly AuditedRecord[],
    documents: readonly EntryDocumentRow[],
  ): Promise<EntryColumns> {
    const agents = await this.#agents.take(seq)
    const keys = await this.#keys.take(seq)
    const disabledAgents = await this.#disabledAgents.take(seq)
    const revokedKeys = await this.#revokedKeys.take(seq)
    const types = await this.#types.take(seq)
    const erasures = await this.#erasures.take(seq)
    const closures = await this.#closures.take(seq)
    const idempotencyKeys = await this.#idempotencyKeys.take(seq)
    return {
      ...entryColumns(entry),
      records: records.map((record) => this.#recordColumns(record)),
      documents: documents.map((document) => documentColumns(document, this.#sha256)),
      agents: agents.map(({ agent_id, name }) => ({ agentId: agent_id, name })),
      keys: keys.map(keyColumns),
      disabledAgentIds: disabledAgents.map(({ id }) => id),
      revokedKeyIds: revokedKeys.map(({ id }) => id),
      types: types.map((type) => typeColumns(type, this.#sha256)),
      erasures: erasures.map(erasureColumns),
      closures: closures.map(closureColumns),
      idempotencyKeys: idempotencyKeys.map(({ actor_id, is_forgotten }) => ({
        actorId: actor_id,
        isForgotten: is_forgotten,
        isOfErased:
          records.some((record) => record.payload_erased_seq !== null) ||
          documents.some((document) => document.erased_seq !== null),
      })),
      ledger: seq === 0 ? ledgerColumns(this.#row) : null,
    }
  }

  #recordColumns(record: AuditedRecord): RecordColumns {
    this.#referencesFound += record.searched_references?.length ?? 0
    return recordColumns(record, this.#sha256)
  }

  /** Each record's own were compared; there must be no others, by which one would be found or stand where it does not. */
  async #verifyCounts(): Promise<void> {
    const found = { record_references: this.#referencesFound, gated_records: this.standings.count }
    for (const [table, ofRecords] of Object.entries(found)) {
      const count = await countRows(this.#client, table as keyof typeof found, this.#ledgerId)
      if (count !== ofRecords) throw contradiction(`${table}: ${count} rows, records have ${ofRecords}`)
    }
  }

  async #notesOf(seq: number): Promise<string[]> {
    const rows = await this.#checkpoints.take(seq)
    for (const row of rows) verifyCheckpointRow(row)
    return rows.map(({ note }) => note)
  }
}

/** Throws where an entry is there twice, before it is given: whoever takes the first one would not ask for it again. */
async function* ascending(entries: AsyncIterable<AuditedEntry>): AsyncGenerator<AuditedEntry> {
  let held: AuditedEntry | null = null
  for await (const entry of entries) {
    if (held?.seq === entry.seq) throw new ProofError('seq_not_dense', `seq ${entry.seq} is there twice`)
    if (held) yield held
    held = entry
  }
  if (held) yield held
}

async function* none(): AsyncGenerator<never> {}

/** A checkpoint is compared after the last entry that it covers. */
async function* withLastSeq(
  rows: AsyncIterable<AuditedCheckpoint>,
): AsyncGenerator<AuditedCheckpoint & { seq: string }> {
  for await (const row of rows) yield { ...row, seq: `${Number(row.size) - 1}` }
}

function asExported(record: AuditedRecord) {
  return { ...record, first_seq: record.seq }
}

/** A name that no document has could not even be shown. */
function asNamed(row: AuditedDocument): EntryDocumentRow {
  const { document } = row
  if (document === 'evidence' || document === 'values' || document === 'reason') return { ...row, document }
  throw contradiction(`documents.document is ${JSON.stringify(document)} at seq ${row.seq}`)
}

/** The row repeats what its note says; that the note is signed, and agrees with the tree, LedgerVerifier finds. */
function verifyCheckpointRow(row: AuditedCheckpoint): void {
  const { size, root, chain } = parseCheckpoint(row.note).checkpoint
  if (`${size}` !== row.size || !equalBytes(root, row.root) || !equalBytes(chain, row.chain)) {
    throw contradiction(`checkpoints: the row of size ${row.size} is not what its note says`)
  }
}
