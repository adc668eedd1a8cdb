import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromBase64, toBase64, toHex } from '../../../src/proof/bytes.ts'
import { verifySignerShown, withSigner } from '../../../src/proof/entry/verify-entry.ts'
import { parseEnvelope } from '../../../src/proof/envelope/cose.ts'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import { LedgerAgentKeys } from '../../../src/proof/ledger/agent-keys.ts'
import { AGENT_KEYS_MAX } from '../../../src/proof/limits.ts'
import { parseStatement } from '../../../src/proof/statement/statement.ts'
import { makeChain, makeId, makeSigner, providers, sha256, type TestChain } from '../../helpers/test-chain.ts'
import { makeGated } from '../../helpers/test-gated.ts'
import { assertRefused, verifyChain } from '../../helpers/verify-chain.ts'
import { refuses } from '../refuses.ts'

const mine = (chain: TestChain, key: ReturnType<typeof makeSigner>, predicate: object = {}) =>
  chain.notarize(predicate, undefined, undefined, key)

test('an agent signs between the registration and revocation of its key; other entries are signed by the server', () => {
  const chain = makeChain()
  const [first, second] = [makeSigner(), makeSigner()]
  chain.registerSigningKey(first)
  mine(chain, first)
  chain.notarize()
  chain.registerSigningKey(second, { endorsedBy: first })
  mine(chain, first)
  chain.revokeSigningKey(first)
  mine(chain, second)
  chain.rotateServerKey()
  chain.notarize()
  const { agentSigned, size, kids } = verifyChain(chain)
  assert.deepEqual([agentSigned, size, kids.size], [3, chain.lines.length, 2])
})

test('a key may be registered in two ledgers; after revoking its only key, an agent needs an endorsement', () => {
  const key = makeSigner()
  for (const chain of [makeChain(), makeChain()]) {
    chain.registerSigningKey(key)
    chain.revokeSigningKey(key)
    verifyChain(chain)
    chain.registerSigningKey(makeSigner())
    assertRefused('agent_key_refused', () => verifyChain(chain), /endorses/)
  }
})

type Forge = (chain: TestChain, key: ReturnType<typeof makeSigner>) => unknown

/**
 * Forged entries, each with the expected code. Each chain begins with the registration of a key of the ledger's
 * agent.
 */
const FORGED: readonly (readonly [what: string, ProofErrorCode, Forge])[] = [
  ['behind its revocation', 'key_not_valid', (c, k) => [c.revokeSigningKey(k), mine(c, k)]],
  ['before its registration', 'key_not_current', (c) => [mine(c, LATER), c.registerSigningKey(LATER)]],
  ['for another agent', 'key_of_another_agent', (c, k) => mine(c, k, actAs(c))],
  [
    'a kind that agents cannot sign',
    'actor_not_entitled',
    (c, k) => c.registerSigningKey(makeSigner(), { endorsedBy: k, own: k }),
  ],
  ['by a key that nobody registered', 'key_not_current', (c) => mine(c, makeSigner())],
  [
    'a second registration of a key',
    'duplicate_subject',
    (c, k) => c.registerSigningKey(k, { endorsedBy: k }),
  ],
  ['a key without an endorsement', 'agent_key_refused', (c) => c.registerSigningKey(makeSigner())],
  [
    'an endorsement by a stranger',
    'agent_key_refused',
    (c) => c.registerSigningKey(makeSigner(), { endorsedBy: makeSigner() }),
  ],
  [
    'an endorsement by a revoked key',
    'agent_key_refused',
    (c, k) => [c.revokeSigningKey(k), c.registerSigningKey(makeSigner(), { endorsedBy: k })],
  ],
  [
    'an endorsement by another agent',
    'agent_key_refused',
    (c, k) => c.registerSigningKey(makeSigner(), { ...another(c), endorsedBy: k }),
  ],
  [
    'an endorsement of something else',
    'agent_key_refused',
    (c, k) =>
      c.registerSigningKey(makeSigner(), {
        wrong: { endorsement: { kid: k.kidHex, signature: toBase64(k.sign(new Uint8Array(1))) } },
      }),
  ],
  [
    'no proof of possession',
    'agent_key_refused',
    (c, k) =>
      c.registerSigningKey(makeSigner(), {
        endorsedBy: k,
        wrong: { proof: toBase64(k.sign(new Uint8Array(1))) },
      }),
  ],
  [
    'another word for required',
    'agent_key_refused',
    (c, k) => c.registerSigningKey(makeSigner(), { endorsedBy: k, wrong: { required: true } }),
  ],
  [
    'a key under another name',
    'kid_mismatch',
    (c, k) =>
      c.registerSigningKey(makeSigner(), {
        endorsedBy: k,
        wrong: { newKey: { kid: '00'.repeat(32), alg: 'EdDSA', spki: toBase64(k.key.spki) } },
      }),
  ],
  [
    'an agent that nobody registered',
    'subject_unknown',
    (c, k) => c.registerSigningKey(makeSigner(), { of: makeId('agt'), endorsedBy: k }),
  ],
  [
    'the key of the server',
    'duplicate_subject',
    (c, k) => c.registerSigningKey(c.firstSigner, { endorsedBy: k }),
  ],
  ["a server that takes the agent's key", 'key_not_current', (c, k) => c.rotateServerKey(k)],
  ['a revocation of what is none', 'subject_unknown', (c) => c.revokeSigningKey(makeSigner())],
  ["a revocation of another agent's key", 'subject_unknown', (c, k) => revokeOfAnother(c, k)],
  ['a second revocation', 'duplicate_subject', (c, k) => [c.revokeSigningKey(k), c.revokeSigningKey(k)]],
]

