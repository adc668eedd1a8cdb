import { createHash } from 'node:crypto'
import { fromBase64 } from '../../../../src/proof/bytes.ts'
import { toBeSigned } from '../../../../src/proof/envelope/cose.ts'
import { encodeConsistencyReceipt } from '../../../../src/proof/receipt/receipt.ts'
import { encodeTreeHeader } from '../../../../src/proof/receipt/tree-head.ts'
import { merkleRoot } from '../../../../src/proof/tree/merkle.ts'
import { consistencyRanges } from '../../../../src/proof/tree/tree-ranges.ts'
import {
  array,
  bytes,
  changeItem,
  copyItem,
  decodeItem,
  encodeItem,
  int,
  map,
  memberOf,
  mutateCbor,
} from '../../../helpers/mutate/cbor.ts'
import { below, pick, type Random } from '../../../helpers/mutate/random.ts'
import { sha256, type TestChain, type TestLine } from '../../../helpers/test-chain.ts'
import { receiptFileOf } from '../../../helpers/test-proof.ts'
import type { Made } from './case.ts'
import { anyBase, changedChain, checkpointOf, noteKeyOf, rebuilt, signerOf } from './chains.ts'
import { makeBases } from './ledgers.ts'
import { modelOf, render } from './model.ts'
import { honestNote } from './notes.ts'
import { registeredItem } from './registered.ts'

/**
 * Puts a receipt into the header of an entry or statement, and changes something in the receipt or in the statement.
 * Half of the changed receipts are signed again.
 */
export function hostileReceipt(
  file: Uint8Array,
  signer: { sign(message: Uint8Array): Uint8Array },
  random: Random,
): [Uint8Array, string] {
  const kind = random()
  if (kind < 0.15) return [mutateCbor(file, random, file), 'whole']
  const item = decodeItem(file)
  const parts = item?.items?.[0]?.items
  const receipts = parts?.[1] && memberOf(parts[1], 394)
  const receipt = receipts?.items?.[0]?.body ? decodeItem(receipts.items[0].body) : null
  const inner = receipt?.items?.[0]?.items
  if (!item || !receipts?.items || !receipt || !inner) return [file, 'no receipt']
  let how = 'unprotected of the receipt'
  if (kind < 0.5) {
    const head = decodeItem(inner[0]!.body!)!
    how = `protected of the receipt: ${changeItem(head, random)}`
    inner[0]!.body = encodeItem(head)
    // The receipt's signature covers the root of the honest path, so the honest root is signed again.
    if (random() < 0.8) inner[3]!.body = signer.sign(toBeSigned(inner[0]!.body, rootOf(file)))
  } else if (kind < 0.85) {
    how = `receipt: ${changeItem(inner[1]!, random)}`
    if (random() < 0.3) inner[1]!.items!.push(int(-65_538), copyItem(pick(random, ITEMS)))
  } else how = `receipt as a whole: ${changeItem(receipt, random)}`
  receipts.items[0]!.body = encodeItem(receipt)
  return [encodeItem(item), how]
}

const ITEMS = [
  array(bytes(Buffer.from('{}')), bytes(encodeItem(array(int(1), int(0), array())))),
  decodeItem(Uint8Array.of(0xf6))!,
  array(bytes(Buffer.of(0xff)), bytes(encodeItem(array(int(1), int(0), array())))),
  bytes(Buffer.from('x')),
]

const roots = new Map<string, Uint8Array>()

const keyOf = (file: Uint8Array) => createHash('sha256').update(file).digest('base64')

const rootOf = (file: Uint8Array): Uint8Array => roots.get(keyOf(file)) ?? new Uint8Array(32)

