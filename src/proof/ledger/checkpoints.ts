import { equalBytes, toHex } from '../bytes.ts'
import type { ProofProviders, PublicKey } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { type Checkpoint, verifyCheckpoint } from '../tree/checkpoint.ts'

/** `kept`: held by somebody outside, so that it speaks against the ledger's operator too. */
type Expected = Checkpoint & { readonly kept: boolean }

/**
 * Checkpoints that a ledger must extend: each is compared with tree and chain as they are at its size.
 *
 * An operator who rewrote or cut off the ledger can sign new checkpoints, so only a kept one convicts
 * the operator; the ledger's own convict a thief of the database who has no note key.
 */
export class LedgerCheckpoints {
  readonly #providers: ProofProviders
  /** Notes that wait for the ledger's definition, which holds their key. */
  #early: { note: string; kept: boolean }[] = []
  #signer: { origin: string; key: PublicKey } | null = null
  /** Ascending by size. */
  readonly #expected: Expected[] = []
  #keptSize = 0
  #ownSize = 0

  constructor(providers: ProofProviders, kept: readonly string[]) {
    this.#providers = providers
    for (const note of kept) this.#early.push({ note, kept: true })
  }

  /** Sizes of the largest checkpoints that agreed; 0: none. */
  get keptSize(): number {
    return this.#keptSize
  }

  get ownSize(): number {
    return this.#ownSize
  }

  /** Origin and note key of the ledger's definition. Verifies the notes that waited for them. */
  begin(origin: string, key: PublicKey): void {
    this.#signer = { origin, key }
    for (const { note, kept } of this.#early.splice(0)) this.expect(note, kept, 0)
  }

  /** Throws unless the note is this ledger's, signed, and not of a size that has gone by. */
  expect(note: string, kept: boolean, size: number): void {
    if (!this.#signer) {
      this.#early.push({ note, kept })
      return
    }
    const { origin, key } = this.#signer
    const { sha256, verifySignature } = this.#providers
    const checkpoint = verifyCheckpoint(note, { origin, key }, sha256, verifySignature)
    if (checkpoint.size <= size) {
      throw new ProofError(
        'checkpoint_mismatch',
        `a checkpoint of size ${checkpoint.size} stands after entry ${size - 1}`,
      )
    }
    const at = this.#expected.findLastIndex((other) => other.size <= checkpoint.size) + 1
    this.#expected.splice(at, 0, { ...checkpoint, kept })
  }

  /** To be called at every size, with the chain hash there; `root` is computed only where a checkpoint needs it. */
  compare(size: number, chain: Uint8Array, root: () => Uint8Array): void {
    while (this.#expected[0]?.size === size) {
      const { kept, ...checkpoint } = this.#expected.shift()!
      const whose = kept ? 'the kept checkpoint' : "the ledger's own checkpoint"
      if (!equalBytes(checkpoint.chain, chain)) {
        throw new ProofError(
          'checkpoint_mismatch',
          `${whose} of size ${size} has the chain hash ${toHex(checkpoint.chain)}`,
        )
      }
      if (!equalBytes(checkpoint.root, root())) {
        throw new ProofError(
          'checkpoint_mismatch',
          `${whose} of size ${size} has the root ${toHex(checkpoint.root)}`,
        )
      }
      if (kept) this.#keptSize = size
      else this.#ownSize = size
    }
  }

  /** Throws if a checkpoint is of more entries than there are: the ledger's tail is missing. */
  finish(size: number): void {
    const [missed] = this.#expected
    if (missed)
      throw new ProofError(
        'checkpoint_beyond_chain',
        `a checkpoint is of ${missed.size} entries, the chain has ${size}`,
      )
    if (this.#early.length > 0)
      throw new ProofError('checkpoint_beyond_chain', 'there is a checkpoint, but the chain is empty')
  }
}
