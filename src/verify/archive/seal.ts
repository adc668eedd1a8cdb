import { z } from 'zod'
import type { PieceObjects } from '../../db/chain/archives.ts'
import { utf8Decode } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { parseJsonText } from '../../proof/json/json-text.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { ARCHIVE_PIECE_ENTRIES_MAX, ARCHIVE_SEAL_DEPTH_MAX } from '../../proof/limits.ts'
import { isTime } from '../../proof/statement/fields.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { TILE_HASHES } from '../../proof/tree/merkle.ts'
import { formatTileAddress, type TileAddress } from '../../proof/tree/tile-address.ts'
import { ARCHIVE_OBJECT_BYTES_MAX } from './limits.ts'

/* Names of objects in an archive, and seals (docs/formats/archive.md), for code that writes or reads archives. */

/** Name of the object with the newest sealed checkpoint. No other object is ever replaced. */
export const CHECKPOINT_OBJECT = 'checkpoint'

const digest = z.string().regex(/^[0-9a-f]{64}$/)
const count = z.int().min(0)
const time = z.string().refine(isTime)

const ledger = z.strictObject({
  id: z.string(),
  name: z.string(),
  issuer: z.string(),
  origin: z.string(),
  noteVerifierKey: z.string(),
})
const key = z.strictObject({
  kid: digest,
  use: z.literal('envelope'),
  alg: z.string(),
  spki: z.string(),
  activatedAt: time,
  retiredAt: time.nullable(),
  compromisedAt: time.nullable(),
})

const seal = z.strictObject({
  archive: z.literal(1),
  ledger,
  keys: z.array(key),
  from: count,
  size: count.min(1),
  /** SHA-256 of the previous seal; null in the first seal. */
  previous: digest.nullable(),
  checkpoint: z.string(),
  /** List of `[subject, seq of the entry with the document's digest, seq of the entry that erases the document]`. */
  erasures: z.array(z.tuple([z.string(), count, count])),
  pieces: z.array(
    z.strictObject({ from: count, end: count, lines: z.string(), documents: z.string().nullable() }),
  ),
  objects: z.array(
    z.strictObject({ name: z.string(), bytes: count.max(ARCHIVE_OBJECT_BYTES_MAX), sha256: digest }),
  ),
})

export type ArchiveSeal = z.infer<typeof seal>
export type ArchivePiece = ArchiveSeal['pieces'][number]
export type ArchiveObject = ArchiveSeal['objects'][number]

export const sealName = (size: number) => `seals/${size}`

/**
 * Returns the name of a piece's object. The name contains the content's digest, so that objects left by a killed worker
 * do not conflict with later objects.
 */
export const pieceObjectName = (kind: 'lines' | 'documents', from: number, sha256: string) =>
  `${kind}/${from}-${sha256}`

/** Returns the pieces of a seal with the digests and lengths of their objects. */
export function piecesOf({ pieces, objects }: Pick<ArchiveSeal, 'pieces' | 'objects'>): PieceObjects[] {
  const named = new Map(objects.map((object) => [object.name, object]))
  const objectOf = (name: string) => {
    const { sha256, bytes } = named.get(name)!
    return { digest: Buffer.from(sha256, 'hex'), bytes }
  }
  return pieces.map(({ from, end, lines, documents }) => ({
    ...{ from, end, lines: objectOf(lines) },
    documents: documents === null ? null : objectOf(documents),
  }))
}

export const tileName = (address: TileAddress) => `tile/${formatTileAddress(address)}`

/** Yields the tiles and bundles that a log of `size` entries has and that a log of `from` entries does not have. */
export function* tilesBetween(from: number, size: number): Generator<TileAddress> {
  yield* tilesOfLevel('entries', from, size)
  for (let level = 0, unit = 1; unit <= size; level++, unit *= TILE_HASHES)
    yield* tilesOfLevel(level, Math.floor(from / unit), Math.floor(size / unit))
}

/** Yields the tiles of a level that are new or changed between `had` and `hashes` hashes. */
function* tilesOfLevel(level: TileAddress['level'], had: number, hashes: number): Generator<TileAddress> {
  if (hashes === had) return
  for (let tile = Math.floor(had / TILE_HASHES); tile * TILE_HASHES < hashes; tile++)
    yield { level, tile, width: Math.min(TILE_HASHES, hashes - tile * TILE_HASHES) }
}

/**
 * Parses the seal of `size` entries. The seal's pieces must have no gap, and its checkpoint must have the size `size`.
 * The checkpoint's signature is not verified.
 *
 * Throws ProofError with `archive_object`, or with `note_syntax` or `checkpoint_syntax` for the checkpoint.
 */
export function parseSeal(bytes: Uint8Array, size: number): ArchiveSeal {
  const parsed = seal.safeParse(parseJson(bytes))
  if (!parsed.success) throw refused(size, 'is not a seal')
  const { data } = parsed
  if (data.size !== size || data.from >= size) throw refused(size, 'is the seal of other entries')
  if ((data.previous === null) !== (data.from === 0))
    throw refused(size, 'does not name its predecessor correctly')
  let at = data.from
  for (const { from, end } of data.pieces) {
    if (from !== at || end <= from || end > size || end - from > ARCHIVE_PIECE_ENTRIES_MAX)
      throw refused(size, 'has a piece in the wrong position')
    at = end
  }
  if (at !== size) throw refused(size, 'lacks a piece')
  refuseNames(data)
  if (parseCheckpoint(data.checkpoint).checkpoint.size !== size)
    throw refused(size, 'has the checkpoint of another size')
  return data
}

/**
 * Throws if the seal lists other objects than its entries need, or lists an object twice. Computes at most as many
 * names as the seal lists, so that a false size cannot cause much work.
 */
function refuseNames({ from, size, pieces, objects }: ArchiveSeal): void {
  const named = new Map(objects.map(({ name, sha256 }) => [name, sha256]))
  if (named.size !== objects.length) throw refused(size, 'names an object twice')
  const take = (name: string): string => {
    const sha256 = named.get(name)
    if (sha256 === undefined || !named.delete(name))
      throw refused(size, `does not name ${name}, which its entries have`)
    return sha256
  }
  for (const piece of pieces)
    for (const kind of ['lines', 'documents'] as const) {
      const name = piece[kind]
      if (name !== null && name !== pieceObjectName(kind, piece.from, take(name)))
        throw refused(size, `names ${name} with another digest than its own`)
    }
  for (const address of tilesBetween(from, size)) take(tileName(address))
  if (named.size > 0) throw refused(size, `names ${[...named.keys()][0]}, which its entries do not have`)
}

function parseJson(bytes: Uint8Array): JsonValue {
  try {
    return parseJsonText(utf8Decode(bytes), { depthMax: ARCHIVE_SEAL_DEPTH_MAX })
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
}

function refused(size: number, finding: string): ProofError {
  return new ProofError('archive_object', `${sealName(size)} ${finding}`)
}
