import { fromBase64 } from '../../src/proof/bytes.ts'
import { parseEnvelope } from '../../src/proof/envelope/cose.ts'
import { parseStatement } from '../../src/proof/statement/statement.ts'

/**
 * An entry of an export, reduced to what is drawn. `receives`: leaf of the other chain's entry that this entry names,
 * or null.
 */
export type ChainEntry = {
  readonly seq: number
  readonly kind: string
  readonly leaf: string
  readonly recordedAt: string
  readonly receives: string | null
}

export type Chain = { readonly name: string; readonly entries: readonly ChainEntry[] }

/** Returns the entries of an export (docs/formats/export.md), in order. */
export function readChain(text: string): ChainEntry[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter((line) => typeof line.seq === 'number' && typeof line.envelope === 'string')
    .map(({ seq, kind, leaf, recordedAt, envelope }) => {
      const { predicate } = parseStatement(parseEnvelope(fromBase64(envelope)).payload)
      return { seq, kind, leaf, recordedAt, receives: receivedLeaf(predicate) }
    })
}

/**
 * Returns the leaf by which an entry names another ledger's entry, or null. Three kinds of entries have such a leaf: a
 * receipt, a step that takes an offer, and the second half of a handshake.
 */
function receivedLeaf(predicate: Readonly<Record<string, unknown>>): string | null {
  const { received, offer, counterpart } = predicate as {
    received?: { leaf: string }
    offer?: { leaf: string }
    counterpart?: string
  }
  return received?.leaf ?? offer?.leaf ?? counterpart ?? null
}

type Row = {
  readonly at: string
  readonly cells: readonly [ChainEntry | null, ChainEntry | null]
  readonly to: 0 | 1 | null
}

const LEAF_CHARS = 8
const ARROWS = ['◀──', '──▶'] as const

/**
 * Draws one line per exchange, in the order of time: the entry that received something, and beside it the entry that it
 * names. An entry that was drawn before is in brackets. For example, a step that takes an offer is drawn twice: it
 * receives the offer, and later the other side receives the step.
 */
export function drawChains(left: Chain, right: Chain): string[] {
  const chains = [left.entries, right.entries] as const
  const rows = [...rowsOf(chains, 0), ...rowsOf(chains, 1)].sort((a, b) => compareText(a.at, b.at))
  const width = Math.max(left.name.length, ...chains.flat().map((entry) => draw(entry, true).length))
  const seen = new Set<string>()
  const drawOnce = (entry: ChainEntry | null) => {
    if (entry === null) return ''
    const isNew = !seen.has(entry.leaf)
    seen.add(entry.leaf)
    return draw(entry, !isNew)
  }
  const lines = rows.map(({ cells: [a, b], to }) =>
    `${drawOnce(a).padEnd(width)}  ${to === null ? '   ' : ARROWS[to]}  ${drawOnce(b)}`.trimEnd(),
  )
  return [`${left.name.padEnd(width)}       ${right.name}`, ...lines]
}

/**
 * Returns a row for each entry of this side that receives an entry of the other side, and for each entry of this side
 * that the other side has not received.
 */
function rowsOf(chains: readonly [readonly ChainEntry[], readonly ChainEntry[]], side: 0 | 1): Row[] {
  const other = side === 0 ? 1 : 0
  const theirs = new Map(chains[other].map((entry) => [entry.leaf, entry]))
  const received = new Set(chains[other].map(({ receives }) => receives))
  return chains[side].flatMap((entry): Row[] => {
    const named = entry.receives === null ? null : (theirs.get(entry.receives) ?? null)
    if (named === null && received.has(entry.leaf)) return []
    const cells = side === 0 ? ([entry, named] as const) : ([named, entry] as const)
    return [{ at: entry.recordedAt, cells, to: named === null ? null : side }]
  })
}

function draw({ seq, kind, leaf }: ChainEntry, isSeen: boolean): string {
  const text = `${String(seq).padStart(3)}  ${kind.padEnd(20)}  ${leaf.slice(0, LEAF_CHARS)}`
  return isSeen ? `(${text.slice(1)})` : text
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
