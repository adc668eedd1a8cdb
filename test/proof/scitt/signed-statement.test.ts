import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode, rfc8949EncodeOptions, Tagged } from 'cborg'
import fc from 'fast-check'
import { concat, utf8Encode } from '../../../src/proof/bytes.ts'
import { encodeEnvelope, encodeProtected, parseEnvelope } from '../../../src/proof/envelope/cose.ts'
import { ProofError, type ProofErrorCode } from '../../../src/proof/error.ts'
import { verifyRegistration } from '../../../src/proof/scitt/registration-policy.ts'
import { parseSignedStatement } from '../../../src/proof/scitt/signed-statement.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { runs } from '../../helpers/runs.ts'
import { encodeSign1, makeIssuer, signBytes, signStatement } from '../../helpers/signed-statements.ts'
import { refuses } from '../refuses.ts'

const issuer = makeIssuer()
const GOOD = signStatement(issuer)
const parse = (bytes: Uint8Array) => parseSignedStatement(bytes)
const policy = { issuers: [{ issuer: issuer.issuer, keys: [issuer.key] }] }

test('returns issuer, subject, kid, algorithm, content type and payload of a statement', () => {
  const { bytes, alg, kid, issuer: by, subject, contentType, payload } = parse(GOOD)
  assert.deepEqual(bytes, GOOD)
  assert.deepEqual(
    { alg, kid, by, subject, contentType, payload },
    {
      alg: 'EdDSA',
      kid: '6b31',
      by: 'https://build.example',
      subject: 'pkg:generic/copper@1',
      contentType: 'application/json',
      payload: utf8Encode('{"built":"copper"}'),
    },
  )
  assert.equal(parse(signStatement(issuer, { header: new Map([[3, 50]]) })).contentType, '50')
})

test('removes the unprotected header and changes no other byte', () => {
  const unprotected = new Map<unknown, unknown>([
    [394, [new Uint8Array(300)]],
    ['x', [{ a: 1 }]],
  ])
  assert.deepEqual(parse(signStatement(issuer, { unprotected })).bytes, GOOD)
})

test('accepts header members in any order, as COSE libraries write them', () => {
  // The header is {15: {2: 's', 1: 'i'}, 4: h'abcd', 3: 'text', 1: -8} in CBOR diagnostic notation.
  const header = new Uint8Array(
    Buffer.from('a40fa2026173016169' + '0442abcd' + '036474657874' + '0127', 'hex'),
  )
  const payload = utf8Encode('p')
  const signed = encodeSign1([header, new Map(), payload, signBytes(issuer, header, payload)])
  assert.deepEqual([parse(signed).issuer, parse(signed).subject, parse(signed).kid], ['i', 's', 'abcd'])
})

const LONG = 'x'.repeat(1_025)

/** Changes of the protected header, each with the expected refusal. */
const HEADERS: readonly [ProofErrorCode, [unknown, unknown][]][] = [
  ['cose_crit', [[2, [15]]]],
  ['cose_algorithm', [[1, -37]]],
  ['cose_algorithm', [[1, undefined]]],
  ['cose_header', [[4, undefined]]],
  ['cose_header', [[4, new Uint8Array()]]],
  ['cose_header', [[4, new Uint8Array(65)]]],
  ['cose_header', [[15, undefined]]],
  ['cose_header', [[15, new Map([[1, 'i']])]]],
  ['cose_header', [[15, new Map([[2, 's']])]]],
  [
    'cose_header',
    [
      [
        15,
        new Map<number, unknown>([
          [1, 7],
          [2, 's'],
        ]),
      ],
    ],
  ],
  [
    'cose_header',
    [
      [
        15,
        new Map([
          [1, 'i'],
          [2, LONG],
        ]),
      ],
    ],
  ],
  [
    'cose_header',
    [
      [
        15,
        new Map([
          [1, 'i\n'],
          [2, 's'],
        ]),
      ],
    ],
  ],
  ['cose_header', [[3, undefined]]],
  ['cose_header', [[3, -1]]],
  ['cose_header', [[258, -16]]],
  [
    'cose_header',
    [
      [258, -16],
      [3, undefined],
    ],
  ],
  [
    'cose_header',
    [
      [258, -15],
      [3, undefined],
      [259, 'text/plain'],
    ],
  ],
  ['cose_header', [[259, 'text/plain']]],
  ['cose_header', [[260, 'https://build.example']]],
]

