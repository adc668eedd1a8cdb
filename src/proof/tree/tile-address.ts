import { TILE_LEVEL_MAX } from '../limits.ts'
import { TILE_HASHES } from './merkle.ts'

/*
 * Addresses of C2SP tlog-tiles: `<L>/<N>` for tiles and `entries/<N>` for entry bundles. The address of a partial tile
 * ends with `.p/<W>`.
 */

/**
 * Address of a tile or an entry bundle. `width`: number of hashes or entries, counted from the first. It is TILE_HASHES
 * if the tile is full.
 */
export type TileAddress = {
  readonly level: number | 'entries'
  readonly tile: number
  readonly width: number
}

/** Number of digits in one path element of N. N has as many path elements as its digits need. */
const ELEMENT_DIGITS = 3
const ELEMENT = 10 ** ELEMENT_DIGITS
/** N has at most six elements, because a safe integer has at most 16 digits. */
const ADDRESS = /^(entries|0|[1-9][0-9]?)\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/

/**
 * Parses an address. Returns null for every text that formatTileAddress would not write. So each tile has only one
 * address.
 */
export function parseTileAddress(text: string): TileAddress | null {
  const [, level, elements, width] = ADDRESS.exec(text) ?? []
  if (level === undefined || elements === undefined) return null
  const address = {
    level: level === 'entries' ? level : Number(level),
    tile: Number(elements.replaceAll(/[x/]/g, '')),
    width: width === undefined ? TILE_HASHES : Number(width),
  } as const
  const isKnown =
    (level === 'entries' || Number(level) <= TILE_LEVEL_MAX) &&
    Number.isSafeInteger(address.tile) &&
    (width === undefined || address.width < TILE_HASHES)
  // The comparison refuses leading zero elements, which would give the same tile a second address.
  return isKnown && formatTileAddress(address) === text ? address : null
}

export function formatTileAddress({ level, tile, width }: TileAddress): string {
  const elements: string[] = []
  for (let left = tile; ; left = Math.floor(left / ELEMENT)) {
    const digits = String(left % ELEMENT).padStart(ELEMENT_DIGITS, '0')
    elements.unshift(elements.length === 0 ? digits : `x${digits}`)
    if (left < ELEMENT) break
  }
  return `${level}/${elements.join('/')}${width === TILE_HASHES ? '' : `.p/${width}`}`
}

/**
 * Returns true if a log of `size` entries contains the whole tile. An entry bundle covers the same entries as the tile
 * of level 0 with the same number.
 */
export function isCovered({ level, tile, width }: TileAddress, size: number): boolean {
  const hashes = Math.floor(size / TILE_HASHES ** (level === 'entries' ? 0 : level))
  return tile * TILE_HASHES + width <= hashes
}
