import { toBase64 } from '../../../../src/proof/bytes.ts'
import { type BatchItem, itemBytes } from '../../../../src/proof/statement/batch.ts'
import { merkleRoot } from '../../../../src/proof/tree/merkle.ts'
import { mutateBytes } from '../../../helpers/mutate/bytes.ts'
import { array, bytes, changeItem, decodeItem, encodeItem, int, map } from '../../../helpers/mutate/cbor.ts'
import {
  changeTree,
  copyTree,
  poolOf,
  setAt,
  type Tree,
  textOf,
  treeOf,
  valueAt,
} from '../../../helpers/mutate/json.ts'
import { below, makeRandom, pick, type Random } from '../../../helpers/mutate/random.ts'
import { encodeAny } from '../../../helpers/mutate/text.ts'
import { bundleTexts, rangeOf, selectionOf, type TestBundle } from '../../../helpers/test-bundle.ts'
import { sha256, type TestChain } from '../../../helpers/test-chain.ts'
import { consistencyOf, proofOf, recordOf } from '../../../helpers/test-proof.ts'
import { archiveOf } from './archives.ts'
import type { Made } from './case.ts'
import { anyBase, anyModel, changedChain, checkpointOf, noteKeyOf, signerOf, trustOf } from './chains.ts'
import { makeBases } from './ledgers.ts'
import { changeModel, type Model, modelOf, type Rendered, render, statementPool } from './model.ts'
import { honestNote, hostileNote } from './notes.ts'
import { hostileReceipt, receiptOf } from './receipts.ts'

/** Returns true if the item has bytes to prove. A change may have removed its bytes. */
function isProvable(item: BatchItem): boolean {
  try {
    return itemBytes(item).length > 0
  } catch {
    return false
  }
}

export function makeProof(random: Random): Made {
  const { chain, base, how } = changedChain(random)
  const line = pick(random, chain.lines)
  const item =
    Array.isArray(line.items) && line.items.length > 0 && line.items.every(isProvable) && random() < 0.7
      ? below(random, line.items.length)
      : undefined
  const registration =
    line.signer && chain.lines.findLast(({ kind, seq }) => kind === 'agent-key-registered' && seq < line.seq)
  const proof = treeOf(
    proofOf(chain, line, { ...(item !== undefined && { item }), ...(registration && { registration }) }),
  )
  const hows = [how]
  if (random() < 0.2) {
    const [note, changed] = hostileNote(checkpointOf(chain), signerOf(chain), random)
    setAt(proof, ['checkpoint'], note)
    hows.push(`note: ${changed}`)
  }
  if (random() < 0.5) hows.push(changeTree(proof, random, poolOf([proof])))
  const text = encodeAny(textOf(proof))
  const { agentKeys: _, ...trust } = trustOf(base, random)
  const record =
    random() < 0.15 && line.documents.length > 0 ? treeOf(recordOf(chain, line, item ?? 0)) : null
  if (record && random() < 0.5) hows.push(`record: ${changeTree(record, random, poolOf([record]))}`)
  const consistency =
    trust.checkpoints && random() < 0.7 ? treeOf(consistencyFor(chain, trust.checkpoints[0]!)) : null
  if (consistency && random() < 0.4)
    hows.push(`consistency: ${changeTree(consistency, random, poolOf([consistency]))}`)
  return {
    how: hows.join(', '),
    trust,
    parts: [
      random() < 0.05 ? mutateBytes(text, random, text) : text,
      record ? encodeAny(textOf(record)) : new Uint8Array(0),
      consistency ? encodeAny(textOf(consistency)) : new Uint8Array(0),
    ],
  }
}

function consistencyFor(chain: TestChain, note: string) {
  const size = Number(note.split('\n')[1])
  return size < chain.lines.length
    ? consistencyOf(chain, size, chain.lines.length)
    : { from: size, to: size, path: [] }
}

/**
 * Adds something unsigned to the envelope of one line, or encodes the envelope as other CBOR. The line keeps the leaf
 * of the old envelope.
 */
function changeShown(lines: readonly Tree[], random: Random): string {
  const line = pick(random, lines)
  const item = decodeItem(Buffer.from(String(valueAt(line, 'envelope')), 'base64'))
  const parts = item?.items?.[0]?.items
  if (!item || !parts?.[1]) return 'nothing'
  const receipts = array(bytes(new Uint8Array(8)))
  if (random() < 0.6)
    parts[1] = map([int(pick(random, [394, 33, 4, -1])), pick(random, [receipts, bytes(Buffer.from('k1'))])])
  else changeItem(item, random)
  setAt(line, ['envelope'], toBase64(encodeItem(item)))
  return 'another envelope under its leaf'
}

