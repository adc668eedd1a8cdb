import {
  AGENTS_BY_SEQ,
  type AuditedAgent,
  type AuditedCheckpoint,
  type AuditedEntry,
  type AuditedIdempotencyKey,
  type AuditedKey,
  type AuditedLedger,
  type AuditedRecord,
  type AuditedServerKey,
  type AuditedTile,
  CHECKPOINTS_BY_SIZE,
  canReadIdempotencyKeys,
  ENTRIES_BY_SEQ,
  getAuditedLedger,
  IDEMPOTENCY_KEYS_BY_SEQ,
  KEYS_BY_SEQ,
  type LedgerSnapshot,
  listLedgerIds,
  listServerKeys,
  listStrayTables,
  openSnapshot,
  RECORDS_BY_SEQ,
  streamRows,
  TILES_IN_ORDER,
} from '../db/ledger-snapshot.ts'
import { equalBytes, toHex } from '../proof/bytes.ts'
import { type Checkpoint, parseCheckpoint } from '../proof/checkpoint.ts'
import type { Sha256, SignatureAlgorithm } from '../proof/crypto.ts'
import { documentDigest } from '../proof/document.ts'
import { ProofError } from '../proof/error.ts'
import { formatId, isId, parseId } from '../proof/ids.ts'
import { keyThumbprint, parsePublicKey } from '../proof/keys.ts'
import { entryLine } from '../records/export.ts'
import type { EntryColumns, LedgerColumns, RecordColumns } from './columns.ts'
import { OrderedRows } from './ordered-rows.ts'
import { loadProviders } from './providers.ts'
import {
  type EntryChunk,
  type LedgerSource,
  type LedgerSummary,
  type OpenLedger,
  SourceError,
} from './source.ts'
import { TreeCollector } from './tree-collector.ts'

/**
 * A ledger in its own database: every row of every table that is evidence, or an index of it, in one snapshot, in
 * the order of the entries, so that nothing is larger in memory than a page.
 *
 * `ledger`: which one (`led_…`); null where the database has only one. Needs a login that may read all tables; with a
 * server's own, idempotency keys are left out, and a notice says so.
 */
export function database(url: string, ledger: string | null): LedgerSource {
  const { host, pathname } = new URL(url)
  const name = `postgres://${host}${pathname}`
  return {
    name,
    async open(): Promise<OpenLedger> {
      const snapshot = await connect(url, name)
      try {
        return await translated(name, () => openLedger(snapshot, ledger, name))
      } catch (error) {
        await snapshot.close()
        throw error
      }
    },
  }
}

/** Bytes of lines, and entries, handed over at a time. */
const CHUNK_BYTES = 256 * 1024
const CHUNK_ENTRIES = 512

async function openLedger(
  snapshot: LedgerSnapshot,
  ledger: string | null,
  name: string,
): Promise<OpenLedger> {
  const { client } = snapshot
  const { sha256 } = await loadProviders()
  const ledgerId = await chooseLedger(snapshot, ledger, name)
  const row = await getAuditedLedger(client, ledgerId)
  const serverKeys = await listServerKeys(client)
  const strayTables = await listStrayTables(client)
  const tree = new TreeCollector(sha256, Number(row.tree_size ?? 0))
  const mayReadKeys = await canReadIdempotencyKeys(client)
  const reader = new LedgerReader(snapshot, ledgerId, row, { sha256, mayReadKeys })
  return {
    ledger: formatId('led', ledgerId),
    keys: serverKeys.filter((key) => key.use === 'envelope').map(keyHint),
    total: Number(row.size ?? 0),
    notices: mayReadKeys ? [] : ['this login may not read idempotency keys: they were not compared'],
    chunks: () => translatedRows(name, reader.chunks()),
    observer: {
      node: (level, index, hash) => tree.node(level, index, hash),
      appended: (step, frontier) => tree.leaf(step.leaf, frontier),
      finish: (summary) =>
        translated(name, async () => {
          verifyHead(row, summary, tree)
          await tree.verifyTiles(streamRows<AuditedTile>(client, 'tiles', TILES_IN_ORDER, ledgerId))
          verifyServerKeys(serverKeys, sha256)
          if (strayTables.length > 0)
            throw contradiction(`${strayTables[0]}: rows of a ledger that has no chain`)
        }),
    },
    close: () => snapshot.close(),
  }
}

