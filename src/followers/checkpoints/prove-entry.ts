import { listEnvelopeKeys } from '../../db/chain/envelope-keys.ts'
import type { EntryRowRead } from '../../db/chain/read-entries.ts'
import { findEntry, findEntryOfRecord } from '../../db/chain/read-proven.ts'
import { findRegistration } from '../../db/chain/signed-entries.ts'
import { listBatchRecords } from '../../db/chunks/read-chunks.ts'
import type { Db } from '../../db/connect/client.ts'
import { ApiError } from '../../errors.ts'
import { Slice } from '../../load/slice.ts'
import { toHex } from '../../proof/bytes.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import type { Uuid } from '../../proof/ids.ts'
import { itemBytes, itemLeaf, verifyBatchItem } from '../../proof/statement/batch.ts'
import { indexOfRecordId, isOfBatch } from '../../proof/statement/batch-ids.ts'
import { STATEMENT } from '../../proof/statement/kinds.ts'
import { parseStatement } from '../../proof/statement/statement.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { inclusionPath, leafHash } from '../../proof/tree/merkle.ts'
import { describeLedger, itemOfRecord } from '../../records/read/export.ts'
import { isVisible } from '../../records/read/read.ts'
import { nativeProviders } from '../../signing/native.ts'
import { proveInclusion } from './prove-tree.ts'
import type { SignedCheckpoints } from './signed-checkpoints.ts'

const { sha256 } = nativeProviders

type ProveDeps = { readonly readPool: Db; readonly checkpoints: SignedCheckpoints }

type ProofOptions = {
  /**
   * Size of the checkpoint to prove against. A checkpoint of this size must have been published. null if the newest
   * checkpoint is to be used.
   */
  readonly size: number | null
  /**
   * If a number, the newest checkpoint with at least this many witness cosignatures is used. null if cosignatures do
   * not matter.
   */
  readonly cosignatures: number | null
}
type RecordProofOptions = ProofOptions & {
  readonly recordId: Uuid
  /**
   * Seq of the entry to prove, which must be an entry of the record. null if the record's first entry is to be proved.
   */
  readonly seq: number | null
  /** The caller's agent, if the caller may see only records of this agent. null if the caller may see all records. */
  readonly ownAgent: Uuid | null
}

/** A proof as docs/formats/proofs.md defines it. */
export type EntryProof = Awaited<ReturnType<typeof proveRow>> & {
  readonly item?: Awaited<ReturnType<typeof proveItem>>
}

/** Proves an entry. Returns null if the ledger has no such entry. Throws ApiError `checkpoint_pending`. */
export async function proveEntry(
  deps: ProveDeps,
  ledgerId: Uuid,
  seq: number,
  wanted: ProofOptions,
): Promise<EntryProof | null> {
  const row = await findEntry(deps.readPool, ledgerId, seq)
  return row && proveRow(deps, ledgerId, row, wanted)
}

/**
 * Proves an entry of a record, and the record's position in its batch. Returns null if the caller may not see the
 * record, or if there is no such entry.
 */
export async function proveRecord(
  deps: ProveDeps,
  ledgerId: Uuid,
  wanted: RecordProofOptions,
): Promise<EntryProof | null> {
  const row = await findEntryOfRecord(deps.readPool, ledgerId, wanted.recordId, wanted.seq)
  if (!row || !isVisible(row, wanted.ownAgent)) return null
  const proof = await proveRow(deps, ledgerId, row, wanted)
  if (!isOfBatch(wanted.recordId) || row.seq !== row.firstSeq) return proof
  // This is not run in parallel with proveRow. If proveRow throws because the checkpoint is pending, hashing up to
  // 2,000 items would be wasted.
  return { ...proof, item: await proveItem(deps.readPool, ledgerId, row, indexOfRecordId(wanted.recordId)) }
}