test('refuses a header with missing or contradictory members', () => {
  for (const [code, changes] of HEADERS)
    refuses(code, () => parse(signStatement(issuer, { header: new Map(changes) })))
  const both = new Map<unknown, unknown>([[4, issuer.kid]])
  refuses('cose_header', () => parse(signStatement(issuer, { unprotected: both })))
  refuses('cose_header', () => parse(signStatement(issuer, { unprotected: new Map([[2, [4]]]) })))
})

test('refuses a payload hash whose length does not fit its algorithm, with cose_header', () => {
  for (const [alg, bytes] of [
    [-16, 32],
    [-43, 48],
    [-44, 64],
  ] as const) {
    const header = new Map<unknown, unknown>([
      [3, undefined],
      [258, alg],
      [259, 'text/plain'],
    ])
    assert.equal(
      parse(signStatement(issuer, { header, payload: new Uint8Array(bytes) })).contentType,
      'text/plain',
    )
    refuses('cose_header', () => parse(signStatement(issuer, { header, payload: new Uint8Array(bytes + 1) })))
  }
})

test('accepts a location of the hashed content only as a text of limited length', () => {
  const at = (location: unknown) => {
    const header = new Map<unknown, unknown>([
      [3, undefined],
      [258, -16],
      [259, 'text/plain'],
      [260, location],
    ])
    return parse(signStatement(issuer, { header, payload: new Uint8Array(32) }))
  }
  for (const location of ['', 'x'.repeat(1_024), 'é'.repeat(512), '🜁'.repeat(256)])
    assert.equal(at(location).contentType, 'text/plain')
  for (const location of ['x'.repeat(1_025), 'é'.repeat(513), '🜁'.repeat(257), 7, new Uint8Array(1)])
    refuses('cose_header', () => at(location))
})

test('refuses bytes that are not COSE_Sign1, and a missing payload, with cose_structure', () => {
  const parts = [new Uint8Array([0xa0]), new Map(), new Uint8Array(), new Uint8Array(64)]
  refuses('cose_structure', () => parse(encode(parts, rfc8949EncodeOptions)))
  refuses('cose_structure', () => parse(encodeSign1([...parts, 1])))
  refuses('cose_structure', () => parse(encodeSign1([parts[0], parts[1], null, parts[3]])))
  refuses('cose_structure', () => parse(encodeSign1([parts[0], parts[1], parts[2], new Uint8Array(63)])))
  refuses('cose_header', () => parse(encodeSign1([encode(1), ...parts.slice(1)])))
  refuses('cbor_malformed', () => parse(encode(new Tagged(98, parts), rfc8949EncodeOptions)))
})

test('a byte order mark is an ordinary character of a text of any length', () => {
  for (const text of ['\ufeff', '\ufeffa', `\ufeff${'a'.repeat(64)}`, 'a\ufeff']) {
    const said = parse(signStatement(makeIssuer(text), { subject: text, contentType: text }))
    assert.deepEqual([said.issuer, said.subject, said.contentType], [text, text, text])
  }
  const labels = new Map([
    ['\ufeffa', 1],
    ['a', 1],
  ])
  assert.equal(parse(signStatement(issuer, { header: labels })).subject, 'pkg:generic/copper@1')
})

test('refuses a duplicate header label of any type', () => {
  const headerOf = (value: string) =>
    Buffer.concat([
      Buffer.from('a5012703616304416b0fa2016169026173', 'hex'),
      Buffer.from(`1864${value}`, 'hex'),
    ])
  const of = (value: string) => {
    const header = headerOf(value)
    return encodeSign1([header, new Map(), new Uint8Array(), signBytes(issuer, header, new Uint8Array())])
  }
  for (const label of ['01', '20', '6161', '4161', '40', '8101', 'a101f6', 'f6', 'f5', '1bffffffffffffffff'])
    refuses('cbor_malformed', () => parse(of(`a2${label}01${label}02`)))
  for (const [one, other] of [
    ['4161', '4162'],
    ['4161', '6161'],
    ['8101', '8102'],
    ['a10102', 'a10103'],
    ['f5', '01'],
    ['1bffffffffffffffff', '1bfffffffffffffffe'],
    ['3bffffffffffffffff', 'f7'],
  ] as const)
    assert.equal(parse(of(`a2${one}01${other}01`)).subject, 's')
})

