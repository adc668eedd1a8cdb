import {
  AGENTS_BY_SEQ,
  type AuditedAgent,
  type AuditedCheckpoint,
  type AuditedClosure,
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
  countReferences,
  DISABLED_AGENTS_BY_SEQ,
  ENTRIES_BY_SEQ,
  ERASURES_BY_SEQ,
  IDEMPOTENCY_KEYS_BY_SEQ,
  KEYS_BY_SEQ,
  type LedgerSnapshot,
  RECORDS_BY_SEQ,
  REVOKED_KEYS_BY_SEQ,
  readRows,
  type SeqRange,
  streamRows,
  TYPES_BY_SEQ,
} from '../db/ledger-snapshot.ts'
import { equalBytes, toHex } from '../proof/bytes.ts'
import { parseCheckpoint } from '../proof/checkpoint.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { entryLine } from '../records/export.ts'
import { ChunkBuilder } from './chunk-builder.ts'
import { ledgerColumns, recordColumns, typeColumns } from './columns-of-rows.ts'
import { contradiction } from './contradiction.ts'
import type { EntryColumns, RecordColumns } from './entry-columns.ts'
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
  readonly #agents: OrderedRows<AuditedAgent>
  readonly #keys: OrderedRows<AuditedKey>
  readonly #disabledAgents: OrderedRows<AuditedEnd>
  readonly #revokedKeys: OrderedRows<AuditedEnd>
  readonly #types: OrderedRows<AuditedType>
  readonly #erasures: OrderedRows<AuditedErasure>
  readonly #closures: OrderedRows<AuditedClosure>
  #referencesFound = 0
  readonly #idempotencyKeys: OrderedRows<AuditedIdempotencyKey>

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
    this.#entries = rows<AuditedEntry>('entries', ENTRIES_BY_SEQ)
    this.#checkpoints = new OrderedRows(
      'checkpoints',
      range ? none() : withLastSeq(rows<AuditedCheckpoint>('checkpoints', CHECKPOINTS_BY_SIZE)),
    )
    this.#records = new OrderedRows('records', rows<AuditedRecord>('records', RECORDS_BY_SEQ))
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
    let chunk = new ChunkBuilder()
    for await (const entry of this.#entries) {
      const seq = Number(entry.seq)
      const records = await this.#records.take(seq)
      const columns = await this.#columnsOf(entry, seq, records)
      chunk.add(entryLine(entry, records.map(asExported), 'all'), columns, await this.#notesOf(seq), seq + 1)
      if (chunk.isFull) {
        yield chunk.build()
        chunk = new ChunkBuilder()
      }
    }
    yield chunk.build()
    for (const rows of [
      this.#checkpoints,
      this.#records,
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
    if (this.#isWhole) await this.#verifyReferences()
  }

  async #columnsOf(
    entry: AuditedEntry,
    seq: number,
    records: readonly AuditedRecord[],
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
      subjectId: entry.subject_id,
      version: entry.version,
      prevSeq: entry.prev_seq,
      prevLeaf: entry.prev_leaf === null ? null : toHex(entry.prev_leaf),
      actorId: entry.actor_id,
      keyId: entry.key_id,
      recordedAtUs: entry.recorded_at_us,
      records: records.map((record) => this.#recordColumns(record)),
      agents: agents.map(({ agent_id, name }) => ({ agentId: agent_id, name })),
      keys: keys.map(({ key_id, agent_id, scopes, expires_at_us }) => ({
        keyId: key_id,
        agentId: agent_id,
        scopes,
        expiresAtUs: expires_at_us,
      })),
      disabledAgentIds: disabledAgents.map(({ id }) => id),
      revokedKeyIds: revokedKeys.map(({ id }) => id),
      types: types.map((type) => typeColumns(type, this.#sha256)),
      erasures: erasures.map(({ subject_id, document }) => ({ subjectId: subject_id, document })),
      closures: closures.map(({ known_size, known_chain }) => ({
        knownSize: known_size,
        knownChain: toHex(known_chain),
      })),
      idempotencyKeys: idempotencyKeys.map(({ actor_id, is_forgotten }) => ({
        actorId: actor_id,
        isForgotten: is_forgotten,
        isOfErased: records.some((record) => record.payload_erased_seq !== null),
      })),
      ledger: seq === 0 ? ledgerColumns(this.#row) : null,
    }
  }

  #recordColumns(record: AuditedRecord): RecordColumns {
    this.#referencesFound += record.searched_references?.length ?? 0
    return recordColumns(record, this.#sha256)
  }

  /** Each record's own were compared; there must be no others, by which a record would be found that does not have them. */
  async #verifyReferences(): Promise<void> {
    const count = await countReferences(this.#client, this.#ledgerId)
    if (count !== this.#referencesFound)
      throw contradiction(`record_references: ${count} rows, records have ${this.#referencesFound}`)
  }

  async #notesOf(seq: number): Promise<string[]> {
    const rows = await this.#checkpoints.take(seq)
    for (const row of rows) verifyCheckpointRow(row)
    return rows.map(({ note }) => note)
  }
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

/** The row repeats what its note says; that the note is signed, and agrees with the tree, LedgerVerifier finds. */
function verifyCheckpointRow(row: AuditedCheckpoint): void {
  const { size, root, chain } = parseCheckpoint(row.note).checkpoint
  if (`${size}` !== row.size || !equalBytes(root, row.root) || !equalBytes(chain, row.chain)) {
    throw contradiction(`checkpoints: the row of size ${row.size} is not what its note says`)
  }
}