const LATER = makeSigner()

function another(chain: TestChain): { of: string; name: string } {
  const of = makeId('agt')
  chain.registerAgent(of, 'another')
  return { of, name: 'another' }
}

function actAs(chain: TestChain): object {
  const { of } = another(chain)
  const key = makeId('key')
  chain.createKey(key, of)
  return chain.acting(of, key)
}

function revokeOfAnother(chain: TestChain, key: ReturnType<typeof makeSigner>): unknown {
  const { of, name } = another(chain)
  return chain.revokeSigningKey(key, {}, of, name)
}

for (const [what, code, forge] of FORGED) {
  test(`refuses ${what}`, () => {
    const chain = makeChain()
    const key = makeSigner()
    chain.registerSigningKey(key)
    mine(chain, key)
    verifyChain(chain)
    forge(chain, key)
    assertRefused(code, () => verifyChain(chain))
  })
}

test('a ninth current key is refused with agent_key_refused; replacing a revoked key is accepted', () => {
  const chain = makeChain()
  const keys = Array.from({ length: AGENT_KEYS_MAX }, makeSigner)
  for (const [i, key] of keys.entries())
    chain.registerSigningKey(key, i === 0 ? {} : { endorsedBy: keys[0]! })
  chain.revokeSigningKey(keys[1]!)
  chain.registerSigningKey(makeSigner(), { endorsedBy: keys[0]! })
  verifyChain(chain)
  chain.registerSigningKey(makeSigner(), { endorsedBy: keys[0]! })
  assertRefused('agent_key_refused', () => verifyChain(chain), /8 current keys/)
})

/** Entries that the server signs for an agent that must sign for itself. */
const UNSIGNED: Readonly<Record<string, (chain: TestChain, agent: string) => unknown>> = {
  'a record': (chain) => chain.notarize(),
  'a batch': (chain) => chain.notarizeBatch(2),
  'another agent': (chain) => chain.registerAgent(makeId('agt'), 'x', chain.acting()),
  'a record on its behalf': (chain, agent) => chain.notarize({ ...actAs(chain), onBehalfOf: agent }),
  'an item of a batch on its behalf': (chain, agent) =>
    chain.notarizeBatch(2, { predicate: actAs(chain), item: { onBehalfOf: agent } }),
}

for (const [what, make] of Object.entries(UNSIGNED)) {
  test(`refuses ${what} signed by the server for an agent whose key is required`, () => {
    const chain = makeChain()
    const key = makeSigner()
    make(chain, chain.agent)
    chain.registerSigningKey(key, { required: true })
    mine(chain, key)
    chain.revokeSigningKey(key)
    verifyChain(chain)
    make(chain, chain.agent)
    assertRefused('agent_signature_missing', () => verifyChain(chain))
  })
}