test('refuses CBOR that is too long, too deep, duplicate, indefinite, not shortest or cut off', () => {
  refuses('envelope_too_large', () => parse(new Uint8Array(32_769)))
  for (const hex of [
    '',
    'd2',
    'd284',
    '9fff',
    '5f4100ff',
    'd2844100',
    '1c',
    '3b',
    'fb00',
    '9bffffffffffffffff',
    'bbffffffffffffffff',
    '7bffffffffffffffff',
  ])
    refuses('cbor_malformed', () => parse(Buffer.from(hex, 'hex')))
  for (const head of [0x81, 0xa1, 0xd8])
    refuses('cbor_malformed', () => parse(new Uint8Array(32_000).fill(head)))
  refuses('cbor_malformed', () => parse(concat([GOOD, new Uint8Array(1)])))
  refuses('cbor_malformed', () =>
    parse(signStatement(issuer, { header: new Map([['x', [[[[[[[[1]]]]]]]]]]) })),
  )
  refuses('cbor_malformed', () =>
    parse(signStatement(issuer, { header: new Map([['x', Array(1_024).fill(0)]]) })),
  )
  const doubled = Buffer.from('a201270127', 'hex')
  refuses('cbor_malformed', () =>
    parse(encodeSign1([doubled, new Map(), new Uint8Array(), new Uint8Array(64)])),
  )
  // The payload's head is two bytes longer than necessary.
  const at = Buffer.from(GOOD).indexOf(utf8Encode('{"built"'))
  const longer = concat([GOOD.subarray(0, at - 1), Buffer.from('590012', 'hex'), GOOD.subarray(at)])
  refuses('cbor_malformed', () => parse(longer))
  refuses('cbor_malformed', () => parse(concat([Buffer.from('d812', 'hex'), GOOD.subarray(1)])))
  refuses('cbor_malformed', () => parse(concat([Buffer.from('d29804', 'hex'), GOOD.subarray(2)])))
})

test('refuses invalid UTF-8, and numbers that are not valid labels', () => {
  // The header is {1: -8, 4: h'6b', 3: 't', 15: {1: '…', 2: 's'}} in CBOR diagnostic notation.
  const withIssuer = (hex: string) => {
    const header = new Uint8Array(Buffer.from(`a40127${'04416b'}${'036174'}0fa201${hex}026173`, 'hex'))
    return encodeSign1([header, new Map(), new Uint8Array(), new Uint8Array(64)])
  }
  assert.equal(parse(withIssuer('63e282ac')).issuer, '€')
  for (const hex of ['61ff', '63eda080', '62c080', '66eda080edb080', '6100', '63efbfbd', '60'])
    assert.throws(() => parse(withIssuer(hex)), ProofError, hex)
  refuses('cbor_malformed', () => parse(signStatement(issuer, { header: new Map([['x', 0.5]]) })))
  const float = new Uint8Array(Buffer.from('a1f93c0027', 'hex')) // The header is {1.0: -8} in CBOR diagnostic notation.
  refuses('cbor_malformed', () =>
    parse(encodeSign1([float, new Map(), new Uint8Array(), new Uint8Array(64)])),
  )
})

test('refuses a statement in the form of an entry’s envelope, with statement_is_entry, for any signer', () => {
  const payload = utf8Encode('{}')
  const kid = new Uint8Array(32)
  const about = { alg: 'EdDSA', kid, issuer: issuer.issuer, subject: 's', issuedAtSeconds: 1 } as const
  const header = encodeProtected(about)
  const like = encodeEnvelope(header, payload, signBytes(issuer, header, payload))
  refuses('statement_is_entry', () => parse(like))
  const typed = new Map<unknown, unknown>([
    [3, 'application/vnd.in-toto+json'],
    [4, kid],
    [
      15,
      new Map<number, unknown>([
        [1, issuer.issuer],
        [2, 's'],
        [6, 1],
      ]),
    ],
  ])
  refuses('statement_is_entry', () => parse(signStatement(issuer, { header: typed })))
  // Receipts in the unprotected header change nothing. The parser empties that header before it compares the statement
  // with an entry.
  refuses('statement_is_entry', () =>
    parse(signStatement(issuer, { header: typed, unprotected: new Map([[394, []]]) })),
  )
  // A header with the same members in another order is refused too, because a reader may accept any order.
  const order = (map: ReadonlyMap<unknown, unknown>) => new Map([...map].reverse())
  const moved = order(
    new Map<unknown, unknown>([[1, -8], ...typed, [15, order(typed.get(15) as typeof typed)]]),
  )
  const disordered = encode(moved, { mapSorter: () => 0 })
  assert.notDeepEqual(disordered, header)
  const bytes = encodeSign1([disordered, new Map(), payload, signBytes(issuer, disordered, payload)])
  refuses('statement_is_entry', () => parse(bytes))
  assert.ok(parse(signStatement(issuer, { header: new Map([...typed, [16, 'application/statement']]) })))
})

