import type pg from 'pg'
import {
  advanceArchive,
  claimArchive,
  type DueArchive,
  findSealSize,
  listErasuresOf,
  type PieceObjects,
  releaseArchive,
} from '../../db/chain/archives.ts'
import { findCheckpoint } from '../../db/chain/checkpoints.ts'
import { listEnvelopeKeys } from '../../db/chain/envelope-keys.ts'
import { toHex } from '../../proof/bytes.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { describeLedger } from '../../records/read/export.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import { sha256Hex } from '../../signing/sha256.ts'
import { eachAtOnce } from '../../verify/archive/each-at-once.ts'
import { ARCHIVE_OBJECT_BYTES_MAX, ARCHIVE_SEAL_BYTES_MAX } from '../../verify/archive/limits.ts'
import { readPiece } from '../../verify/archive/read-piece.ts'
import type { ArchiveStores } from '../../verify/archive/s3-store.ts'
import {
  type ArchiveObject,
  type ArchivePiece,
  type ArchiveSeal,
  CHECKPOINT_OBJECT,
  parseSeal,
  pieceObjectName,
  piecesOf,
  sealName,
  tileName,
  tilesBetween,
} from '../../verify/archive/seal.ts'
import { type ArchiveStore, ArchiveStoreError } from '../../verify/archive/store.ts'
import { readTile } from '../checkpoints/read-tile.ts'
import {
  ARCHIVE_CLAIM_MS,
  ARCHIVE_CLAIM_RENEWED_EVERY_MS,
  ARCHIVE_SEAL_ENTRIES_MAX,
  ARCHIVE_SEAL_RECORDS_MAX,
  ARCHIVE_WRITES_AT_ONCE,
} from '../limits.ts'
import { ArchiveConflict, type ObserveObject, writeObject } from './write-objects.ts'
import { type Piece, readPieces } from './write-piece.ts'

export type SealDeps = {
  readonly pool: pg.Pool
  readonly masterKey: MasterKey
  readonly workerId: Uuid
  readonly stores: ArchiveStores
  readonly observeObject?: ObserveObject
}

/**
 * Archives the next prefix of a ledger, up to a checkpoint. First it writes the objects and reads each of them back.
 * Then it writes the seal, which lists the objects. Then it writes the checkpoint, from which readers start. Last, it
 * stores the new size in Postgres.
 *
 * Returns the new size. Returns null if another worker has claimed the ledger, or if there is no checkpoint beyond the
 * archived entries. Throws ArchiveConflict and ArchiveStoreError. *Crash at any time: existing objects are found again,
 * and an existing seal is used as it is.*
 */
export async function sealPrefix(deps: SealDeps, due: DueArchive): Promise<number | null> {
  const { pool, workerId } = deps
  const { ledgerId, from } = due
  const claim = new Claim(() => claimArchive(pool, due, { by: workerId, ms: ARCHIVE_CLAIM_MS }))
  if (!(await claim.take())) return null
  const store = deps.stores.of(formatId('led', ledgerId))
  try {
    const there = await readNewest(store, due)
    // `there` is the size of the archive's checkpoint. It is not null only after a worker was killed at one point: the
    // checkpoint was in the archive already, and its size was not in Postgres yet.
    const bounds = { entries: ARCHIVE_SEAL_ENTRIES_MAX, records: ARCHIVE_SEAL_RECORDS_MAX }
    const size = there ?? (await findSealSize(pool, ledgerId, from, bounds))
    if (size === null) return null
    const note = (await findCheckpoint(pool, ledgerId, size))!
    const stored = await findSeal(deps, store, due, { size, note, claim })
    const { sealDigest, pieces } = stored ?? (await writeSeal(deps, store, due, { size, note, claim }))
    await replaceCheckpoint(store, { size, note, claim })
    const position = { size, sealDigest, pieces }
    if (!(await advanceArchive(pool, ledgerId, from, position))) throw lost()
    return size
  } finally {
    await releaseArchive(pool, ledgerId, workerId).catch(() => {})
  }
}

type Sealed = { readonly sealDigest: Uint8Array; readonly pieces: readonly PieceObjects[] }

type Target = { readonly size: number; readonly note: string; readonly claim: Claim }

/**
 * A worker's claim of a ledger, renewed during the work. A worker that has lost the claim MUST NOT write the seal or
 * the checkpoint.
 */
class Claim {
  readonly #ask: () => Promise<boolean>
  #takenMs = 0

  constructor(ask: () => Promise<boolean>) {
    this.#ask = ask
  }

  async take(): Promise<boolean> {
    this.#takenMs = performance.now()
    return this.#ask()
  }

  /** Renews the claim. Throws ArchiveStoreError if another worker has taken it over. */
  async renew(): Promise<void> {
    if (!(await this.take())) throw lost()
  }

