import { toBase64 } from '../../../../src/proof/bytes.ts'
import { spkiOf } from '../../../../src/proof/keys.ts'
import { caseSeed, makeRandom } from '../../../helpers/mutate/random.ts'
import type { Made, Maker } from './case.ts'
import { makeArchive, makeBundle, makeExport, makeKept, makeProof, makeReconcile } from './files.ts'
import { makeBases } from './ledgers.ts'
import { makeEnvelope, makeJson, makeNote, makeStatement, makeVerifierKey } from './parts.ts'
import { pointCase } from './points.ts'
import { makeConsistencyReceipt, makeReceipt, makeTransparent } from './receipts.ts'
import { makeRegistered } from './registered.ts'

/** Kinds of inputs, each with its share. Cheap inputs have larger shares. */
const MAKERS = {
  json: [12, makeJson],
  statement: [16, makeStatement],
  envelope: [14, makeEnvelope],
  registered: [16, makeRegistered],
  note: [12, makeNote],
  'verifier key': [4, makeVerifierKey],
  signature: [4, (random) => pointCase(random)],
  receipt: [6, makeReceipt],
  transparent: [6, makeTransparent],
  'consistency receipt': [2, makeConsistencyReceipt],
  proof: [4, makeProof],
  export: [4, makeExport],
  kept: [1, makeKept],
  bundle: [4, makeBundle],
  archive: [1.5, makeArchive],
  reconcile: [0.5, makeReconcile],
} as const satisfies Record<string, readonly [share: number, make: Maker]>

export type Kind = keyof typeof MAKERS

export const KINDS = Object.keys(MAKERS) as Kind[]

export type Case = Made & { readonly kind: Kind }

/**
 * Makes the case with this number. The case depends only on the seed and the number, not on earlier cases. `only` lists
 * the kinds to choose from.
 */
export function makeCase(seed: number, index: number, only: readonly Kind[] = KINDS): Case {
  const random = makeRandom(caseSeed(seed, index))
  const place = random() * only.reduce((sum, kind) => sum + MAKERS[kind][0], 0)
  let share = 0
  for (const kind of only) {
    share += MAKERS[kind][0]
    if (place < share) return { kind, ...MAKERS[kind][1](random) }
  }
  throw new Error('no kind')
}

/**
 * Returns the keys that may have signed an envelope, and the keys of issuers by kid. Each verifier gets these keys
 * once.
 */
export function knownKeys() {
  const { all } = makeBases()
  const signers = new Map(all.flatMap(({ signers }) => [...signers]))
  return {
    keys: [...signers].map(([kid, { key }]) => ({
      kid,
      alg: 'EdDSA',
      spki: toBase64(spkiOf('EdDSA', key.raw)),
    })),
    issuers: all.flatMap(({ issuers }) => issuers.map(({ key }) => key)),
  }
}
