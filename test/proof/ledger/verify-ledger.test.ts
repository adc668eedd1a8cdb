import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex, toHex } from '../../../src/proof/bytes.ts'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import type { LedgerVerifierOptions } from '../../../src/proof/ledger/verify-ledger.ts'
import { merkleRoot } from '../../../src/proof/tree/merkle.ts'
import {
  makeChain,
  makeId,
  makeRecordIds,
  makeSigner,
  sha256,
  type TestChain,
} from '../../helpers/test-chain.ts'
import { makeGated } from '../../helpers/test-gated.ts'
import { receiptFileOf } from '../../helpers/test-proof.ts'
import { assertRefused, verifyChain } from '../../helpers/verify-chain.ts'

function refused(
  code: ProofErrorCode,
  build: (chain: TestChain) => unknown,
  options: LedgerVerifierOptions = {},
  pattern?: RegExp,
): void {
  const chain = makeChain()
  build(chain)
  assertRefused(code, () => verifyChain(chain, options), pattern)
}

test('accepts a ledger with every kind of entry, and returns its summary', () => {
  const chain = makeChain()
  chain.notarize()
  chain.registerType('order/1')
  chain.notarize({ type: 'order/1' })
  const batch = chain.notarizeBatch(7)
  chain.erase(batch, 3)
  const gated = makeGated(chain)
  gated.activate()
  const submitted = gated.submit()
  const verified = gated.verify()
  chain.erase(verified)
  chain.sayErased(submitted)
  const agent = makeId('agt')
  const key = makeId('key')
  chain.registerAgent(agent, 'agent')
  chain.createKey(key, agent)
  chain.revokeKey(key, agent)
  chain.disableAgent(agent)
  chain.rotateServerKey()
  chain.restore()
  chain.notarize()
  const summary = verifyChain(chain, { storedCheckpoints: [chain.checkpoint(5)], own: [chain.checkpoint()] })
  assert.deepEqual(
    { ...summary, kids: [...summary.kids] },
    {
      ledger: chain.ledger,
      size: chain.lines.length,
      records: 11,
      agentSigned: 0,
      statements: 0,
      chain: chain.lines.at(-1)!.chain,
      firstKid: chain.firstSigner.kidHex,
      currentKid: chain.signers.at(-1)!.kidHex,
      kids: chain.signers.map(({ kidHex }) => kidHex),
      outsideSize: 5,
      ownSize: chain.lines.length,
      witnessedSize: 0,
      ownReachesEnd: true,
    },
  )
})

test('accepts an empty ledger, and a ledger without agents and API keys', () => {
  assert.equal(verifyChain(makeChain({ empty: true })).size, 0)
  const bare = makeChain({ empty: true })
  bare.create()
  bare.notarize()
  assert.equal(verifyChain(bare).records, 1)
})

test('refuses missing, duplicate and reordered entries', () => {
  const remove = (chain: TestChain, at: number) => chain.lines.splice(at, 1)
  refused('seq_not_dense', (chain) => [chain.notarize(), chain.notarize(), remove(chain, 3)])
  refused('seq_not_dense', (chain) => chain.lines.push(chain.lines.at(-1)!))
  refused('seq_not_dense', (chain) => chain.lines.reverse())
  refused('seq_not_dense', (chain) => remove(chain, 0))
})

test('refuses a chain hash that does not match', () => {
  refused('chain_broken', (chain) => {
    chain.notarize().chain = 'ab'.repeat(32)
  })
  refused('chain_broken', (chain) => {
    const [a, b] = [chain.notarize(), chain.notarize()]
    chain.lines.splice(3, 2, { ...b, seq: a.seq }, { ...a, seq: b.seq })
  })
})

test('refuses a ledger that does not start with ledger-created, and a second ledger-created', () => {
  const headless = makeChain({ empty: true })
  headless.registerAgent()
  assertRefused('ledger_created_misplaced', () => verifyChain(headless))
  refused('ledger_created_misplaced', (chain) => chain.create())
})

