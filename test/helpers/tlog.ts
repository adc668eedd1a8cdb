import { toBase64, utf8Encode } from '../../src/proof/bytes.ts'
import { formatAddCheckpoint } from '../../src/proof/tree/add-checkpoint.ts'
import { leafHash, merkleRoot } from '../../src/proof/tree/merkle.ts'
import { formatNoteKey, makeNoteKey, signatureLine } from '../../src/proof/tree/note.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'

const { sha256 } = nativeProviders

/**
 * A C2SP log of another project. The log has two histories that are equal up to a size. A witness must detect this
 * fork.
 */
export class TestLog {
  readonly origin: string
  readonly vkey: string
  readonly #signer
  readonly #keyId
  readonly #fork: number

  constructor(origin: string, { seed = 1, fork = 4 } = {}) {
    this.origin = origin
    this.#fork = fork
    this.#signer = makeEd25519Signer(sha256, new Uint8Array(32).fill(seed))
    this.vkey = formatNoteKey(origin, 'signature', this.#signer.key.raw, sha256)
    this.#keyId = makeNoteKey(origin, 'signature', this.#signer.key, sha256).keyId
  }

  root(size: number, isForked = false): Uint8Array {
    return new Uint8Array(merkleRoot(sha256, this.#leaves(size, isForked)))
  }

  text(size: number, isForked = false): string {
    return `${this.origin}\n${size}\n${toBase64(this.root(size, isForked))}\n`
  }

  note(size: number, isForked = false): string {
    const text = this.text(size, isForked)
    return `${text}\n${signatureLine(this.origin, this.#keyId, this.#signer.sign(utf8Encode(text)))}`
  }

  /** Returns a body of add-checkpoint with its proof. `lines`: additional signature lines. */
  request(from: number, size: number, { isForked = false, lines = '' } = {}): string {
    const path = from === 0 || from > size ? [] : consistency(from, this.#leaves(size, isForked))
    return formatAddCheckpoint({ oldSize: from, path, note: this.note(size, isForked) + lines })
  }

  #leaves(size: number, isForked: boolean): Uint8Array[] {
    return Array.from({ length: size }, (_, i) =>
      leafHash(sha256, utf8Encode(isForked && i >= this.#fork ? `fork ${i}` : `${this.origin} ${i}`)),
    )
  }
}

/** Returns the consistency proof by the definition in RFC 9162 §2.1.4.1. */
export function consistency(from: number, all: readonly Uint8Array[], isWhole = true): Uint8Array[] {
  if (from === all.length) return isWhole ? [] : [merkleRoot(sha256, all)]
  const split = 2 ** (Math.ceil(Math.log2(all.length)) - 1)
  const [left, right] = [all.slice(0, split), all.slice(split)]
  if (from <= split) return [...consistency(from, left, isWhole), merkleRoot(sha256, right)]
  return [...consistency(from - split, right, false), merkleRoot(sha256, left)]
}
