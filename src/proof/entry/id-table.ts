/**
 * A set of 16-byte ids with 8 bytes of data for each id, in one typed array with open addressing and linear probing.
 *
 * A ledger's verifier must store every id that it has seen, which may be ten million or more. With 24 bytes a slot and
 * a load of at most 3/4, ten million ids take 400 MB, without garbage collection. A Set of strings takes four times as
 * much.
 *
 * Whoever holds a ledger's signing key chooses its ids. Ids that share one slot would make the verifier's time
 * quadratic. `seed`, a random number from the caller, makes the slots of ids unpredictable.
 */
const WORDS_PER_SLOT = 6
const ID_WORDS = 4
const SLOTS_MIN = 1024
const LOAD_FACTOR = 3 / 4

/** `seq` is stored plus one, because 0 marks a free slot. */
const SEQ_WORD = 4
const TAG_WORD = 5

export class IdTable {
  #slots: Uint32Array
  #mask: number
  #count = 0
  readonly #seed: number

  constructor(seed = 0) {
    this.#seed = seed >>> 0
    this.#slots = new Uint32Array(SLOTS_MIN * WORDS_PER_SLOT)
    this.#mask = SLOTS_MIN - 1
  }

  get size(): number {
    return this.#count
  }

  /**
   * Adds the 16 bytes of `ids` at `offset`. `seq` + 1 and `tag` MUST fit into 32 bits. Returns false and changes
   * nothing if the table already has the id.
   */
  add(ids: Uint8Array, offset: number, seq: number, tag: number): boolean {
    if (this.#count + 1 > (this.#mask + 1) * LOAD_FACTOR) this.#grow()
    const a = wordAt(ids, offset)
    const b = wordAt(ids, offset + 4)
    const c = wordAt(ids, offset + 8)
    const d = wordAt(ids, offset + 12)
    const at = this.#find(a, b, c, d)
    if (this.#slots[at + SEQ_WORD] !== 0) return false
    this.#put(at, a, b, c, d, seq + 1, tag)
    this.#count++
    return true
  }

  get(ids: Uint8Array, offset = 0): { seq: number; tag: number } | null {
    const at = this.#find(
      wordAt(ids, offset),
      wordAt(ids, offset + 4),
      wordAt(ids, offset + 8),
      wordAt(ids, offset + 12),
    )
    const seq = this.#slots[at + SEQ_WORD]!
    return seq === 0 ? null : { seq: seq - 1, tag: this.#slots[at + TAG_WORD]! }
  }

  /**
   * Returns the start of the id's slot. If the id is not in the table, returns a free slot for it. The table always has
   * a free slot.
   */
  #find(a: number, b: number, c: number, d: number): number {
    const slots = this.#slots
    let slot = mix(a, b, c, d, this.#seed) & this.#mask
    for (;;) {
      const at = slot * WORDS_PER_SLOT
      if (slots[at + SEQ_WORD] === 0) return at
      if (slots[at] === a && slots[at + 1] === b && slots[at + 2] === c && slots[at + 3] === d) return at
      slot = (slot + 1) & this.#mask
    }
  }

  #put(at: number, a: number, b: number, c: number, d: number, seqWord: number, tag: number): void {
    const slots = this.#slots
    slots[at] = a
    slots[at + 1] = b
    slots[at + 2] = c
    slots[at + 3] = d
    slots[at + SEQ_WORD] = seqWord
    slots[at + TAG_WORD] = tag
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Uint32Array(old.length * 2)
    this.#mask = this.#mask * 2 + 1
    for (let at = 0; at < old.length; at += WORDS_PER_SLOT) {
      if (old[at + SEQ_WORD] === 0) continue
      const [a, b, c, d] = [old[at]!, old[at + 1]!, old[at + 2]!, old[at + ID_WORDS - 1]!]
      this.#put(this.#find(a, b, c, d), a, b, c, d, old[at + SEQ_WORD]!, old[at + TAG_WORD]!)
    }
  }
}

/** Reads four bytes, big-endian. */
export function wordAt(bytes: Uint8Array, offset: number): number {
  return (
    ((bytes[offset]! << 24) | (bytes[offset + 1]! << 16) | (bytes[offset + 2]! << 8) | bytes[offset + 3]!) >>>
    0
  )
}

/** Mixes four words as MurmurHash3 does. */
function mix(a: number, b: number, c: number, d: number, seed: number): number {
  let h = seed
  h = Math.imul(h ^ a, 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 15) ^ b, 0xc2b2ae35)
  h = Math.imul(h ^ (h >>> 13) ^ c, 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 15) ^ d, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