  /** Renews the claim if it is older than ARCHIVE_CLAIM_RENEWED_EVERY_MS. Must be called for each object. */
  async renewIfOld(): Promise<void> {
    if (performance.now() - this.#takenMs >= ARCHIVE_CLAIM_RENEWED_EVERY_MS) await this.renew()
  }
}

function lost(): ArchiveStoreError {
  return new ArchiveStoreError('it took too long, and another worker continues')
}

/**
 * Returns the size of the archive's checkpoint if this size is larger than the size stored in Postgres, otherwise null.
 * Throws ArchiveConflict if the checkpoint is smaller, or if the newest seal is not the one that was written.
 */
async function readNewest(store: ArchiveStore, { from, sealDigest }: DueArchive): Promise<number | null> {
  const newest = await store.get(CHECKPOINT_OBJECT, ARCHIVE_OBJECT_BYTES_MAX)
  const size = newest === null ? 0 : parseCheckpoint(newest.toString('utf8')).checkpoint.size
  if (size < from)
    throw new ArchiveConflict(CHECKPOINT_OBJECT, `covers ${size} entries, but ${from} were archived`)
  if (sealDigest !== null) {
    const before = await store.get(sealName(from), ARCHIVE_SEAL_BYTES_MAX)
    if (before === null || sha256Hex(before) !== toHex(sealDigest))
      throw new ArchiveConflict(
        sealName(from),
        before === null ? 'is missing' : 'differs from what was written',
      )
  }
  return size > from ? size : null
}

/**
 * Finds a seal of this size that a worker wrote before it was killed. Returns null if there is no such seal. Throws
 * ArchiveConflict if the seal continues another archive, or if one of its objects is missing or differs from the digest
 * in the seal.
 */
async function findSeal(
  deps: SealDeps,
  store: ArchiveStore,
  { from, sealDigest }: DueArchive,
  { size, note, claim }: Target,
): Promise<Sealed | null> {
  const bytes = await store.get(sealName(size), ARCHIVE_SEAL_BYTES_MAX)
  if (bytes === null) return null
  const seal = parseSeal(bytes, size)
  const isOurs =
    seal.from === from &&
    seal.previous === (sealDigest && toHex(sealDigest)) &&
    textOf(seal.checkpoint) === textOf(note)
  if (!isOurs) throw new ArchiveConflict(sealName(size), 'continues another archive')
  await eachAtOnce(seal.objects, ARCHIVE_WRITES_AT_ONCE, async ({ name, bytes: length, sha256 }) => {
    const object = await store.get(name, ARCHIVE_OBJECT_BYTES_MAX)
    if (object === null || object.length !== length || sha256Hex(object) !== sha256)
      throw new ArchiveConflict(name, object === null ? 'is missing' : 'does not have the digest of its seal')
    deps.observeObject?.(object.length)
    await claim.renewIfOld()
  })
  return { sealDigest: Buffer.from(sha256Hex(bytes), 'hex'), pieces: piecesOf(seal) }
}

/**
 * Returns the signed text of a note, without the signatures. Signatures are not compared, because cosignatures are
 * added later.
 */
const textOf = (note: string) => note.slice(0, note.indexOf('\n\n'))

async function writeSeal(
  deps: SealDeps,
  store: ArchiveStore,
  { ledgerId, from, sealDigest }: DueArchive,
  { size, note, claim }: Target,
): Promise<Sealed> {
  const { pool } = deps
  const objects: ArchiveObject[] = []
  const pieces: ArchivePiece[] = []
  for await (const piece of readPieces(deps, ledgerId, from, size)) {
    const [named, ...written] = await writePiece(deps, store, piece)
    pieces.push(named)
    objects.push(...written)
    await claim.renew()
  }
  const tiles = await eachAtOnce([...tilesBetween(from, size)], ARCHIVE_WRITES_AT_ONCE, async (address) => {
    await claim.renewIfOld()
    return writeObject(
      store,
      tileName(address),
      await readTile(pool, ledgerId, address, note),
      deps.observeObject,
    )
  })
  const erasures = await listErasuresOf(pool, ledgerId, from, size)
  const seal: ArchiveSeal = {
    archive: 1,
    ledger: await describeLedger(pool, ledgerId),
    keys: await listEnvelopeKeys(pool),
    from,
    size,
    previous: sealDigest && toHex(sealDigest),
    checkpoint: note,
    erasures: erasures.map((e) => [formatDocumentSubject(e.document, e.subjectId), e.documentSeq, e.seq]),
    pieces,
    objects: [...tiles, ...objects],
  }
  const bytes = Buffer.from(JSON.stringify(seal))
  parseSeal(bytes, size)
  await claim.renew()
  const { sha256 } = await writeObject(store, sealName(size), bytes, deps.observeObject)
  return { sealDigest: Buffer.from(sha256, 'hex'), pieces: piecesOf(seal) }
}

/** Writes one piece. Throws ProofError, before anything is written, if a verifier would refuse the piece. */
async function writePiece(
  deps: SealDeps,
  store: ArchiveStore,
  piece: Piece,
): Promise<[ArchivePiece, ...ArchiveObject[]]> {
  await readPiece(piece)
  const { from, end, ...content } = piece
  const write = (kind: 'lines' | 'documents', bytes: Buffer) =>
    writeObject(store, pieceObjectName(kind, from, sha256Hex(bytes)), bytes, deps.observeObject)
  const lines = await write('lines', content.lines)
  const documents = content.documents && (await write('documents', content.documents))
  return [
    { from, end, lines: lines.name, documents: documents?.name ?? null },
    lines,
    ...(documents === null ? [] : [documents]),
  ]
}

/**
 * Replaces the archive's checkpoint. The old checkpoint is read first: a worker that was delayed must not replace it
 * with an older checkpoint. The new checkpoint is read back: if the store ignored the write, readers would miss all
 * later entries.
 */
async function replaceCheckpoint(store: ArchiveStore, { size, note, claim }: Target): Promise<void> {
  const before = await store.get(CHECKPOINT_OBJECT, ARCHIVE_OBJECT_BYTES_MAX)
  if (before !== null && parseCheckpoint(before.toString('utf8')).checkpoint.size > size) throw lost()
  await claim.renew()
  await store.replace(CHECKPOINT_OBJECT, Buffer.from(note))
  const kept = await store.get(CHECKPOINT_OBJECT, ARCHIVE_OBJECT_BYTES_MAX)
  if (kept?.toString('utf8') !== note)
    throw new ArchiveStoreError(`${CHECKPOINT_OBJECT} was replaced by another one`)
}