test('refuses an entry of another ledger or issuer, even if signed by the same key', () => {
  refused('ledger_foreign', (chain) => chain.notarize({ ledger: makeId('led') }))
  refused('ledger_foreign', (chain) => {
    const entry = { kind: 'type-registered', subjects: [{ name: 'a/1', sha256: 'aa'.repeat(32) }] } as const
    chain.append({ ...entry, predicate: chain.acting(), issuer: 'https://other.example' })
  })
})

test('refuses an envelope key outside its range of the chain with key_not_current', () => {
  const code = 'key_not_current'
  refused(code, (chain) => {
    const [old] = chain.signers
    chain.rotateServerKey()
    const entry = { kind: 'type-registered', subjects: [{ name: 'a/1', sha256: 'aa'.repeat(32) }] } as const
    chain.append({ ...entry, predicate: chain.acting(), signer: old! })
  })
  refused(code, (chain) => {
    const next = makeSigner()
    chain.rotateServerKey(next, next)
  })
  refused(code, (chain) => [chain.rotateServerKey(), chain.rotateServerKey(chain.firstSigner)])
  const chain = makeChain({ empty: true })
  const other = makeSigner()
  chain.signers.push(other)
  chain.create()
  assertRefused(code, () => verifyChain(chain), /the current key of the ledger is/)
})

test('refuses the same envelope twice in one chain', () => {
  refused('duplicate_envelope', (chain) => repeat(chain, chain.registerType('a/1')))
  refused('duplicate_subject', (chain) => repeat(chain, chain.notarize()))
  refused('duplicate_subject', (chain) => repeat(chain, chain.notarizeBatch(2)))
})

/** Appends the same envelope again with a matching chain hash, as the database's owner could do. */
function repeat(chain: TestChain, line: TestChain['lines'][number]): void {
  const previous = fromHex(chain.lines.at(-1)!.chain)
  const linked = sha256(Uint8Array.of(2, ...previous, ...fromHex(line.leaf)))
  chain.lines.push({ ...line, seq: chain.lines.length, chain: toHex(linked) })
}

test('refuses a second creation of a record, batch, agent, key or type', () => {
  const code = 'duplicate_subject'
  const record = makeId('rec')
  const batch = makeId('bat')
  refused(code, (chain) => [chain.notarize({}, record), chain.notarize({}, record)])
  const records = makeRecordIds(2)
  refused(code, (chain) => [chain.notarize({}, records[1]), chain.notarizeBatch(2, { records })])
  refused(code, (chain) => [
    chain.notarizeBatch(2, { records }),
    chain.notarizeBatch(1, { records: records.slice(0, 1) }),
  ])
  refused(code, (chain) => [chain.notarizeBatch(1, { batch }), chain.notarizeBatch(2, { batch })])
  refused(code, (chain) => chain.registerAgent(chain.agent, 'twice'))
  refused(code, (chain) => chain.createKey(chain.key, chain.agent, { scopes: [] }))
  refused(code, (chain) => chain.registerType('task/1'))
  refused(code, (chain) => [chain.disableAgent(chain.agent), chain.disableAgent(chain.agent)])
  refused(code, (chain) => [chain.revokeKey(chain.key, chain.agent), chain.revokeKey(chain.key, chain.agent)])
})

test('refuses an unregistered actor and an API key that was not created before', () => {
  const agent = makeId('agt')
  refused('agent_not_registered', (chain) => chain.notarize(chain.acting(agent)))
  refused('agent_not_registered', (chain) => chain.notarize({ onBehalfOf: agent }))
  refused('agent_not_registered', (chain) => chain.notarizeBatch(2, { item: { onBehalfOf: agent } }))
  refused('agent_not_registered', (chain) => chain.createKey(makeId('key'), agent))
  refused('key_not_created', (chain) => chain.notarize({ key: makeId('key') }))
  refused('key_of_another_agent', (chain) => [
    chain.registerAgent(agent, 'other'),
    chain.notarize(chain.acting(agent)),
  ])
})

