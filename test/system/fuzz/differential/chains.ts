import { toHex } from '../../../../src/proof/bytes.ts'
import { merkleRoot } from '../../../../src/proof/tree/merkle.ts'
import { textOf } from '../../../helpers/mutate/json.ts'
import { below, pick, type Random } from '../../../helpers/mutate/random.ts'
import { sha256, type TestChain, type TestLine } from '../../../helpers/test-chain.ts'
import type { Trust } from './case.ts'
import { type Base, makeBases } from './ledgers.ts'
import { changeModel, copyEntry, type Model, modelOf, type Rendered, render } from './model.ts'
import { honestNote, verifierKey, WITNESS_KEYS } from './notes.ts'

/* Returns ledgers for the makers of cases. The ledgers are honest or changed. */

export const anyBase = (random: Random): Base => pick(random, makeBases().all)

export function anyModel(random: Random): Model {
  return modelOf(anyBase(random))
}

export const anyEntry = (random: Random) => copyEntry(pick(random, anyModel(random).entries))

export const quoted = (text: string): Uint8Array => Buffer.from(JSON.stringify(text))

export const signerOf = (chain: TestChain) => chain.noteSigner as Parameters<typeof verifierKey>[1]

export const noteKeyOf = (base: Base) => verifierKey(base.chain.origin, signerOf(base.chain))

export function checkpointOf({ origin, lines }: TestChain, size = lines.length) {
  const leaves = lines.slice(0, size).map(({ leaf }) => Buffer.from(leaf, 'hex'))
  return { origin, size, root: merkleRoot(sha256, leaves), chain: Buffer.from(lines[size - 1]!.chain, 'hex') }
}

export function trustOf(base: Base, random: Random): Trust {
  const { chain } = base
  const [agent, kid] = base.pinned ?? ['', '']
  return {
    ...(random() < 0.4 && { noteKey: noteKeyOf(base) }),
    ...(random() < 0.4 && { kids: [chain.firstSigner.kidHex] }),
    ...(random() < 0.3 && { witnesses: WITNESS_KEYS }),
    ...(agent !== '' && random() < 0.5 && { agentKeys: { [agent]: [kid] } }),
    ...(random() < 0.1 && {
      compromised: { [chain.firstSigner.kidHex]: pick(random, [null, '2026-11-20T12:00:04.000Z']) },
    }),
    ...(random() < 0.2 && { checkpoints: [chain.checkpoint(1 + below(random, chain.lines.length))] }),
    ...(random() < 0.1 && { strict: true }),
  }
}

/**
 * Returns the base's chain with the rendered lines in place of its own lines, for helpers that make proofs, receipts
 * and bundles.
 */
export function rebuilt({ base }: Model, { lines, leaves, chains }: Rendered): TestChain {
  const parsed = lines.map((tree, i) => {
    try {
      return JSON.parse(textOf(tree)) as TestLine
    } catch {
      return base.chain.lines[i] ?? base.chain.lines[0]!
    }
  })
  const { chain } = base
  return {
    ...chain,
    lines: parsed.map((line, seq) => ({
      ...line,
      seq,
      leaf: toHex(leaves[seq]!),
      documents: line.documents ?? [],
    })),
    checkpoint: (size = lines.length) =>
      honestNote(
        { origin: chain.origin, size, root: merkleRoot(sha256, leaves.slice(0, size)), chain: chains[size]! },
        signerOf(chain),
        [0],
      ),
  }
}

export function changedChain(random: Random, share = 0.6): { chain: TestChain; base: Base; how: string } {
  const model = anyModel(random)
  const how = random() < share ? changeModel(model, random) : 'honest'
  if (model.entries.length === 0) return { chain: model.base.chain, base: model.base, how }
  return { chain: rebuilt(model, render(model)), base: model.base, how }
}
