import {
  type AuditedOffer,
  type AuditedReceived,
  type AuditedReceivedDocument,
  OFFERS_BY_SEQ,
  RECEIVED_BY_SEQ,
  RECEIVED_DOCUMENTS_BY_SEQ,
} from '../db/audit/audited-peer-rows.ts'
import {
  AGENTS_BY_SEQ,
  type AuditedAgent,
  type AuditedCheckpoint,
  type AuditedChunk,
  type AuditedChunkKeys,
  type AuditedClosure,
  type AuditedDocument,
  type AuditedEnd,
  type AuditedEntry,
  type AuditedErasure,
  type AuditedHold,
  type AuditedIdempotencyKey,
  type AuditedKey,
  type AuditedLift,
  type AuditedRecord,
  type AuditedRule,
  type AuditedSigningKey,
  type AuditedStatement,
  type AuditedType,
  CHECKPOINTS_BY_SIZE,
  CHUNK_KEYS_BY_SEQ,
  CHUNKS_BY_SEQ,
  CLOSURES_BY_SEQ,
  DISABLED_AGENTS_BY_SEQ,
  DOCUMENTS_BY_SEQ,
  ENTRIES_BY_SEQ,
  ERASURES_BY_SEQ,
  HOLDS_BY_SEQ,
  IDEMPOTENCY_KEYS_BY_SEQ,
  KEYS_BY_SEQ,
  LIFTED_HOLDS_BY_SEQ,
  RECORDS_BY_SEQ,
  REVOKED_KEYS_BY_SEQ,
  REVOKED_SIGNING_KEYS_BY_SEQ,
  RULES_BY_SEQ,
  SIGNING_KEYS_BY_SEQ,
  STATEMENTS_BY_SEQ,
  TYPES_BY_SEQ,
} from '../db/audit/audited-rows.ts'
import {
  LARGE_ROWS_PER_FETCH,
  type LedgerSnapshot,
  listFilled,
  readRows,
  type SeqRange,
  streamRows,
} from '../db/chain/ledger-snapshot.ts'
import { fillEnvelopes, type Unfilled } from '../db/chain/released-envelopes.ts'
import { fillReleased, ReleasedFault } from '../db/chunks/released-chunks.ts'
import type { Db } from '../db/connect/client.ts'
import { ProofError } from '../proof/error.ts'
import type { Uuid } from '../proof/ids.ts'
import { OrderedRows } from './ordered-rows.ts'

/** Entries whose envelopes are held whole: 8 MiB. */
const SHORT_RANGE_ENTRIES = 256
/** A batch has up to 32 chunks, of megabytes if its payloads are as large as they may be. */
const LARGE_ROWS = [CHUNKS_BY_SEQ, CHUNK_KEYS_BY_SEQ]

/** A ledger's entries, and the rows of every table beside them by the entry that explains them. */
export type LedgerTables = ReturnType<typeof openTables>