test('refuses entries by disabled agents and by revoked or expired keys, beyond the allowed clock lag', () => {
  const late = { recordedAt: '2026-11-20T12:10:00.000Z' }
  refused('agent_disabled', (chain) => [chain.disableAgent(chain.agent), chain.notarize(late)])
  refused('key_not_valid', (chain) => [chain.revokeKey(chain.key, chain.agent), chain.notarize(late)])
  refused('key_not_valid', (chain) => {
    const key = makeId('key')
    chain.createKey(key, chain.agent, { expiresAt: '2026-11-20T12:05:00.000Z' })
    chain.notarize({ ...late, key })
  })
  const soon = makeChain()
  soon.revokeKey(soon.key, soon.agent)
  soon.disableAgent(soon.agent)
  soon.notarize()
  verifyChain(soon)
})

test('refuses disabling or revoking an unknown agent or key with subject_unknown', () => {
  refused('subject_unknown', (chain) => chain.disableAgent(makeId('agt')))
  refused('subject_unknown', (chain) => chain.disableAgent(chain.agent, 'another name'))
  refused('subject_unknown', (chain) => chain.revokeKey(makeId('key'), chain.agent))
  refused('subject_unknown', (chain) => chain.revokeKey(chain.key, chain.agent, []))
})

test('refuses onBehalfOf, and granting a scope, by an API key without that scope', () => {
  const weak = (chain: TestChain) => {
    const key = makeId('key')
    chain.createKey(key, chain.agent, { scopes: ['keys:manage'] })
    return key
  }
  refused('actor_not_entitled', (chain) => {
    const key = weak(chain)
    chain.notarize({ key, onBehalfOf: chain.agent })
  })
  refused('actor_not_entitled', (chain) => {
    const by = { ...chain.acting(), key: weak(chain) }
    chain.createKey(makeId('key'), chain.agent, {
      scopes: ['records:write'],
      by: { ...by, ...chain.acting(), key: by.key },
    })
  })
  refused('actor_not_entitled', (chain) => {
    const predicate = { ...chain.system(), key: undefined }
    chain.notarizeBatch(1, {
      predicate: { ...predicate, actor: 'system' },
      item: { onBehalfOf: chain.agent },
    })
  })
})

test('refuses an unregistered type, and a gated record with another type digest, with type_unknown', () => {
  refused('type_unknown', (chain) => chain.notarize({ type: 'order/1' }))
  refused('type_unknown', (chain) => chain.notarizeBatch(2, { item: { type: 'order/1' } }))
  refused('type_unknown', (chain) => makeGated(chain, { typeDigest: '23'.repeat(32) }))
})

test('refuses a key rotation or restoration with another definition, and a restoration from another head', () => {
  const another = (chain: TestChain, kind: 'server-key-rotated' | 'ledger-restored', more: object) =>
    chain.append({
      kind,
      subjects: [{ name: chain.ledger, sha256: 'ab'.repeat(32) }],
      predicate: { ...chain.system(), ...more },
    })
  const head = { size: 3, chain: 'ab'.repeat(32) }
  refused('definition_mismatch', (chain) =>
    another(chain, 'server-key-rotated', { newKey: chain.definition.envelopeKey }),
  )
  refused('definition_mismatch', (chain) => another(chain, 'ledger-restored', { known: head, found: head }))
  refused('chain_broken', (chain) => chain.restore({ size: 3, chain: 'ab'.repeat(32) }))
  refused('chain_broken', (chain) => chain.restore({ size: 2, chain: chain.lines.at(-1)!.chain }))
})