test('the message of a refusal quotes at most 100 characters', () => {
  for (const header of [new Map([[1, 'x'.repeat(20_000)]]), new Map([[1, new Uint8Array(20_000)]])])
    assert.throws(
      () => parse(signStatement(issuer, { header })),
      (error) => error instanceof ProofError && error.code === 'cose_algorithm' && error.detail.length < 100,
    )
  const labels = new Map(Array.from({ length: 400 }, (_, i) => [`${i}`.repeat(20), i]))
  assert.throws(
    () => parseEnvelope(signStatement(issuer, { header: labels })),
    (error) => error instanceof ProofError && error.code === 'cose_header' && error.detail.length < 700,
  )
})

test('accepts issuers, keys, algorithms and content types of the policy, and no others', () => {
  const check = (bytes: Uint8Array, changes: object = {}) =>
    verifyRegistration(parse(bytes), { ...policy, ...changes }, nativeProviders)
  check(GOOD)
  check(GOOD, { contentTypes: ['application/json'] })
  refuses('policy_refused', () => check(GOOD, { contentTypes: ['text/plain'] }))
  refuses('policy_refused', () => check(signStatement(makeIssuer('https://other.example'))))
  refuses('key_unknown', () => check(signStatement(makeIssuer(issuer.issuer, 'EdDSA', 'k2'))))
  // Other keys sign the following statements, under the issuer's name and kid.
  refuses('algorithm_mismatch', () => check(signStatement(makeIssuer(issuer.issuer, 'ES256'))))
  refuses('signature_invalid', () => check(signStatement(makeIssuer(issuer.issuer))))
})

test('accepts both ES256 signatures, low and high s, and no other', () => {
  const signer = makeIssuer('https://scan.example', 'ES256')
  const found = new Set<boolean>()
  const taken = { issuers: [{ issuer: signer.issuer, keys: [signer.key] }] }
  for (let i = 0; i < 32; i++) {
    const statement = parse(signStatement(signer, { payload: utf8Encode(`${i}`) }))
    found.add(statement.signature[32]! < 0x80)
    verifyRegistration(statement, taken, nativeProviders)
    const changed = {
      ...statement,
      signature: statement.signature.map((byte, at) => (at === 63 ? byte ^ 1 : byte)),
    }
    refuses('signature_invalid', () => verifyRegistration(changed, taken, nativeProviders))
  }
  assert.equal(found.size, 2, 'of 32 signatures none was high, or all')
  for (const s of ['00'.repeat(32), 'ff'.repeat(32)]) {
    const statement = parse(signStatement(signer))
    const signature = concat([statement.signature.subarray(0, 32), Buffer.from(s, 'hex')])
    refuses('signature_invalid', () =>
      verifyRegistration({ ...statement, signature }, taken, nativeProviders),
    )
  }
})

test('arbitrary bytes are refused with a code in bounded time, and no changed signature is accepted', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    // A valid statement with some bytes changed, removed or doubled.
    fc
      .tuple(fc.nat(GOOD.length - 1), fc.uint8Array({ maxLength: 8 }), fc.nat(8))
      .map(([at, into, out]) => concat([GOOD.subarray(0, at), into, GOOD.subarray(at + out)])),
    fc.anything({ withBigInt: true, withTypedArray: true, withMap: true }).map((value) => {
      try {
        return encode(new Tagged(18, [value, value, value, value]))
      } catch {
        return new Uint8Array()
      }
    }),
  )
  fc.assert(
    fc.property(bytes, (sent) => {
      const startedAt = performance.now()
      try {
        const statement = parse(sent)
        verifyRegistration(statement, policy, nativeProviders)
        // The signed bytes must be equal. The unprotected header may differ.
        assert.deepEqual(statement.bytes, GOOD)
      } catch (error) {
        assert.ok(error instanceof ProofError, `${error}`)
      }
      assert.ok(performance.now() - startedAt < 1_000)
    }),
    { numRuns: runs(2_000) },
  )
})
