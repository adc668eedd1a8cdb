import { ArchiveFault } from '../../db/connect/archive.ts'
import { equalBytes } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { leafHash, TILE_HASHES } from '../../proof/tree/merkle.ts'
import type { TileAddress } from '../../proof/tree/tile-address.ts'
import { nativeProviders } from '../../signing/native.ts'
import { ownBuffer } from './own-buffer.ts'
import { tileName } from './seal.ts'

/** Envelopes of a tile's entries, as stored in the archive (docs/formats/tiles.md). */
export class ArchivedBundle {
  readonly #address: TileAddress
  readonly #bundle: Buffer

  /** The bytes of `bundle` may be unverified, because each envelope is compared with its leaf. */
  constructor(address: TileAddress, bundle: Buffer) {
    this.#address = address
    this.#bundle = ownBuffer(bundle)
  }

  get bytes(): number {
    return this.#bundle.length
  }

  /**
   * Returns the envelope of each entry as a view of the bundle. Throws ArchiveFault if an envelope does not match its
   * leaf.
   */
  read(entries: readonly { readonly seq: number; readonly leaf: Uint8Array }[]): Buffer[] {
    const envelopes = this.#split()
    return entries.map(({ seq, leaf }) => {
      const envelope = envelopes[seq % TILE_HASHES]!
      if (equalBytes(leafHash(nativeProviders.sha256, envelope), leaf)) return envelope
      throw this.#anotherOne()
    })
  }

  #split(): Buffer[] {
    try {
      return splitBundle(this.#bundle, this.#address.width)
    } catch {
      throw this.#anotherOne()
    }
  }

  #anotherOne(): ArchiveFault {
    return new ArchiveFault(`the archive's ${tileName(this.#address)} differs from what was written`)
  }
}

/**
 * Splits a bundle into entries, each of which follows its length in two bytes (docs/formats/tiles.md). Throws
 * ProofError `archive_object` unless there are exactly `width` entries.
 */
export function splitBundle(bundle: Buffer, width: number): Buffer[] {
  const entries: Buffer[] = []
  let at = 0
  while (at + 2 <= bundle.length && entries.length < width) {
    const end = at + 2 + bundle.readUInt16BE(at)
    entries.push(bundle.subarray(at + 2, end))
    at = end
  }
  if (at !== bundle.length || entries.length !== width)
    throw new ProofError('archive_object', `the object does not contain exactly ${width} entries`)
  return entries
}
