import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { utf8Encode } from '../../src/proof/bytes.ts'
import { ProofError } from '../../src/proof/error.ts'
import { ENTRY_KINDS } from '../../src/proof/statement/kinds.ts'
import { parseStatement } from '../../src/proof/statement/statement.ts'
import {
  codeOfBundle,
  codeOfLines,
  type KindVectors,
  type StatementVector,
  statementVectors,
  textOf,
} from '../helpers/kind-vectors.ts'

/*
 * Tests every cell of the table of kinds (src/proof/statement/kinds). python/tests/test_kinds.py reads the same file
 * for the Python verifier.
 */

const vectors: KindVectors = JSON.parse(
  readFileSync(new URL('../vectors/kinds.json', import.meta.url), 'utf8'),
)

function codeOf(vector: StatementVector): string | null {
  try {
    parseStatement(utf8Encode(textOf(vectors.samples, vector)))
    return null
  } catch (error) {
    if (error instanceof ProofError) return error.code
    throw error
  }
}

for (const kind of Object.keys(ENTRY_KINDS))
  test(`statements of ${kind} with one change each are accepted, or refused with the code of the vector`, () => {
    const own = vectors.statements.filter(
      ({ about }) => about.startsWith(`${kind}: `) || about.endsWith(` of ${kind}`),
    )
    assert.ok(own.length > 20, `${own.length}`)
    for (const vector of own) assert.equal(codeOf(vector), vector.code, vector.about)
  })

for (const { about, code, line } of vectors.last)
  test(`entry line, ${about}: ${code ?? 'taken'}`, () => {
    assert.equal(codeOfLines([...vectors.begin, JSON.stringify(line)]), code)
  })

for (const { about, code, head, line } of vectors.first)
  test(`first line, ${about}: ${code ?? 'taken'}`, () => {
    assert.equal(codeOfLines([head!, JSON.stringify(line)]), code)
  })

for (const { about, code, lines } of vectors.bundles)
  test(`a bundle, ${about}: ${code ?? 'taken'}`, () => {
    assert.equal(codeOfBundle(lines), code)
  })

test('vectors.statements equals the output of its generator', () => {
  assert.deepEqual(vectors.statements, JSON.parse(JSON.stringify([...statementVectors()])))
})
