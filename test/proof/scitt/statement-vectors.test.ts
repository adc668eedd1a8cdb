import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { encode, Tagged } from 'cborg'
import fc from 'fast-check'
import { concat, fromHex, toHex } from '../../../src/proof/bytes.ts'
import { verifyStatementLine } from '../../../src/proof/entry/verify-step.ts'
import { ProofError, type ProofErrorCode } from '../../../src/proof/error.ts'
import { type RegistrationPolicy, verifyRegistration } from '../../../src/proof/scitt/registration-policy.ts'
import {
  admitStatement,
  parseRegisteredStatement,
  type SignedStatement,
} from '../../../src/proof/scitt/signed-statement.ts'
import { STATEMENT } from '../../../src/proof/statement/kinds.ts'
import { leafHash } from '../../../src/proof/tree/merkle.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { pushStatement, register, setPolicy } from '../../helpers/chain-statements.ts'
import { runs } from '../../helpers/runs.ts'
import { makeIssuer, signBytes } from '../../helpers/signed-statements.ts'
import { makeChain } from '../../helpers/test-chain.ts'
import { verifyChain } from '../../helpers/verify-chain.ts'

/* Tests that the server refuses to register each statement that a verifier of the ledger refuses. */

/**
 * A vector, which the Python verifier's tests read too. `code` is the code with which the policy refuses `sent`; null
 * if `sent` is registered. `inLedger` is the code for a ledger's line with the same bytes, if it differs from `code`.
 */
type Vector = {
  readonly about?: string
  readonly code: ProofErrorCode | null
  readonly inLedger?: ProofErrorCode
  readonly leaf?: string
  readonly subject?: string
  readonly sent: string
}
type Vectors = {
  readonly policy: RegistrationPolicy
  readonly statements: readonly Vector[]
  readonly changed: readonly Vector[]
}
const file = new URL('../../vectors/registered-statements.json', import.meta.url)
const { policy, statements, changed }: Vectors = JSON.parse(readFileSync(file, 'utf8'))

/** Admits a statement as the server does (src/ledgers/statements/register-statement.ts). */
function admit(sent: Uint8Array, by: RegistrationPolicy): SignedStatement {
  const statement = admitStatement(sent)
  verifyRegistration(statement, by, nativeProviders)
  return statement
}

function verify(envelope: Uint8Array, by: RegistrationPolicy): SignedStatement {
  const leaf = toHex(leafHash(nativeProviders.sha256, envelope))
  const place = { seq: 1, chain: '00'.repeat(32), recordedAt: '2026-11-20T12:00:00.000Z' }
  const line = { ...place, kind: STATEMENT, leaf, envelope, documents: [], items: null }
  const { registered } = verifyStatementLine(line, nativeProviders.sha256)
  verifyRegistration(registered!, by, nativeProviders)
  return registered!
}

function codeOf(work: () => unknown): ProofErrorCode | null {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof ProofError) return error.code
    throw error
  }
}

test('each statement of the vectors is admitted, or refused with the code of the vector', () => {
  for (const { about, code, inLedger, leaf, subject, sent } of [...statements, ...changed]) {
    const bytes = fromHex(sent)
    assert.equal(
      codeOf(() => admit(bytes, policy)),
      code,
      about ?? sent,
    )
    assert.equal(
      codeOf(() => verify(bytes, policy)),
      inLedger ?? code,
      about ?? sent,
    )
    if (code !== null) continue
    const statement = admit(bytes, policy)
    if (leaf !== undefined)
      assert.equal(toHex(leafHash(nativeProviders.sha256, statement.bytes)), leaf, about)
    if (subject !== undefined) assert.equal(statement.subject, subject, about)
  }
})

test('a ledger of all admitted statements verifies', () => {
  const chain = makeChain()
  const set = setPolicy(chain, [], policy)
  const admitted = new Set<string>()
  for (const { code, sent } of [...statements, ...changed]) {
    if (code !== null) continue
    const { bytes } = admit(fromHex(sent), policy)
    // A ledger registers each statement only once.
    if (admitted.has(toHex(bytes))) continue
    admitted.add(toHex(bytes))
    register(chain, set, pushStatement(chain, bytes))
  }
  assert.ok(admitted.size > 40, `${admitted.size}`)
  verifyChain(chain, { own: [chain.checkpoint()] })
})

const issuer = makeIssuer()
const anyPolicy: RegistrationPolicy = { issuers: [{ issuer: issuer.issuer, keys: [issuer.key] }] }

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    true,
    2 ** 53 - 1,
    2n ** 53n,
    2n ** 64n - 1n,
    -(2n ** 64n),
    -7,
    -8,
    -16,
    '',
    '\ufeffx',
    '\ufffd',
    'application/vnd.in-toto+json',
    new Uint8Array(32),
    new Map(),
  ),
  fc.integer(),
  fc.string({ unit: 'binary' }),
  fc.uint8Array({ maxLength: 70 }),
  fc.array(fc.integer(), { maxLength: 3 }),
)
const label = fc.oneof(
  fc.constantFrom<unknown>(1, 2, 3, 4, 6, 15, 16, 258, 259, 260, 394, 'x', null, true, undefined),
  fc.constantFrom<unknown>(new Uint8Array(1), [1], 2n ** 64n - 1n),
)
const changes = fc.array(fc.tuple(label, odd), { maxLength: 2 })
const USUAL: readonly (readonly [unknown, unknown])[] = [
  [1, -8],
  [3, 'application/json'],
  [4, issuer.kid],
]
const headers = fc
  .tuple(changes, changes, fc.nat(15), fc.boolean())
  .map(([outer, inner, left, isReversed]) => {
    const claims = new Map<unknown, unknown>([[1, issuer.issuer], [2, 's'], ...inner])
    const kept = USUAL.filter((_, i) => (left >> i) % 2 === 0 || left > 7)
    const header = [...kept, [15, claims] as const, ...outer]
    return new Map<unknown, unknown>(isReversed ? header.reverse() : header)
  })
const unsigned = fc.oneof(fc.constant([]), changes).map((pairs) => new Map(pairs))

test('the verifier of a ledger accepts every statement that the server admits', () => {
  const [all, admitted] = [runs(4_000), { count: 0 }]
  const splice = fc.option(fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 3 }), fc.nat(3)), { freq: 3 })
  fc.assert(
    fc.property(
      headers,
      unsigned,
      fc.constantFrom(0, 18, 32, 48),
      splice,
      (header, unprotected, size, cut) => {
        // The encoder keeps the order in which members were set, as an issuer's library may do.
        const order = { mapSorter: () => 0 }
        const protectedBytes = encode(header, order)
        const payload = new Uint8Array(size)
        const parts = [protectedBytes, unprotected, payload, signBytes(issuer, protectedBytes, payload)]
        let sent: Uint8Array = encode(new Tagged(18, parts), order)
        if (cut !== null) {
          const at = cut[0] % sent.length
          sent = concat([sent.subarray(0, at), cut[1], sent.subarray(at + cut[2])])
        }
        let statement: SignedStatement
        try {
          statement = admit(sent, anyPolicy)
        } catch (error) {
          assert.ok(error instanceof ProofError, `${error}`)
          return
        }
        admitted.count++
        assert.deepEqual(verify(statement.bytes, anyPolicy), statement)
        assert.deepEqual(parseRegisteredStatement(statement.bytes), statement)
      },
    ),
    { numRuns: all },
  )
  assert.ok(admitted.count > all / 50, `only ${admitted.count} were admitted`)
})
