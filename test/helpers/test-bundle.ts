import { type BundleEntry, verifyBundleLine } from '../../src/proof/bundle/bundle-entry.ts'
import { parseBundleEnd, parseBundleHead, parseBundleLine } from '../../src/proof/bundle/bundle-lines.ts'
import type { BundleFilter } from '../../src/proof/bundle/is-filtered.ts'
import { type BundleFindings, BundleVerifier } from '../../src/proof/bundle/verify-bundle.ts'
import { fromHex, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import { makeFindKey } from '../../src/proof/offline/key-hints.ts'
import type { ProofTrust } from '../../src/proof/offline/verify-proof.ts'
import { inclusionPath } from '../../src/proof/tree/merkle.ts'
import { inclusionRanges } from '../../src/proof/tree/tree-ranges.ts'
import { providers, sha256, type TestChain, type TestLine } from './test-chain.ts'
import { itemProofOf } from './test-proof.ts'

type Lines = [Record<string, unknown>, ...Record<string, unknown>[]]
export type TestBundle = { head: Record<string, unknown>; lines: Record<string, unknown>[]; end: unknown }

/** An entry of a selection. `items`: indexes of the disclosed items of a batch. */
type Chosen = { readonly line: TestLine; readonly items?: readonly number[] }

/** Makes a selection like a server. `chosen`: entries of the selected records, and erasures. */
export function selectionOf(
  chain: TestChain,
  of: { record: string } | { run: string } | { selection: BundleFilter },
  chosen: readonly Chosen[],
  options: { size?: number } = {},
): TestBundle {
  const size = options.size ?? chain.lines.length
  const lines = [...foundationOf(chain, size).map((line): Chosen => ({ line })), ...chosen]
    .sort((a, b) => a.line.seq - b.line.seq)
    .map(({ line, items }) => provedLine(chain, line, size, items))
  return { head: headOf(chain, of, 'selection', size), lines, end: { entries: lines.length } }
}

export function rangeOf(
  chain: TestChain,
  { from, to }: { from: number; to: number },
  options: { size?: number; beside?: readonly TestLine[] } = {},
): TestBundle {
  const size = options.size ?? chain.lines.length
  const leaves = chain.lines.slice(0, size).map(({ leaf }) => fromHex(leaf))
  const left = inclusionPath(sha256, leaves, from).filter(
    (_, i) => inclusionRanges(from, size)[i]!.end <= from,
  )
  const right = inclusionPath(sha256, leaves, to).filter((_, i) => inclusionRanges(to, size)[i]!.start > to)
  const range = { from, to, left: left.reverse().map(toHex), right: right.map(toHex) }
  const within = chain.lines.slice(from, to + 1)
  const beside = new Set([...foundationOf(chain, size), ...(options.beside ?? [])])
  for (const line of within) beside.delete(line)
  const lines = [
    ...[...beside].map((line) => provedLine(chain, line, size)),
    ...within.map(({ chain: _, ...line }): Record<string, unknown> => line),
  ].sort((a, b) => Number(a['seq']) - Number(b['seq']))
  return { head: headOf(chain, { range }, 'complete', size), lines, end: { entries: lines.length } }
}

export function bundleTexts({ head, lines, end }: TestBundle): string[] {
  return [head, ...lines, end].map((line) => JSON.stringify(line))
}

const NO_TRUST: ProofTrust = { kids: [], noteKey: null, storedCheckpoints: [], consistency: null }

/** Verifies a bundle like the SDK, but without streams. */
export function verifyTexts(texts: readonly string[], trust: Partial<ProofTrust> = {}): BundleFindings {
  const head = parseBundleHead(texts[0] ?? '')
  const verifier = new BundleVerifier(head, { ...NO_TRUST, ...trust, idSeed: 1 }, providers)
  const findKey = makeFindKey(head.keys, providers)
  const verify = (text: string): BundleEntry =>
    verifyBundleLine(parseBundleLine(text, head.of), findKey, providers, head.documents)
  for (const text of texts.slice(1, -1)) verifier.append(verify(text))
  return verifier.finish(parseBundleEnd(utf8Encode(texts.at(-1) ?? '')))
}

function foundationOf(chain: TestChain, size: number): TestLine[] {
  return chain.lines
    .slice(0, size)
    .filter(({ kind }) => kind === 'ledger-created' || kind === 'server-key-rotated')
}

function headOf(chain: TestChain, of: object, completeness: string, size: number): Lines[0] {
  return {
    bundle: 1,
    ledger: chain.ledger,
    of,
    completeness,
    documents: 'all',
    // The number of a bundle's keys is the number of rotations plus one.
    keys: chain
      .keys()
      .slice(0, foundationOf(chain, size).length)
      .map(({ kid, alg, spki, compromisedAt }) => ({ kid, alg, spki, compromisedAt })),
    checkpoint: chain.checkpoint(size),
  }
}

function provedLine(chain: TestChain, line: TestLine, size: number, items?: readonly number[]): Lines[0] {
  const leaves = chain.lines.slice(0, size).map(({ leaf }) => fromHex(leaf))
  const { chain: _, documents, ...rest } = line
  return {
    ...rest,
    path: inclusionPath(sha256, leaves, line.seq).map(toHex),
    documents: items ? items.map((i) => documents[i]) : documents,
    items: items ? items.map((i) => itemProofOf(line, i)) : null,
  }
}
