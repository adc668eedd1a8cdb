import { z } from 'zod'
import type { PieceObjects } from '../../db/chain/archives.ts'
import { ProofError } from '../../proof/error.ts'
import { TILE_HASHES } from '../../proof/tree/merkle.ts'
import { formatTileAddress, isCovered, type TileAddress } from '../../proof/tree/tile-address.ts'
import { PIECE_ENTRIES_MAX } from '../../signing/document-keys.ts'

/* Names and manifests of an archive (docs/formats/archive.md), as its writer and its readers have them. */

/** The newest sealed checkpoint: the only object that is ever replaced. */
export const CHECKPOINT_OBJECT = 'checkpoint'

const digest = z.string().regex(/^[0-9a-f]{64}$/)
const count = z.int().min(0)
const objectName = z.string().regex(/^(tile\/[0-9a-z./]{1,64}|(lines|documents)\/[0-9]{1,16}-[0-9a-f]{64})$/)

const seal = z.strictObject({
  archive: z.literal(1),
  ledger: z.looseObject({ id: z.string() }),
  keys: z.array(z.unknown()),
  from: count,
  size: count.min(1),
  /** SHA-256 of the seal before; null of the first. */
  previous: digest.nullable(),
  checkpoint: z.string(),
  /** `[subject, seq of the entry that digests it, seq of the entry that erases it]`. */
  erasures: z.array(z.tuple([z.string(), count, count])),
  pieces: z.array(
    z.strictObject({ from: count, end: count, lines: objectName, documents: objectName.nullable() }),
  ),
  objects: z.array(z.strictObject({ name: objectName, bytes: count, sha256: digest })),
})

export type ArchiveSeal = z.infer<typeof seal>
export type ArchivePiece = ArchiveSeal['pieces'][number]
export type ArchiveObject = ArchiveSeal['objects'][number]

export const sealName = (size: number) => `seals/${size}`

/** Named by their content, so that what a worker wrote before it was killed is in nobody's way. */
export const pieceObjectName = (kind: 'lines' | 'documents', from: number, sha256: string) =>
  `${kind}/${from}-${sha256}`

/** Pieces of a seal, with the digests and lengths of their objects. */
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

/** Tiles and bundles that a log of `size` entries has and one of `from` has not. */
export function tilesBetween(from: number, size: number): TileAddress[] {
  const tiles: TileAddress[] = []
  const add = (level: TileAddress['level'], unit: number) => {
    const hashes = Math.floor(size / unit)
    for (let tile = Math.floor(from / unit / TILE_HASHES); tile * TILE_HASHES < hashes; tile++) {
      const address = { level, tile, width: Math.min(TILE_HASHES, hashes - tile * TILE_HASHES) }
      if (!isCovered(address, from)) tiles.push(address)
    }
  }
  add('entries', 1)
  for (let level = 0, unit = 1; unit <= size; level++, unit *= TILE_HASHES) add(level, unit)
  return tiles
}

/** Throws ProofError `archive_object` unless it is the seal of `size` entries, whole and without a gap. */
export function parseSeal(bytes: Uint8Array, size: number): ArchiveSeal {
  const parsed = seal.safeParse(parseJson(bytes))
  if (!parsed.success) throw refused(size, 'is no seal')
  const { data } = parsed
  if (data.size !== size || data.from >= size) throw refused(size, 'is the seal of other entries')
  if ((data.previous === null) !== (data.from === 0)) throw refused(size, 'does not say what is before it')
  let at = data.from
  for (const { from, end, lines, documents } of data.pieces) {
    const isInPlace = from === at && end > from && end <= size && end - from <= PIECE_ENTRIES_MAX
    const isNamed =
      lines.startsWith(`lines/${from}-`) &&
      (documents ?? `documents/${from}-`).startsWith(`documents/${from}-`)
    if (!isInPlace || !isNamed) throw refused(size, 'has a piece out of its place')
    at = end
  }
  if (at !== size) throw refused(size, 'lacks a piece')
  const named = [
    ...tilesBetween(data.from, size).map(tileName),
    ...data.pieces.flatMap(({ lines, documents }) => (documents === null ? [lines] : [lines, documents])),
  ]
  const objects = new Set(data.objects.map(({ name }) => name))
  if (objects.size !== named.length || !named.every((name) => objects.has(name)))
    throw refused(size, 'does not name the objects of its entries')
  return data
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return null
  }
}

function refused(size: number, finding: string): ProofError {
  return new ProofError('archive_object', `${sealName(size)} ${finding}`)
}