async function proveRow(
  { readPool, checkpoints }: ProveDeps,
  ledgerId: Uuid,
  row: EntryRowRead,
  wanted: ProofOptions,
) {
  const index = row.seq
  // A registered statement is signed by its issuer, so it has no kid of one of our keys.
  const kid = row.kind === STATEMENT ? null : toHex(parseEnvelope(row.envelope).kid)
  const registration = row.signer && (await findRegistration(readPool, ledgerId, kid!))
  const signer = registration ? toHex(parseEnvelope(registration.envelope).kid) : kid
  const [ledger, keys, note] = await Promise.all([
    describeLedger(readPool, ledgerId),
    listEnvelopeKeys(readPool),
    getCheckpoint(checkpoints, ledgerId, index, wanted),
  ])
  // The leaf hash is computed from the envelope that is returned, not read from the database, because the proof must be
  // about exactly this envelope.
  const path = await proveInclusion(readPool, ledgerId, leafHash(sha256, row.envelope), index, note)
  return {
    ledger,
    keys: keys.filter((key) => key.kid === signer),
    ...(registration && { registration: Buffer.from(registration.envelope).toString('base64') }),
    entry: {
      seq: index,
      kind: row.kind,
      recordedAt: row.recordedAt.toISOString(),
      leaf: row.leaf.toString('hex'),
      chain: row.chain.toString('hex'),
      envelope: row.envelope.toString('base64'),
    },
    index,
    treeSize: parseCheckpoint(note).checkpoint.size,
    path: path.map(toHex),
    checkpoint: note,
  }
}

/** Returns the note of a checkpoint that covers the entry. Throws ApiError. */
async function getCheckpoint(
  checkpoints: SignedCheckpoints,
  ledgerId: Uuid,
  seq: number,
  { size, cosignatures }: ProofOptions,
): Promise<string> {
  if (size !== null && size <= seq) {
    throw new ApiError('invalid_request', `a checkpoint of ${size} entries does not cover entry ${seq}`, {
      members: { path: '/size' },
    })
  }
  if (size !== null) {
    const note = await checkpoints.ofSize(ledgerId, size)
    if (note !== null) return note
    throw new ApiError('not_found', `no checkpoint of ${size} entries was published`)
  }
  const note =
    cosignatures === null
      ? await checkpoints.newest(ledgerId)
      : await checkpoints.cosigned(ledgerId, cosignatures)
  if (note !== null && parseCheckpoint(note).checkpoint.size > seq) return note
  throw cosignatures === null
    ? checkpointPending(`a checkpoint will cover entry ${seq} within seconds`)
    : cosignaturesPending(cosignatures)
}

/** Returns the error for a checkpoint that does not exist yet but will be published soon. */
export function checkpointPending(detail: string): ApiError {
  return new ApiError('checkpoint_pending', detail, { retryable: true, retryAfterMs: 1000 })
}

/**
 * Returns the error for missing cosignatures. The cosignatures may never come, because a caller may request more
 * cosignatures than there are witnesses.
 */
export function cosignaturesPending(min: number): ApiError {
  return checkpointPending(`no checkpoint that covers it has ${min} cosignatures yet`)
}

/** Proves one record's position in its batch. The proof is verified against the signed root of the batch. */
async function proveItem(pool: Db, ledgerId: Uuid, row: EntryRowRead, index: number) {
  const texts: string[] = []
  const slice = new Slice()
  for (const record of await listBatchRecords(pool, ledgerId, row.seq)) {
    if (slice.isOver) await slice.next()
    texts.push(itemBytes(itemOfRecord(record)))
  }
  const path = inclusionPath(
    sha256,
    texts.map((text) => itemLeaf(sha256, text)),
    index,
  )
  const { predicate, subjects } = parseStatement(parseEnvelope(row.envelope).payload)
  const count = predicate['count'] as number
  const item = verifyBatchItem(sha256, JSON.parse(texts[index]!), index, count, path, subjects[0].sha256)
  return { item, index, count, path: path.map(toHex) }
}