test('refuses a missing document that no entry explains, with erasure_unexplained', () => {
  const gone = (line: TestChain['lines'][number], erasedBy: number) =>
    Object.assign(line.documents[0]!, { salt: null, document: null, erasedBy })
  const code = 'erasure_unexplained'
  refused(code, (chain) => gone(chain.notarize(), 9), {}, /beyond the end/)
  refused(code, (chain) => gone(chain.notarize(), 3), {}, /before it existed/)
  refused(code, (chain) => [gone(chain.notarize(), 4), chain.notarize()], {}, /not an erasure/)
  refused(
    code,
    (chain) => {
      const [a, b] = [chain.notarize(), chain.notarize()]
      chain.erase(a)
      gone(b, 5)
    },
    {},
    /another document/,
  )
  refused(
    code,
    (chain) => {
      const [a, b] = [chain.notarize(), chain.notarize()]
      gone(b, chain.sayErased(a).seq)
    },
    {},
    /not rec_/,
  )
})

test('onErasure gets the time of each erasure, and whether the document is still stored', () => {
  const chain = makeChain()
  const [gone, waiting] = [chain.notarize(), chain.notarize()]
  const erasures = [chain.erase(gone), chain.sayErased(waiting)]
  const told: [number, boolean][] = []
  verifyChain(chain, { onErasure: (atMs, isStored) => told.push([atMs, isStored]) })
  assert.deepEqual(
    told,
    erasures.map(({ recordedAt }, i) => [Date.parse(recordedAt), i === 1]),
  )
})

test('refuses an erasure of nothing, and a second erasure', () => {
  const code = 'erasure_of_nothing'
  refused(code, (chain) => chain.sayErased(chain.notarize(), 0, { seq: 1 }))
  refused(code, (chain) => chain.sayErased(chain.notarize(), 0, { sha256: 'ab'.repeat(32) }))
  const erasure = (chain: TestChain, name: string, seq = 3) =>
    chain.append({
      kind: 'payload-erased',
      subjects: [{ name, sha256: 'ab'.repeat(32) }],
      predicate: { ...chain.acting(), seq, code: 'gdpr' },
    })
  refused(code, (chain) => erasure(chain, makeId('rec')))
  refused(code, (chain) => erasure(chain, `${makeId('cmp')}/values`))
  refused('duplicate_subject', (chain) => {
    const line = chain.notarize()
    chain.erase(line)
    chain.sayErased(line)
  })
  refused(code, (chain) => {
    const gated = makeGated(chain)
    return erasure(chain, `${gated.record}/reason`, gated.last().seq)
  })
})

test('refuses a ledger that does not extend a checkpoint', () => {
  const kept = (note: (chain: TestChain) => string, code: ProofErrorCode, pattern?: RegExp) => {
    const chain = makeChain()
    chain.notarize()
    assertRefused(code, () => verifyChain(chain, { storedCheckpoints: [note(chain)] }), pattern)
    assertRefused(code, () => verifyChain(chain, { own: [note(chain)] }))
  }
  const zeros = new Uint8Array(32)
  kept(
    (chain) => chain.checkpoint(3, { root: zeros }),
    'checkpoint_mismatch',
    /stored checkpoint names the root \w+ for the first 3 entries/,
  )
  kept((chain) => chain.checkpoint(3, { chain: zeros }), 'checkpoint_mismatch', /chain hash/)
  kept((chain) => chain.checkpoint(0, { root: merkleRoot(sha256, []) }), 'checkpoint_mismatch', /size 0/)
  kept((chain) => chain.checkpoint(3, { signer: makeSigner() }), 'note_unsigned')
  kept(() => makeChain().checkpoint(), 'checkpoint_foreign')
  kept(
    (chain) => chain.checkpoint(5, { root: zeros, chain: zeros }),
    'checkpoint_beyond_chain',
    /5 entries, but the chain has 4/,
  )
  assertRefused('checkpoint_beyond_chain', () =>
    verifyChain(makeChain({ empty: true }), { storedCheckpoints: [makeChain().checkpoint()] }),
  )
})

