import { fromBase64, fromHex, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import { toBeSigned } from '../../src/proof/envelope/cose.ts'
import { attachReceipt, encodeInclusionReceipt } from '../../src/proof/receipt/receipt.ts'
import { encodeTreeHeader } from '../../src/proof/receipt/tree-head.ts'
import { itemBytes, itemLeaf } from '../../src/proof/statement/batch.ts'
import { formatVerifierKey } from '../../src/proof/tree/checkpoint.ts'
import { inclusionPath, merkleRoot } from '../../src/proof/tree/merkle.ts'
import { consistencyRanges } from '../../src/proof/tree/tree-ranges.ts'
import { sha256, type TestChain, type TestLine } from './test-chain.ts'

export type TestProof = ReturnType<typeof proofOf>

/**
 * Returns the proof that a server would return for an entry of the chain. With `item`, it also proves this item of a
 * batch entry.
 */
/** `registration`: if an agent's own key signed the entry, the entry that registered this key. */
export function proofOf(
  chain: TestChain,
  line: TestLine,
  options: { size?: number; item?: number; registration?: TestLine } = {},
) {
  const size = options.size ?? chain.lines.length
  const { documents, items, signer, ...entry } = line
  return {
    ledger: {
      id: chain.ledger,
      name: 'test',
      issuer: chain.issuer,
      origin: chain.origin,
      noteVerifierKey: verifierKeyOf(chain),
    },
    keys: chain.keys(),
    entry,
    index: line.seq,
    treeSize: size,
    path: inclusionPath(sha256, leavesOf(chain).slice(0, size), line.seq).map(toHex),
    checkpoint: chain.checkpoint(size),
    ...(options.item !== undefined && { item: itemProofOf(line, options.item) }),
    ...(options.registration && { registration: options.registration.envelope }),
  }
}

export function verifierKeyOf(chain: TestChain): string {
  return formatVerifierKey(chain.origin, chain.noteSigner.key.raw, sha256)
}

export function consistencyOf(chain: TestChain, from: number, to: number) {
  const leaves = leavesOf(chain)
  const path = consistencyRanges(from, to).map(({ start, end }) =>
    toHex(merkleRoot(sha256, leaves.slice(start, end))),
  )
  return { from, to, path }
}

export function recordOf(chain: TestChain, line: TestLine, index = 0) {
  const { subject, digest, salt, document, references = null } = line.documents[index]!
  const { seq, kind, leaf, chain: link } = line
  const item = line.items?.[index]
  return {
    id: subject,
    ledger: chain.ledger,
    type: item?.type ?? 'generic/1',
    state: 'RECORDED',
    version: 1,
    nextEvents: [],
    payload: document,
    salt,
    digest,
    actor: chain.agent,
    key: chain.key,
    onBehalfOf: item?.onBehalfOf ?? null,
    parent: item?.parent ?? null,
    references,
    occurredAt: item?.occurredAt ?? null,
    recordedAt: line.recordedAt,
    entry: { seq, kind, leaf, chain: link },
    batch: item ? subjectOf(line) : null,
    metadata: null,
  }
}

export function itemProofOf(line: TestLine, index: number) {
  const leaves = line.items!.map((item) => itemLeaf(sha256, itemBytes(item)))
  return {
    item: line.items![index]!,
    index,
    count: leaves.length,
    path: inclusionPath(sha256, leaves, index).map(toHex),
  }
}

function leavesOf(chain: TestChain): Uint8Array[] {
  return chain.lines.map(({ leaf }) => fromHex(leaf))
}

function subjectOf(line: TestLine): string {
  return /"name":"(bat_[^"]+)"/.exec(Buffer.from(line.envelope, 'base64').toString('latin1'))![1]!
}

/** Returns the entry with its receipt, like a server's answer to `?statement=true`. */
export function receiptFileOf(
  chain: TestChain,
  line: TestLine,
  options: { size?: number; item?: number; path?: readonly Uint8Array[] } = {},
) {
  const size = options.size ?? chain.lines.length
  const leaves = leavesOf(chain).slice(0, size)
  const root = merkleRoot(sha256, leaves)
  const { issuer, origin, noteSigner } = chain
  const protectedBytes = encodeTreeHeader({ issuer, origin, size }, noteSigner.kid)
  const item = options.item === undefined ? null : itemProofOf(line, options.item)
  const receipt = encodeInclusionReceipt({
    protectedBytes,
    signature: noteSigner.sign(toBeSigned(protectedBytes, root)),
    inclusion: { size, index: line.seq, path: options.path ?? inclusionPath(sha256, leaves, line.seq) },
    item: item && {
      item: utf8Encode(itemBytes(item.item)),
      at: { size: item.count, index: item.index, path: item.path.map(fromHex) },
    },
  })
  return attachReceipt(fromBase64(line.envelope), receipt)
}