async function chooseLedger(
  snapshot: LedgerSnapshot,
  ledger: string | null,
  name: string,
): Promise<Uint8Array> {
  const ids = await listLedgerIds(snapshot.client)
  const known = ids.map((id) => formatId('led', id))
  if (ledger !== null) {
    if (!isId('led', ledger))
      throw new SourceError('usage', `${ledger.slice(0, 64)} is not the id of a ledger (led_…)`)
    if (!known.includes(ledger)) throw new SourceError('not_a_ledger', `${name} has no ledger ${ledger}`)
    return parseId('led', ledger)
  }
  if (ids.length === 1) return ids[0]!
  if (ids.length === 0) throw new SourceError('not_a_ledger', `${name} holds no ledger`)
  const shown = known.slice(0, 20).join('\n  ')
  throw new SourceError('usage', `${name} holds ${ids.length} ledgers: choose one with --ledger\n  ${shown}`)
}

function keyHint({ kid, alg, spki, compromised_at }: AuditedServerKey) {
  return {
    kid: toHex(kid),
    alg,
    spki: spki.toString('base64'),
    compromisedAt: compromised_at?.toISOString() ?? null,
  }
}

/** Reads a ledger's tables side by side. */
class LedgerReader {
  readonly #row: AuditedLedger
  readonly #sha256: Sha256
  readonly #entries: AsyncIterable<AuditedEntry>
  readonly #checkpoints: OrderedRows<AuditedCheckpoint & { seq: string }>
  readonly #records: OrderedRows<AuditedRecord>
  readonly #agents: OrderedRows<AuditedAgent>
  readonly #keys: OrderedRows<AuditedKey>
  readonly #idempotencyKeys: OrderedRows<AuditedIdempotencyKey>