test('refuses a ledger that contradicts a stored receipt in its entry or its tree', () => {
  const chain = makeChain()
  const batch = chain.notarizeBatch(3)
  while (chain.lines.length < 9) chain.notarize()
  const receipts = [
    receiptFileOf(chain, batch, { size: 7, item: 1 }),
    receiptFileOf(chain, batch, { size: 5, item: 2 }),
    receiptFileOf(chain, chain.lines[5]!, { size: 9 }),
  ]
  const options = { storedReceipts: receipts }
  assert.equal(verifyChain(chain, options).outsideSize, 9)

  const changed = receipts[0]!.slice()
  changed[Buffer.from(changed).indexOf('"digest":"') + 10]! ^= 1
  assertRefused(/merkle_path|batch_item/, () => verifyChain(chain, { storedReceipts: [changed] }))
  chain.forget()
  assertRefused('checkpoint_beyond_chain', () => verifyChain(chain, options), /a receipt covers 9 entries/)
  chain.notarize()
  assertRefused(
    'receipt_mismatch',
    () => verifyChain(chain, options),
    /a receipt names the root \w+ for the first 9 entries/,
  )
  while (chain.lines.length > 5) chain.forget()
  while (chain.lines.length < 9) chain.notarize()
  assertRefused('receipt_mismatch', () => verifyChain(chain, options), /issued for another entry at seq 5/)
})

test('refuses a receipt of another ledger, and a receipt for an empty ledger', () => {
  const other = makeChain()
  const storedReceipts = [receiptFileOf(other, other.lines[1]!)]
  refused('checkpoint_foreign', () => {}, { storedReceipts })
  refused('receipt_syntax', () => {}, { storedReceipts: [new Uint8Array(50_000)] })
  assertRefused('checkpoint_beyond_chain', () => verifyChain(makeChain({ empty: true }), { storedReceipts }))
})

test('compares several checkpoints, in any order', () => {
  const chain = makeChain()
  for (let i = 0; i < 20; i++) chain.notarize()
  const sizes = [7, 3, 20, 3, 11, 1]
  const { outsideSize, ownSize } = verifyChain(chain, {
    storedCheckpoints: sizes.map((size) => chain.checkpoint(size)),
  })
  assert.deepEqual([outsideSize, ownSize], [20, 0])
  const wrong = chain.checkpoint(11, { root: new Uint8Array(32) })
  assertRefused('checkpoint_mismatch', () =>
    verifyChain(chain, { storedCheckpoints: [chain.checkpoint(20), wrong, chain.checkpoint(3)] }),
  )
})

test('detects a cut-off tail only with a stored checkpoint', () => {
  const chain = makeChain()
  for (let i = 0; i < 5; i++) chain.notarize()
  const kept = chain.checkpoint()
  chain.lines.splice(-2)
  verifyChain(chain)
  assertRefused('checkpoint_beyond_chain', () => verifyChain(chain, { storedCheckpoints: [kept] }))
})

test('accepts entries under a compromised key only as far as a stored checkpoint covers them', () => {
  const chain = makeChain()
  chain.notarize()
  chain.rotateServerKey()
  chain.notarize()
  const compromised = new Map([[chain.firstSigner.kidHex, null]])
  assertRefused('key_compromised', () => verifyChain(chain, { compromised }), /up to seq 4/)
  assertRefused('key_compromised', () =>
    verifyChain(chain, {
      compromised,
      storedCheckpoints: [chain.checkpoint(4)],
      own: [chain.checkpoint()],
    }),
  )
  verifyChain(chain, { compromised, storedCheckpoints: [chain.checkpoint(5)] })
})

test('onNode gets every perfect subtree when complete', () => {
  const chain = makeChain()
  for (let i = 0; i < 13; i++) chain.notarize()
  const nodes = new Map<string, string>()
  verifyChain(chain, { onNode: (level, index, hash) => nodes.set(`${level}/${index}`, toHex(hash)) })
  const leaves = chain.lines.map(({ leaf }) => fromHex(leaf))
  assert.equal(nodes.get('4/0'), toHex(merkleRoot(sha256, leaves)))
  assert.equal(nodes.get('2/1'), toHex(merkleRoot(sha256, leaves.slice(4, 8))))
  assert.equal(nodes.size, 15)
})
