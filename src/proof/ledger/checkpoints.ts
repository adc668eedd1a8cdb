import { equalBytes, toHex } from '../bytes.ts'
import type { ProofProviders, PublicKey } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { verifyReceiptPosition } from '../receipt/verify-receipt.ts'
import { formatVerifierKey, verifyCheckpoint } from '../tree/checkpoint.ts'
import { countCosignatures, type WitnessPolicy } from '../tree/cosignature.ts'
import { parseNote } from '../tree/note.ts'

/**
 * A checkpoint, or the tree of a receipt. The tree of a receipt has no chain hash. `fromOutside`: true if the
 * checkpoint or receipt was stored outside of the ledger. Only then is it evidence against the ledger's operator.
 */
type Expected = {
  readonly size: number
  readonly root: Uint8Array
  readonly chain: Uint8Array | null
  readonly fromOutside: boolean
  readonly isWitnessed: boolean
}

/** Evidence that was stored outside of the ledger: checkpoint notes, and statements with their receipts. */
export type OutsideHeads = {
  readonly checkpoints?: readonly string[] | undefined
  readonly receipts?: readonly Uint8Array[] | undefined
}

/**
 * Checkpoints and receipts with which a ledger must agree. Each is compared with the tree and the chain at its size. A
 * receipt is also compared with its entry.
 *
 * An operator who rewrote or cut off the ledger can sign new checkpoints. So only a checkpoint from outside is evidence
 * against the operator. The ledger's own checkpoints are evidence only against somebody who stole the database but does
 * not have the note key.
 */
export class LedgerCheckpoints {
  readonly #providers: ProofProviders
  /** Notes that arrived before the ledger's definition, which contains the key to verify the notes. */
  #early: { note: string; fromOutside: boolean }[] = []
  #receipts: readonly Uint8Array[]
  #signer: { origin: string; key: PublicKey } | null = null
  /**
   * Maps a seq to the leaf that a receipt shows. The leaves are needed only for an error that names the entry: if a
   * leaf differs, the comparison of the roots fails too.
   */
  readonly #leaves = new Map<number, Uint8Array>()
  readonly #expected: Expected[] = []
  readonly #witnesses: WitnessPolicy | undefined
  #outsideSize = 0
  #witnessedSize = 0
  #ownSize = 0

  constructor(
    providers: ProofProviders,
    { checkpoints = [], receipts = [] }: OutsideHeads,
    witnesses?: WitnessPolicy,
  ) {
    this.#providers = providers
    this.#witnesses = witnesses
    this.#receipts = receipts
    for (const note of checkpoints) this.#early.push({ note, fromOutside: true })
  }

  /**
   * Size of the largest checkpoint or receipt that was stored outside of the ledger and agrees with the ledger. 0 if
   * there is none.
   */
  get outsideSize(): number {
    return this.#outsideSize
  }

  get ownSize(): number {
    return this.#ownSize
  }

  /** Size of the largest checkpoint, from any source, that enough witnesses cosigned. 0 if there is none. */
  get witnessedSize(): number {
    return this.#witnessedSize
  }

  /**
   * Sets the origin and the note key from the ledger's definition. Verifies the notes and receipts that arrived before
   * the definition.
   */
  begin(origin: string, key: PublicKey): void {
    this.#signer = { origin, key }
    for (const { note, fromOutside } of this.#early.splice(0)) this.expect(note, fromOutside, 0)
    const noteKey = formatVerifierKey(origin, key.raw, this.#providers.sha256)
    for (const file of this.#receipts) this.#expectReceipt(file, noteKey)
    this.#receipts = []
  }

  /**
   * Adds a checkpoint. Throws if this ledger's note key did not sign the checkpoint, or if its size is not above
   * `size`, the current number of entries.
   */
  expect(note: string, fromOutside: boolean, size: number): void {
    if (!this.#signer) {
      this.#early.push({ note, fromOutside })
      return
    }
    const { origin, key } = this.#signer
    const { sha256, verifySignature } = this.#providers
    const checkpoint = verifyCheckpoint(note, { origin, key }, sha256, verifySignature)
    if (checkpoint.size <= size) {
      throw new ProofError(
        'checkpoint_mismatch',
        `the next checkpoint must cover more than ${size} entries, but has size ${checkpoint.size}`,
      )
    }
    this.#insert({ ...checkpoint, fromOutside, isWitnessed: this.#isWitnessed(note) })
  }

  #expectReceipt(file: Uint8Array, noteKey: string): void {
    const { seq, leaf, size, root } = verifyReceiptPosition(file, noteKey, this.#providers)
    this.#leaves.set(seq, leaf)
    this.#insert({ size, root, chain: null, fromOutside: true, isWitnessed: false })
  }

  #insert(expected: Expected): void {
    const at = this.#expected.findLastIndex(({ size }) => size <= expected.size) + 1
    this.#expected.splice(at, 0, expected)
  }

  #isWitnessed(note: string): boolean {
    const policy = this.#witnesses
    return (
      policy !== undefined &&
      countCosignatures(parseNote(note), policy, this.#providers).cosigned >= policy.min
    )
  }

  /**
   * Compares the tree after an entry with the expected checkpoints. The caller must call this method after every entry,
   * with the chain hash of that entry. `root` is called only if a checkpoint needs the root.
   */
  compare(
    { seq, leaf }: { readonly seq: number; readonly leaf: Uint8Array },
    chain: Uint8Array,
    root: () => Uint8Array,
  ): void {
    const size = seq + 1
    while (this.#expected[0]?.size === size) {
      const { fromOutside, isWitnessed, ...head } = this.#expected.shift()!
      if (head.chain === null) {
        if (!equalBytes(head.root, root()))
          throw new ProofError(
            'receipt_mismatch',
            `a receipt names the root ${toHex(head.root)} for the first ${size} entries, but these have another root`,
          )
      } else {
        const whose = fromOutside ? 'the stored checkpoint' : "the ledger's own checkpoint"
        if (!equalBytes(head.chain, chain))
          throw new ProofError(
            'checkpoint_mismatch',
            `${whose} names the chain hash ${toHex(head.chain)} for the first ${size} entries, but these have another chain hash`,
          )
        if (!equalBytes(head.root, root()))
          throw new ProofError(
            'checkpoint_mismatch',
            `${whose} names the root ${toHex(head.root)} for the first ${size} entries, but these have another root`,
          )
      }
      if (isWitnessed) this.#witnessedSize = size
      if (fromOutside) this.#outsideSize = size
      else this.#ownSize = size
    }
    const shown = this.#leaves.get(seq)
    if (shown && !equalBytes(shown, leaf))
      throw new ProofError(
        'receipt_mismatch',
        `a receipt was issued for another entry at seq ${seq} than the entry in this chain`,
      )
  }

  /**
   * Throws if a checkpoint or receipt covers more entries than the ledger has. Then entries are missing at the ledger's
   * end.
   */
  finish(size: number): void {
    const [missed] = this.#expected
    if (missed)
      throw new ProofError(
        'checkpoint_beyond_chain',
        `a ${missed.chain === null ? 'receipt' : 'checkpoint'} covers ${missed.size} entries, but the chain has ${size}`,
      )
    if (this.#early.length + this.#receipts.length > 0)
      throw new ProofError(
        'checkpoint_beyond_chain',
        'there is a checkpoint or a receipt, but the chain is empty',
      )
  }
}
