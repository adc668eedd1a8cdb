import { ReleasedFault } from '../../db/chunks/released-chunks.ts'
import { equalBytes } from '../../proof/bytes.ts'
import { leafHash, TILE_HASHES } from '../../proof/tree/merkle.ts'
import { nativeProviders } from '../../signing/native.ts'
import { aloneAsBuffer } from './alone-as-buffer.ts'

/** Envelopes of a tile's entries, as the archive has them (docs/formats/tiles.md). */
export class ArchivedBundle {
  readonly #name: string
  readonly #bundle: Buffer

  /** `name`: of the object. Its bytes need not be those that were written: each envelope is held to its leaf. */
  constructor(name: string, bundle: Buffer) {
    this.#name = name
    this.#bundle = aloneAsBuffer(bundle)
  }

  get bytes(): number {
    return this.#bundle.length
  }

  /** The envelope of each entry, a part of the bundle's memory. Throws ReleasedFault where one is not that of its leaf. */
  read(entries: readonly { readonly seq: number; readonly leaf: Uint8Array }[]): Buffer[] {
    const envelopes = splitBundle(this.#bundle)
    return entries.map(({ seq, leaf }) => {
      const envelope = envelopes[seq % TILE_HASHES]
      if (envelope && equalBytes(leafHash(nativeProviders.sha256, envelope), leaf)) return envelope
      throw new ReleasedFault(`the archive's ${this.#name} is another one than was written`)
    })
  }
}

/** Its entries, as many as a bundle has: whoever can write to the bucket could have millions of empty ones made of zeros behind them. */
export function splitBundle(bundle: Buffer): Buffer[] {
  const entries: Buffer[] = []
  for (let at = 0; at + 2 <= bundle.length && entries.length < TILE_HASHES; ) {
    const end = at + 2 + bundle.readUInt16BE(at)
    entries.push(bundle.subarray(at + 2, end))
    at = end
  }
  return entries
}
