import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { utf8Decode, utf8Encode } from '../../src/proof/bytes.ts'
import { parseEntryLine } from '../../src/proof/entry/entry-line.ts'
import { verifyEntry } from '../../src/proof/entry/verify-entry.ts'
import { ProofError } from '../../src/proof/error.ts'
import { LedgerVerifier } from '../../src/proof/ledger/verify-ledger.ts'
import { runs } from '../helpers/runs.ts'
import { makeChain, providers } from '../helpers/test-chain.ts'
import { makeGated } from '../helpers/test-gated.ts'
import { makeFindKey } from '../helpers/verify-chain.ts'

/*
 * Asserts that verification refuses every change of export lines that is made without the keys. The lines are changed
 * as text and verified against a stored checkpoint.
 */

const chain = makeChain()
chain.notarize({}, undefined, { text: 'price of copper', n: [1, 2.5, null, true], o: { é: '😂' } })
const batch = chain.notarizeBatch(3)
const gated = makeGated(chain)
gated.activate()
gated.submit()
gated.verify()
gated.judge()
chain.erase(batch, 1)
chain.rotateServerKey()
chain.notarize()
chain.notarize()
const LINES = chain.lines.map((line) => JSON.stringify(line))
const KEPT = chain.checkpoint()
const findKey = makeFindKey(chain)
const stepOf = (line: string) => verifyEntry(parseEntryLine(line), findKey, providers).step
/**
 * Maps each unchanged line to its parsed step. Nearly all lines of a tampered ledger are unchanged, so they need not be
 * parsed again.
 */
const STEPS = new Map(LINES.map((line) => [line, stepOf(line)]))

/** Throws ProofError if the lines are not a valid ledger. */
function verifyLines(lines: readonly string[], kept = [KEPT]): void {
  const verifier = new LedgerVerifier(providers, { storedCheckpoints: kept })
  for (const line of lines) verifier.append(STEPS.get(line) ?? stepOf(line))
  verifier.finish()
}

function assertFound(lines: readonly string[], kept?: string[]): void {
  assert.throws(
    () => verifyLines(lines, kept),
    (error) => error instanceof ProofError,
  )
}

const anyLine = fc.nat(LINES.length - 1)

test('the unchanged lines verify', () => verifyLines(LINES))

test('any flipped bit is detected, unless the line still means the same', () => {
  fc.assert(
    fc.property(anyLine, fc.nat(), fc.nat(7), (index, place, bit) => {
      const bytes = utf8Encode(LINES[index]!)
      bytes[place % bytes.length]! ^= 1 << bit
      assertChangeFound(index, () => utf8Decode(bytes))
    }),
    { numRuns: runs(1000) },
  )
})

test('any replaced, removed or inserted byte is detected, unless the line still means the same', () => {
  fc.assert(
    fc.property(
      anyLine,
      fc.nat(),
      fc.nat(1),
      fc.uint8Array({ maxLength: 2 }),
      (index, place, removed, added) => {
        const bytes = utf8Encode(LINES[index]!)
        const at = place % bytes.length
        const changed = Uint8Array.of(...bytes.subarray(0, at), ...added, ...bytes.subarray(at + removed))
        assertChangeFound(index, () => utf8Decode(changed))
      },
    ),
    { numRuns: runs(1000) },
  )
})

/**
 * Asserts that the change of a line is noticed. If the changed line is not UTF-8 or not JSON, the parser must refuse
 * it.
 */
function assertChangeFound(index: number, text: () => string): void {
  let line: string
  try {
    line = text()
    if (isDeepStrictEqual(JSON.parse(line), JSON.parse(LINES[index]!))) return
  } catch {
    assert.throws(() => parseEntryLine(text()), ProofError)
    return
  }
  assertFound(LINES.with(index, line))
}

test('any removed, added or replaced member of any line is detected', () => {
  const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('', 0, null, 'rec_x'))
  fc.assert(
    fc.property(
      anyLine,
      fc.nat(),
      value,
      fc.constantFrom('remove', 'add', 'replace'),
      (index, place, value, how) => {
        const line = JSON.parse(LINES[index]!)
        const places = membersOf(line)
        const [object, name] = places[place % places.length]!
        if (how === 'add') object[Array.isArray(object) ? object.length : `${name}2`] = value
        else if (how === 'replace') object[name] = value
        else if (Array.isArray(object)) object.splice(Number(name), 1)
        else delete object[name]
        if (isDeepStrictEqual(meaningOf(JSON.stringify(line)), meaningOf(LINES[index]!))) return
        assertFound(LINES.with(index, JSON.stringify(line)))
      },
    ),
    { numRuns: runs(1000) },
  )
})

/** Returns the line and its documents without null members, because null means the same as absent in them. */
function meaningOf(text: string): object {
  const line = JSON.parse(text)
  const documents = Array.isArray(line.documents) ? line.documents.map(withoutNulls) : line.documents
  return withoutNulls({ ...line, documents })
}

const NULLABLE = new Set(['items', 'received', 'signer', 'salt', 'document', 'erasedBy', 'references'])

function withoutNulls(value: object | null): object {
  const members = Object.entries(value ?? {}).filter(
    ([name, member]) => member !== null || !NULLABLE.has(name),
  )
  return Object.fromEntries(members)
}

// biome-ignore lint/suspicious/noExplicitAny: any place of any JSON
function membersOf(value: any): [any, string][] {
  if (value === null || typeof value !== 'object') return []
  return Object.keys(value).flatMap((name) => [[value, name] as [object, string], ...membersOf(value[name])])
}

test('a removed, swapped, inserted or duplicated line is detected', () => {
  const { length } = LINES
  for (let i = 0; i < length; i++) {
    assertFound(LINES.toSpliced(i, 1))
    for (let j = 0; j <= length; j++) assertFound(LINES.toSpliced(j, 0, LINES[i]!))
    for (let j = i + 1; j < length; j++) assertFound(LINES.with(i, LINES[j]!).with(j, LINES[i]!))
  }
})

test('a cut-off tail is detected by a stored checkpoint at any cut', () => {
  for (let size = 0; size < LINES.length; size++) assertFound(LINES.slice(0, size))
})

test('forged lines with adjusted seq, leaf and chain are detected by the signed content', () => {
  const other = makeChain({ ledger: chain.ledger, signer: chain.firstSigner })
  for (let i = 0; i < 4; i++) other.notarize()
  const forged = other.lines.map((line) => JSON.stringify(line))
  assertFound([...LINES.slice(0, 5), ...forged.slice(5)])
  assertFound(forged)
})