test('refuses server-signed records and steps of a type that requires agent signatures', () => {
  const chain = makeChain()
  const key = makeSigner()
  const digest = '44'.repeat(32)
  chain.registerSigningKey(key)
  chain.registerType('signed/1', digest, { agentSigned: true })
  chain.registerType('free/1', digest)
  chain.notarize({ type: 'free/1' })
  mine(chain, key, { type: 'signed/1' })
  chain.notarizeBatch(2, { item: { type: 'signed/1' }, own: key })
  const terms = { type: 'signed/1', typeDigest: digest, performer: undefined }
  const made = (more: object = {}) => makeGated(chain, { ...terms, ...more }, { own: key })
  made().cancel({ own: key })
  made({ deadline: '2020-01-01T00:00:00.000Z' }).expire()
  const open = made()
  for (const forge of [
    () => chain.notarize({ type: 'signed/1' }),
    () => chain.notarizeBatch(3, { items: [{}, { type: 'signed/1' }, {}] }),
    () => makeGated(chain, terms),
    () => open.cancel(),
  ]) {
    verifyChain(chain)
    forge()
    assertRefused('agent_signature_missing', () => verifyChain(chain))
    chain.forget()
  }
})

test('a pinned agent must have signed all its entries, by pinned keys or keys that those endorsed', () => {
  const chain = makeChain()
  const [first, second, stranger] = [makeSigner(), makeSigner(), makeSigner()]
  const pin = (...keys: (typeof first)[]) => ({
    pinnedAgents: new Map([[chain.agent, new Set(keys.map(({ kidHex }) => kidHex))]]),
  })
  const { length } = chain.lines
  chain.registerSigningKey(first)
  mine(chain, first)
  chain.registerType('order/1')
  chain.registerSigningKey(second, { endorsedBy: first })
  chain.revokeSigningKey(first)
  mine(chain, second)
  verifyChain(chain, pin(first))
  // A key endorses only later keys. A verifier that trusts only the second key therefore refuses entries of the first
  // key.
  assertRefused('agent_key_refused', () => verifyChain(chain, pin(second)), /nor endorsed/)
  verifyChain(chain, pin(first, second))
  assertRefused('agent_key_refused', () => verifyChain(chain, pin(stranger)))
  // A dishonest operator registers its own key as the agent's first key. With this key the operator endorses the
  // agent's genuine key, and forges entries of the agent.
  chain.notarize()
  verifyChain(chain)
  assertRefused('agent_signature_missing', () => verifyChain(chain, pin(first)))
  while (chain.lines.length > length) chain.forget()
  chain.registerSigningKey(stranger)
  chain.registerSigningKey(first, { endorsedBy: stranger })
  verifyChain(chain)
  assertRefused('agent_key_refused', () => verifyChain(chain, pin(first)))
  while (chain.lines.length > length) chain.forget()
  assertRefused('trusted_key_absent', () => verifyChain(chain, pin(first)))
})

test('refuses onBehalfOf an agent whose key is required, although the acting agent signed', () => {
  const chain = makeChain()
  chain.registerSigningKey(makeSigner(), { required: true })
  const { of, name } = another(chain)
  const apiKey = makeId('key')
  chain.createKey(apiKey, of)
  const key = makeSigner()
  const by = chain.acting(of, apiKey)
  chain.registerSigningKey(key, { of, name, by: chain.acting(of, apiKey) })
  mine(chain, key, chain.acting(of, apiKey))
  verifyChain(chain)
  mine(chain, key, { ...by, recordedAt: chain.acting().recordedAt, onBehalfOf: chain.agent })
  assertRefused('agent_signature_missing', () => verifyChain(chain))
})

test('an API key with records:write rotates and revokes signing keys of its own agent only', () => {
  const withWriter = (
    make: (chain: TestChain, by: object, key: ReturnType<typeof makeSigner>) => unknown,
  ) => {
    const chain = makeChain()
    const writer = makeId('key')
    chain.createKey(writer, chain.agent, { scopes: ['records:write'] })
    const key = makeSigner()
    chain.registerSigningKey(key)
    make(chain, { key: writer }, key)
    return () => verifyChain(chain)
  }
  withWriter((chain, by, key) => chain.registerSigningKey(makeSigner(), { by, endorsedBy: key }))()
  withWriter((chain, by, key) => chain.revokeSigningKey(key, by))()
  const others = [
    withWriter((chain, by) => chain.registerSigningKey(makeSigner(), { ...another(chain), by })),
    withWriter((chain, by) => {
      const { of, name } = another(chain)
      const key = makeSigner()
      chain.registerSigningKey(key, { of, name })
      chain.revokeSigningKey(key, by, of, name)
    }),
  ]
  for (const verify of others) assertRefused('actor_not_entitled', verify, /agents:manage/)
})