/** `range`: just these entries, without checkpoints; null: the whole ledger. */
export function openTables(
  { client }: Pick<LedgerSnapshot, 'client'>,
  ledgerId: Uuid,
  { range, mayReadKeys }: { readonly range: SeqRange | null; readonly mayReadKeys: boolean },
) {
  const isShort = range !== null && range.end - range.from <= SHORT_RANGE_ENTRIES
  const asked: Record<string, string> = {}
  let filled: Promise<ReadonlySet<string>> | null = null
  async function* readShort<T extends object>(
    name: string,
    text: string,
    short: SeqRange,
  ): AsyncGenerator<T & Record<string, unknown>> {
    filled ??= listFilled(client, asked, ledgerId, short)
    if (!(await filled).has(name)) return
    if (LARGE_ROWS.includes(text)) yield* stream<T>(name, text)
    else yield* readRows<T & Record<string, unknown>>(client, name, text, ledgerId, short)
  }
  const stream = <T extends object>(name: string, text: string) =>
    streamRows<T & Record<string, unknown>>(client, name, text, ledgerId, {
      range,
      ...(LARGE_ROWS.includes(text) && { rowsPerFetch: LARGE_ROWS_PER_FETCH }),
    })
  const read = <T extends object>(name: string, text: string): AsyncIterable<T> => {
    if (!isShort) return stream<T>(name, text)
    asked[name] = text
    return readShort<T>(name, text, range)
  }
  const inOrder = <T extends { seq: number }>(name: string, text: string, table = name) =>
    new OrderedRows(table, read<T>(name, text))
  const checkpoints = range ? none() : read<AuditedCheckpoint>('checkpoints', CHECKPOINTS_BY_SIZE)
  return {
    entries: ascending(
      withEnvelopes(client, ledgerId, read<Unfilled<AuditedEntry>>('entries', ENTRIES_BY_SEQ)),
    ),
    beside: {
      checkpoints: new OrderedRows('checkpoints', withLastSeq(checkpoints)),
      records: inOrder<AuditedRecord>('records', RECORDS_BY_SEQ),
      chunks: new OrderedRows(
        'batch_chunks',
        withContent(client, read<AuditedChunk>('batch_chunks', CHUNKS_BY_SEQ)),
      ),
      chunkKeys: inOrder<AuditedChunkKeys>('batch_keys', CHUNK_KEYS_BY_SEQ),
      documents: inOrder<AuditedDocument>('documents', DOCUMENTS_BY_SEQ),
      agents: inOrder<AuditedAgent>('agents', AGENTS_BY_SEQ),
      keys: inOrder<AuditedKey>('api_keys', KEYS_BY_SEQ),
      disabledAgents: inOrder<AuditedEnd>('disabled_agents', DISABLED_AGENTS_BY_SEQ, 'agents.disabled_seq'),
      revokedKeys: inOrder<AuditedEnd>('revoked_keys', REVOKED_KEYS_BY_SEQ, 'api_keys.revoked_seq'),
      signingKeys: inOrder<AuditedSigningKey>('agent_signing_keys', SIGNING_KEYS_BY_SEQ),
      revokedSigningKeys: inOrder<AuditedEnd>(
        'revoked_signing_keys',
        REVOKED_SIGNING_KEYS_BY_SEQ,
        'agent_signing_keys.revoked_seq',
      ),
      types: inOrder<AuditedType>('types', TYPES_BY_SEQ),
      erasures: inOrder<AuditedErasure>('erasures', ERASURES_BY_SEQ),
      rules: inOrder<AuditedRule>('retention_rules', RULES_BY_SEQ),
      holds: inOrder<AuditedHold>('holds', HOLDS_BY_SEQ),
      liftedHolds: inOrder<AuditedLift>('lifted_holds', LIFTED_HOLDS_BY_SEQ, 'holds.lifted_seq'),
      statements: inOrder<AuditedStatement>('statements', STATEMENTS_BY_SEQ),
      closures: inOrder<AuditedClosure>('ledger_closures', CLOSURES_BY_SEQ),
      offers: inOrder<AuditedOffer>('offers', OFFERS_BY_SEQ),
      received: inOrder<AuditedReceived>('received_entries', RECEIVED_BY_SEQ),
      receivedDocuments: inOrder<AuditedReceivedDocument>('received_documents', RECEIVED_DOCUMENTS_BY_SEQ),
      idempotencyKeys: mayReadKeys
        ? inOrder<AuditedIdempotencyKey>('idempotency_keys', IDEMPOTENCY_KEYS_BY_SEQ)
        : new OrderedRows<AuditedIdempotencyKey>('idempotency_keys', none()),
    },
  }
}

/**
 * Throws where an entry is there twice, before it is given, because a reader that takes the first one would not ask for
 * it again.
 */
async function* ascending(entries: AsyncIterable<AuditedEntry>): AsyncGenerator<AuditedEntry> {
  let held: AuditedEntry | null = null
  for await (const entry of entries) {
    if (held?.seq === entry.seq) throw new ProofError('seq_not_dense', `seq ${entry.seq} is there twice`)
    if (held) yield held
    held = entry
  }
  if (held) yield held
}

/** Entries whose envelopes have left for the archive, as they lie there. Throws ProofError `archive_object` where it has lost or changed them. */
async function* withEnvelopes(
  client: Db,
  ledgerId: Uuid,
  entries: AsyncIterable<Unfilled<AuditedEntry>>,
): AsyncGenerator<AuditedEntry> {
  let portion: Unfilled<AuditedEntry>[] = []
  for await (const entry of entries) {
    portion.push(entry)
    if (portion.length < SHORT_RANGE_ENTRIES) continue
    yield* await filled(() => fillEnvelopes(client, ledgerId, portion))
    portion = []
  }
  yield* await filled(() => fillEnvelopes(client, ledgerId, portion))
}

/** Chunks that have left for the archive, as they lie there. Throws ProofError `archive_object` where it has lost or changed them. */
async function* withContent(client: Db, chunks: AsyncIterable<AuditedChunk>): AsyncGenerator<AuditedChunk> {
  for await (const chunk of chunks) {
    await filled(() => fillReleased(client, [chunk]))
    yield chunk
  }
}

async function filled<T>(fill: () => Promise<T>): Promise<T> {
  try {
    return await fill()
  } catch (error) {
    if (error instanceof ReleasedFault) throw new ProofError('archive_object', error.message)
    throw error
  }
}

async function* none(): AsyncGenerator<never> {}

/** A checkpoint is compared after the last entry that it covers. */
async function* withLastSeq(
  rows: AsyncIterable<AuditedCheckpoint>,
): AsyncGenerator<AuditedCheckpoint & { seq: number }> {
  for await (const row of rows) yield { ...row, seq: row.size - 1 }
}