export function makeReceipt(random: Random): Made {
  const { chain, base, how } = changedChain(random, 0.3)
  const line = pick(random, chain.lines)
  const item =
    Array.isArray(line.items) && line.items.length > 0 && random() < 0.7
      ? below(random, line.items.length)
      : undefined
  const [file, signer] = [receiptOf(chain, line, item), signerOf(chain)]
  const [data, more] = random() < 0.9 ? hostileReceipt(file, signer, random) : [file, 'as it is']
  return {
    how: `${how}, ${more}`,
    trust: { noteKey: noteKeyOf(base), ...(random() < 0.5 && { alg: 'keys' }) },
    parts: [data],
  }
}

/**
 * Returns an entry's envelope with a receipt, in the form of a server's answer. This function inserts the receipt into
 * the CBOR itself, because a server would refuse some of the changed envelopes.
 */
export function receiptOf(chain: TestChain, line: TestLine, item?: number): Uint8Array {
  const { leaves, file } = honestReceipt(chain, line, item)
  const receipt = memberOf(decodeItem(file)!.items![0]!.items![1]!, 394)!
  const whole = decodeItem(fromBase64(line.envelope))
  const parts = whole?.items?.[0]?.items
  if (parts?.[1]) parts[1] = map([int(394), receipt])
  const made = whole ? encodeItem(whole) : file
  if (roots.size > 1_000) roots.clear()
  roots.set(keyOf(made), merkleRoot(sha256, leaves))
  return made
}

function honestReceipt(chain: TestChain, line: TestLine, item?: number) {
  const leaves = chain.lines.map(({ leaf }) => fromHexText(leaf))
  const { envelope } = makeBases().pair[0].chain.lines[0]!
  try {
    return { leaves, file: receiptFileOf(chain, { ...line, envelope }, item === undefined ? {} : { item }) }
  } catch {
    // The item has no canonical form, so the file is made from the entry alone.
    return { leaves, file: receiptFileOf(chain, { ...line, envelope }) }
  }
}

export function makeTransparent(random: Random): Made {
  const base = makeBases().all.find(({ name }) => name === 'registered')!
  const model = modelOf(base)
  const at = model.entries.findIndex(({ payload }) => payload instanceof Uint8Array)
  const hows: string[] = []
  if (random() < 0.5) {
    const { item, how } = registeredItem(random)
    item.items![0]!.items![1] = map()
    model.entries[at] = { ...model.entries[at]!, envelope: encodeItem(item) }
    hows.push(how)
  }
  const chain = rebuilt(model, render(model))
  const file = receiptOf(chain, chain.lines[at]!)
  const [data, more] =
    random() < 0.6 || hows.length === 0 ? hostileReceipt(file, signerOf(chain), random) : [file, 'as it is']
  const { alg, spki } = pick(random, base.issuers).key
  return {
    how: [...hows, more].join(', '),
    trust: { noteKey: noteKeyOf(base), ...(random() < 0.4 && { issuerKey: { alg, spki } }) },
    parts: [data],
  }
}

export function makeConsistencyReceipt(random: Random): Made {
  const base = anyBase(random)
  const { chain } = base
  const to = chain.lines.length
  const from = 1 + below(random, to)
  const { root } = checkpointOf(chain)
  const leaves = chain.lines.map(({ leaf }) => fromHexText(leaf))
  const path = consistencyRanges(from, to).map(({ start, end }) =>
    merkleRoot(sha256, leaves.slice(start, end)),
  )
  const signer = signerOf(chain)
  const protectedBytes = encodeTreeHeader(
    { issuer: chain.issuer, origin: chain.origin, size: to },
    signer.kid,
  )
  const file = encodeConsistencyReceipt({
    protectedBytes,
    signature: signer.sign(toBeSigned(protectedBytes, root)),
    consistency: { from, to, path },
  })
  const kept = random() < 0.9 ? from : 1 + below(random, to)
  return {
    how: `from ${from}`,
    trust: { noteKey: noteKeyOf(base), checkpoints: [honestNote(checkpointOf(chain, kept), signer)] },
    parts: [random() < 0.95 ? mutateCbor(file, random, file) : file],
  }
}

const fromHexText = (hex: string): Uint8Array => Buffer.from(hex, 'hex')