test('refuses a line without its signer’s key, or with another key', () => {
  const chain = makeChain()
  const key = makeSigner()
  chain.registerSigningKey(key)
  const line = mine(chain, key)
  const { signer } = line
  line.signer = { alg: 'EdDSA', spki: toBase64(makeSigner().key.spki) }
  assertRefused('line_contradicts_envelope', () => verifyChain(chain))
  line.signer = { alg: 'EdDSA', spki: 'AAAA' }
  assertRefused('bad_key', () => verifyChain(chain))
  delete line.signer
  assertRefused('key_unknown', () => verifyChain(chain))
  line.signer = signer!
  verifyChain(chain)
  const { alg, spki } = chain.keys()[0]!
  chain.lines[0]!.signer = { alg: alg as 'EdDSA', spki }
  assertRefused('line_contradicts_envelope', () => verifyChain(chain), /the server signed/)
  delete chain.lines[0]!.signer
  verifyChain(chain)
})

test('the digest over all keys is the same for registered and loaded keys, and changes with a revocation', () => {
  const keys = new LedgerAgentKeys(providers)
  assert.equal(keys.digest, null)
  const chain = makeChain()
  const [first, second] = [makeSigner(), makeSigner()]
  const of = (line: { predicate: object }) => line.predicate as never
  const registered = (key: typeof first, endorsedBy?: typeof first) => {
    const { envelope } = chain.registerSigningKey(key, endorsedBy ? { endorsedBy } : { required: true })
    return of(parseStatement(parseEnvelope(fromBase64(envelope)).payload))
  }
  const { ledger, agent } = chain
  keys.register({ ledger, seq: 3 }, registered(first))
  const one = toHex(keys.digest!)
  keys.register({ ledger, seq: 4 }, registered(second, first))
  assert.notEqual(toHex(keys.digest!), one)
  keys.revoke({ agent, kid: second.kidHex }, 5)
  const loaded = new LedgerAgentKeys(providers)
  const rows = [
    { kid: second.kidHex, agent, key: second.key, required: false, registeredSeq: 4, revokedSeq: 5 },
    { kid: first.kidHex, agent, key: first.key, required: true, registeredSeq: 3, revokedSeq: null },
  ]
  loaded.load(rows)
  assert.deepEqual(loaded.digest, keys.digest)
  const other = new LedgerAgentKeys(providers)
  other.load(rows.map((row) => ({ ...row, revokedSeq: null })))
  assert.notDeepEqual(other.digest, keys.digest)
  assertRefused('key_not_current', () => loaded.refuse(second.kidHex), /belongs to an agent/)
  loaded.refuse('00')
})

test('signer keys of earlier lines are cached, up to 1,000 keys', () => {
  const findKey = () => null
  let hashed = 0
  const counting = (data: Uint8Array) => {
    hashed++
    return sha256(data)
  }
  const use = (key: ReturnType<typeof makeSigner>) => {
    const signer = { alg: 'EdDSA' as const, spki: toBase64(key.key.spki) }
    assert.ok(withSigner(findKey, { signer }, counting)(key.kidHex))
  }
  assert.equal(withSigner(findKey, {}, counting), findKey)
  const first = makeSigner()
  use(first)
  use(first)
  assert.equal(hashed, 1)
  for (let i = 0; i < 1_000; i++) use(makeSigner())
  use(first)
  assert.equal(hashed, 1_002)
})

test('refuses a line whose signedBy contradicts its signature, with line_contradicts_envelope', () => {
  for (const isAgentSigned of [true, false]) {
    verifySignerShown(isAgentSigned, isAgentSigned)
    refuses('line_contradicts_envelope', () => verifySignerShown(!isAgentSigned, isAgentSigned))
  }
})
