import { toHex, utf8Encode } from '../../proof/bytes.ts'
import type { EntryStep } from '../../proof/entry/entry-step.ts'
import { erasureOf } from '../../proof/entry/erasures.ts'
import { ProofError } from '../../proof/error.ts'
import type { Frontier } from '../../proof/tree/merkle.ts'
import { nativeProviders } from '../../signing/native.ts'
import { type ArchiveSeal, sealName, tileName, tilesBetween } from './seal.ts'
import { TileDigests } from './tile-digests.ts'

/**
 * Verifies what an archive has in addition to an export: definitions of types, hash tiles, and the erasures that seals
 * name. They are compared with the verified entries.
 */
export class ArchiveExtras {
  readonly #seals: readonly ArchiveSeal[]
  readonly #tiles: TileDigests
  /**
   * Maps the seq of an entry to the SHA-256 of its type's definition. Contains only entries that are not verified yet.
   */
  readonly #definitions = new Map<number, string>()
  readonly #erasures: (readonly [string, number, number])[] = []

  constructor(seals: readonly ArchiveSeal[]) {
    this.#seals = seals
    this.#tiles = new TileDigests(seals.map(({ size }) => size))
  }

  /** Adds a type's definition. Must be called before the entry at `seq` that registers the type. */
  definition(seq: number, definition: string): void {
    this.#definitions.set(seq, toHex(nativeProviders.sha256(utf8Encode(definition))))
  }

  /** Adds a perfect subtree of the verified tree. Called for each subtree that LedgerVerifier completes (`onNode`). */
  node(level: number, index: number, hash: Uint8Array): void {
    this.#tiles.node(level, index, hash)
  }

  /**
   * Adds a verified entry. Throws ProofError if the entry registers a type whose definition does not have the signed
   * digest.
   */
  appended(step: EntryStep, frontier: Frontier): void {
    this.#tiles.leaf(step.leaf, frontier)
    const erasure = erasureOf(step)
    if (erasure) this.#erasures.push([erasure.subject, erasure.digestedBy, erasure.seq])
    if (step.kind !== 'type-registered') return
    const digest = this.#definitions.get(step.seq)
    this.#definitions.delete(step.seq)
    const [{ name, sha256 }] = step.statement!.subjects
    if (digest !== sha256)
      throw new ProofError(
        'archive_object',
        `the definition of ${name} differs from the one that entry ${step.seq} signs`,
      )
  }

  /**
   * Compares tiles and seals with the entries after the last entry. Throws ProofError if a tile has hashes that do not
   * match the entries, or if a seal does not name exactly the erasures of its entries.
   */
  finish(): void {
    let erasures = 0
    for (const { from, size, objects, erasures: claimed } of this.#seals) {
      const named = new Map(objects.map(({ name, sha256 }) => [name, sha256]))
      for (const address of tilesBetween(from, size)) {
        const name = tileName(address)
        if (address.level !== 'entries' && named.get(name) !== this.#tiles.find(name))
          throw new ProofError('archive_object', `${name} has hashes that do not match the entries`)
      }
      const signed = this.#erasures.slice(erasures, erasures + claimed.length)
      const isOfSeal = signed.every(([, , seq]) => seq >= from && seq < size)
      if (!isOfSeal || JSON.stringify(signed) !== JSON.stringify(claimed))
        throw new ProofError(
          'archive_object',
          `${sealName(size)} names erasures that do not match its entries`,
        )
      erasures += claimed.length
    }
    if (erasures !== this.#erasures.length)
      throw new ProofError('archive_object', 'the seals do not name all erasures of their entries')
  }
}