  constructor(
    { client }: LedgerSnapshot,
    ledgerId: Uint8Array,
    row: AuditedLedger,
    options: { sha256: Sha256; mayReadKeys: boolean },
  ) {
    const rows = <T extends object>(name: string, text: string) =>
      streamRows<T & Record<string, unknown>>(client, name, text, ledgerId)
    this.#row = row
    this.#sha256 = options.sha256
    this.#entries = rows<AuditedEntry>('entries', ENTRIES_BY_SEQ)
    this.#checkpoints = new OrderedRows(
      'checkpoints',
      withLastSeq(rows<AuditedCheckpoint>('checkpoints', CHECKPOINTS_BY_SIZE)),
    )
    this.#records = new OrderedRows('records', rows<AuditedRecord>('records', RECORDS_BY_SEQ))
    this.#agents = new OrderedRows('agents', rows<AuditedAgent>('agents', AGENTS_BY_SEQ))
    this.#keys = new OrderedRows('api_keys', rows<AuditedKey>('api_keys', KEYS_BY_SEQ))
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
      chunk.add(
        entryLine(entry, records.map(asExported), { documents: true }),
        columns,
        await this.#notesOf(seq),
        seq + 1,
      )
      if (chunk.isFull) {
        yield chunk.build()
        chunk = new ChunkBuilder()
      }
    }
    yield chunk.build()
    for (const rows of [this.#checkpoints, this.#records, this.#agents, this.#keys, this.#idempotencyKeys])
      await rows.finish()
  }

  async #columnsOf(
    entry: AuditedEntry,
    seq: number,
    records: readonly AuditedRecord[],
  ): Promise<EntryColumns> {
    const agents = await this.#agents.take(seq)
    const keys = await this.#keys.take(seq)
    const idempotencyKeys = await this.#idempotencyKeys.take(seq)
    return {
      subjectId: entry.subject_id,
      version: entry.version,
      prevSeq: entry.prev_seq,
      prevLeaf: entry.prev_leaf === null ? null : toHex(entry.prev_leaf),
      actorId: entry.actor_id,
      keyId: entry.key_id,
      recordedAtUs: entry.recorded_at_us,
      records: records.map((record) => recordColumns(record, this.#sha256)),
      agents: agents.map(({ agent_id, name }) => ({ agentId: agent_id, name })),
      keys: keys.map(({ key_id, agent_id, scopes, expires_at_us }) => ({
        keyId: key_id,
        agentId: agent_id,
        scopes,
        expiresAtUs: expires_at_us,
      })),
      idempotencyActorIds: idempotencyKeys.map(({ actor_id }) => actor_id),
      ledger: seq === 0 ? ledgerColumns(this.#row) : null,
    }
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

/** Lines, their columns and the checkpoints on the way. */
class ChunkBuilder {
  #lines: string[] = []
  #columns: string[] = []
  #notes: string[] = []
  #bytes = 0
  #progress = 0

  add(line: string, columns: EntryColumns, notes: readonly string[], progress: number): void {
    this.#lines.push(line)
    this.#columns.push(JSON.stringify(columns))
    this.#notes.push(...notes)
    this.#bytes += line.length
    this.#progress = progress
  }

  get isFull(): boolean {
    return this.#bytes >= CHUNK_BYTES || this.#lines.length >= CHUNK_ENTRIES
  }

  build(): EntryChunk {
    return {
      lines: encodeLines(this.#lines),
      columns: encodeLines(this.#columns),
      checkpoints: this.#notes,
      progress: this.#progress,
    }
  }
}

function encodeLines(lines: readonly string[]): Uint8Array {
  return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''))
}

function asExported(record: AuditedRecord) {
  return { ...record, first_seq: record.seq }
}

function recordColumns(record: AuditedRecord, sha256: Sha256): RecordColumns {
  const { salt, payload, digest } = record
  return {
    recordId: record.record_id,
    type: record.type,
    state: record.state,
    version: record.version,
    lastSeq: record.last_seq,
    lastSubjectId: record.last_subject_id,
    itemIndex: record.item_index,
    actorId: record.actor_id,
    onBehalfOf: record.on_behalf_of,
    occurredAtUs: record.occurred_at_us,
    traceparent: record.traceparent,
    digest: toHex(digest),
    isCanonical:
      salt === null || payload === null || equalBytes(documentDigest(sha256, salt, payload), digest),
  }
}

function ledgerColumns({ name, issuer, origin, note_kid }: AuditedLedger): LedgerColumns {
  return { name, issuer, origin, noteKid: note_kid === null ? null : toHex(note_kid) }
}

/** The row repeats what its note says; that the note is signed, and agrees with the tree, LedgerVerifier finds. */
function verifyCheckpointRow(row: AuditedCheckpoint): void {
  const { size, root, chain }: Checkpoint = parseCheckpoint(row.note).checkpoint
  if (`${size}` !== row.size || !equalBytes(root, row.root) || !equalBytes(chain, row.chain)) {
    throw contradiction(`checkpoints: the row of size ${row.size} is not what its note says`)
  }
}

/** The rows of which there is one for each ledger, against what the entries came to. */
function verifyHead(row: AuditedLedger, summary: LedgerSummary, tree: TreeCollector): void {
  if (row.size === null || Number(row.size) !== summary.size) {
    throw contradiction(`chain_heads.size is ${row.size}, there are ${summary.size} entries`)
  }
  if (summary.size > 0 && toHex(row.chain!) !== summary.chain)
    throw contradiction('chain_heads.chain is not the last entry’s')
  if (summary.size > 0 && toHex(row.envelope_kid!) !== summary.currentKid) {
    throw contradiction(`chain_heads.envelope_kid is not the current key, ${summary.currentKid}`)
  }
  if (summary.size === 0 && row.name !== null) throw contradiction('ledgers: a row, but there are no entries')
  if (tree.frontier === null || !equalBytes(tree.frontier, row.tree_hashes ?? new Uint8Array(0))) {
    throw contradiction(`tree_frontiers: not the frontier of the first ${row.tree_size} entries`)
  }
}

function verifyServerKeys(keys: readonly AuditedServerKey[], sha256: Sha256): void {
  for (const { kid, use, alg, spki } of keys) {
    const thumbprint = keyThumbprint(sha256, parsePublicKey(alg as SignatureAlgorithm, spki))
    if (!equalBytes(thumbprint, kid))
      throw contradiction(`server_keys: a key of use ${use} is not the one of its kid ${toHex(kid)}`)
  }
}

function contradiction(detail: string): ProofError {
  return new ProofError('columns_contradict_entries', detail)
}

async function connect(url: string, name: string): Promise<LedgerSnapshot> {
  return translated(name, () => openSnapshot(url))
}

async function* translatedRows<T>(name: string, rows: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* rows
  } catch (error) {
    throw translate(name, error)
  }
}

async function translated<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translate(name, error)
  }
}

/** What Postgres or the network says, as what the user can do about it. Never the URL's password. */
function translate(name: string, error: unknown): unknown {
  if (error instanceof ProofError || error instanceof SourceError) return error
  const { code, message } = error as { code?: string; message: string }
  const options = { cause: error }
  if (code === '28P01' || code === '28000')
    return new SourceError('denied', `${name} refuses the login`, options)
  if (code === '42501')
    return new SourceError('denied', `${name}: this login may not read all of it (${message})`, options)
  if (code === '3D000') return new SourceError('not_a_ledger', `${name}: there is no such database`, options)
  if (code === '42P01' || code === '42703' || code === '3F000') {
    return new SourceError(
      'not_a_ledger',
      `${name} does not have the schema of this version (${message})`,
      options,
    )
  }
  return new SourceError('unavailable', `${name} cannot be read (${code ?? message})`, options)
}
