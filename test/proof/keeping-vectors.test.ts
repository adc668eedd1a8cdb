import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fromBase64, fromHex, toHex, utf8Decode, utf8Encode } from '../../src/proof/bytes.ts'
import { parsePublicKey } from '../../src/proof/keys.ts'
import { buildStatement, parseStatement } from '../../src/proof/statement/statement.ts'
import { leafHash } from '../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { verifyEnvelope } from '../helpers/verify-envelope.ts'
import { refuses } from './refuses.ts'
import { vectors } from './vectors.ts'

/** Vectors made with Python's `cryptography` and `cbor2`, from docs/formats alone. */
const keeping = JSON.parse(readFileSync(new URL('../vectors/keeping.json', import.meta.url), 'utf8')) as {
  readonly statements: readonly Record<'kind' | 'statement' | 'envelope' | 'leaf', string>[]
  readonly refused: readonly Record<'why' | 'statement', string>[]
}
const key = parsePublicKey('EdDSA', fromBase64(vectors.key.spki))

for (const [i, { kind, statement, envelope, leaf }] of keeping.statements.entries()) {
  test(`another implementation's ${kind} (${i}) verifies and is rebuilt byte for byte`, () => {
    const { payload } = verifyEnvelope(fromHex(envelope), key, nativeProviders)
    assert.equal(utf8Decode(payload), statement)
    const parsed = parseStatement(payload)
    assert.equal(parsed.kind, kind)
    assert.equal(buildStatement(parsed.kind, parsed.subjects, parsed.predicate), statement)
    assert.equal(toHex(leafHash(nativeProviders.sha256, fromHex(envelope))), leaf)
  })
}

for (const { why, statement } of keeping.refused) {
  test(`refuses a statement with statement_predicate: ${why}`, () => {
    refuses('statement_predicate', () => parseStatement(utf8Encode(statement)))
  })
}
