import { HASH_BYTES } from '../proof/crypto.ts'
import type { EntryStep } from '../proof/entry/entry-step.ts'
import { ID_BYTES } from '../proof/ids.ts'

/**
 * Steps in the form in which another thread returns them. All bytes of the steps are in two buffers, which are
 * transferred and not copied.
 *
 * Without the two buffers, small Uint8Arrays in each object would be cloned. This would take longer than computing the
 * chain's hashes.
 */
export type PackedSteps = {
  readonly steps: readonly PackedStep[]
  /** Bytes of all steps. Each step has its leaf (32), its chain (32), and 16 bytes for each record. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** One word for each record: the first word of its document's digest. */
  readonly words: Uint32Array<ArrayBuffer>
}

type PackedStep = Omit<EntryStep, 'leaf' | 'chain' | 'recordIds' | 'digestWords'> & {
  readonly records: number
}

export function packSteps(steps: readonly EntryStep[]): PackedSteps {
  const records = steps.reduce((sum, step) => sum + step.digestWords.length, 0)
  const bytes = new Uint8Array(steps.length * 2 * HASH_BYTES + records * ID_BYTES)
  const words = new Uint32Array(records)
  let byteAt = 0
  let wordAt = 0
  const packed = steps.map(({ leaf, chain, recordIds, digestWords, ...rest }) => {
    bytes.set(leaf, byteAt)
    bytes.set(chain, byteAt + HASH_BYTES)
    bytes.set(recordIds, byteAt + 2 * HASH_BYTES)
    words.set(digestWords, wordAt)
    byteAt += 2 * HASH_BYTES + recordIds.length
    wordAt += digestWords.length
    return { ...rest, records: digestWords.length }
  })
  return { steps: packed, bytes, words }
}

export function* unpackSteps({ steps, bytes, words }: PackedSteps): Generator<EntryStep> {
  let byteAt = 0
  let wordAt = 0
  for (const { records, ...rest } of steps) {
    const idsAt = byteAt + 2 * HASH_BYTES
    yield {
      ...rest,
      leaf: bytes.subarray(byteAt, byteAt + HASH_BYTES),
      chain: bytes.subarray(byteAt + HASH_BYTES, idsAt),
      recordIds: bytes.subarray(idsAt, idsAt + records * ID_BYTES),
      digestWords: words.subarray(wordAt, wordAt + records),
    }
    byteAt = idsAt + records * ID_BYTES
    wordAt += records
  }
}