/** Returns the rendered export, sometimes with a changed start or end. */
function exportText(model: Model, rendered: Rendered, random: Random): [Uint8Array, string] {
  const { chain } = model.base
  const hows: string[] = []
  const size = rendered.lines.length
  const head = treeOf({
    export: 1,
    ledger: {
      id: chain.ledger,
      name: 'test',
      issuer: chain.issuer,
      origin: chain.origin,
      noteVerifierKey: noteKeyOf(model.base),
    },
    keys: chain.keys(),
    ...(random() < 0.03 && { documents: 'withheld' }),
  })
  const checkpoint = {
    origin: chain.origin,
    size,
    root: merkleRoot(sha256, rendered.leaves),
    chain: rendered.chains.at(-1)!,
  }
  let note: string | null =
    size === 0 || random() < 0.1
      ? null
      : honestNote(checkpoint, signerOf(chain), random() < 0.3 ? [0, 1] : [])
  if (note !== null && random() < 0.25) {
    const [hostile, how] = hostileNote(checkpoint, signerOf(chain), random)
    note = hostile
    hows.push(`note: ${how}`)
  }
  const lines: Tree[] = [head, ...rendered.lines, treeOf({ checkpoint: note })]
  if (random() < 0.15) {
    const at = pick(random, [0, lines.length - 1, below(random, lines.length)])
    const line = copyTree(lines[at]!)
    hows.push(`line ${at}: ${changeTree(line, random, statementPool())}`)
    lines[at] = line
  }
  if (random() < 0.06) {
    const at = 1 + below(random, Math.max(1, rendered.lines.length))
    lines[at] = copyTree(lines[at]!)
    hows.push(changeShown([lines[at]], random))
  }
  const end = random() < 0.05 ? pick(random, ['', '\n\n', '\r\n', ' ', '\0', '\ufeff']) : '\n'
  const data = encodeAny(lines.map(textOf).join('\n') + end)
  return [random() < 0.05 ? mutateBytes(data, random, data) : data, hows.join(', ')]
}

export function makeExport(random: Random): Made {
  const model = anyModel(random)
  const hows = [random() < 0.85 ? changeModel(model, random) : 'honest']
  const [data, how] = exportText(model, render(model), random)
  return { how: [...hows, how].join(', '), trust: trustOf(model.base, random), parts: [data] }
}

export function makeKept(random: Random): Made {
  const base = anyBase(random)
  const model = modelOf(base)
  const hows = [random() < 0.3 ? changeModel(model, random) : 'honest']
  const [data, how] = exportText(model, render(model), random)
  const { chain } = base
  const line = pick(random, chain.lines)
  const item = line.items && random() < 0.7 ? below(random, line.items.length) : undefined
  const [receipt, more] = hostileReceipt(receiptOf(chain, line, item), signerOf(chain), random)
  return { how: [...hows, how, more].join(', '), trust: trustOf(base, random), parts: [data, receipt] }
}

export function makeBundle(random: Random): Made {
  const { chain, base, how } = changedChain(random, 0.7)
  const hows = [how]
  const bundle = bundleOf(chain, random)
  const lines = bundleTexts(bundle).map((text) => treeOf(JSON.parse(text)))
  if (random() < 0.15) {
    const [note, changed] = hostileNote(checkpointOf(chain), signerOf(chain), random)
    setAt(lines[0]!, ['checkpoint'], note)
    hows.push(`note: ${changed}`)
  }
  if (random() < 0.5) {
    const at = random() < 0.4 ? 0 : below(random, lines.length)
    hows.push(`line ${at}: ${changeTree(lines[at]!, random, statementPool())}`)
  }
  if (random() < 0.1) lines.splice(below(random, lines.length), 1)
  if (random() < 0.1) hows.push(changeShown(lines, random))
  const data = encodeAny(`${lines.map(textOf).join('\n')}\n`)
  return {
    how: hows.join(', '),
    trust: trustOf(base, random),
    parts: [random() < 0.05 ? mutateBytes(data, random, data) : data],
  }
}

function bundleOf(chain: TestChain, random: Random): TestBundle {
  const size = chain.lines.length
  const kind = random()
  if (kind < 0.6) {
    const from = below(random, size)
    const to = from + below(random, size - from)
    const beside = chain.lines.filter(({ kind }) => random() < 0.2 || /agent-key|policy|erased/.test(kind))
    return rangeOf(chain, { from, to }, { beside })
  }
  const made = chain.lines.filter(({ kind }) => /^(record|batch|completion|verdict|revision)-/.test(kind))
  const line = made.length > 0 ? pick(random, made) : chain.lines[0]!
  const record = line.items?.[0]?.record ?? line.documents[0]?.subject ?? chain.ledger
  const of = pick(random, [
    { record },
    { run: record },
    { selection: { from: 0, to: size - 1, type: 'generic/1' } },
    { selection: { from: 0, to: size - 1, agent: chain.agent } },
  ] as const)
  const chosen = ('record' in of ? made.filter((one) => JSON.stringify(one).includes(record)) : made)
    .filter(({ kind }) => kind !== 'ledger-created')
    .map((one) => ({ line: one, ...(Array.isArray(one.items) && { items: one.items.map((_, i) => i) }) }))
  return selectionOf(chain, of, chosen)
}

export function makeArchive(random: Random): Made {
  const model = modelOf(anyBase(random))
  const archive = archiveOf(model.base, render(model), random, random() < 0.95)
  const keys = random() < 0.5 ? [Buffer.from(archive.keys)] : []
  return { how: archive.how, trust: { alg: model.base.chain.ledger }, parts: keys, archive }
}

export function makeReconcile(random: Random): Made {
  const [home, guest] = makeBases().pair.map(modelOf) as [Model, Model]
  const changed = random() < 0.5 ? home : guest
  const how = random() < 0.3 ? 'cut off' : changeModel(changed, random)
  if (how === 'cut off') changed.entries.splice(3 + below(random, changed.entries.length - 3))
  const parts = [home, guest].map((model) => exportText(model, render(model), makeRandom(1))[0])
  return { how, trust: {}, parts: random() < 0.5 ? parts : parts.toReversed() }
}
