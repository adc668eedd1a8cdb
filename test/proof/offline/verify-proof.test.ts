import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toBase64 } from '../../../src/proof/bytes.ts'
import { parseConsistencyProof, parseEntryProof } from '../../../src/proof/offline/entry-proof.ts'
import { type ProofTrust, verifyProof } from '../../../src/proof/offline/verify-proof.ts'
import { formatVerifierKey } from '../../../src/proof/tree/checkpoint.ts'
import { makeChain, makeId, makeSigner, providers, sha256, type TestChain } from '../../helpers/test-chain.ts'
import { consistencyOf, proofOf, verifierKeyOf } from '../../helpers/test-proof.ts'
import { refuses } from '../refuses.ts'

const NOTHING: ProofTrust = { kids: [], noteKey: null, storedCheckpoints: [], consistency: null }

const verify = (proof: object, trust: Partial<ProofTrust> = {}) =>
  verifyProof(parseEntryProof(JSON.stringify(proof)), { ...NOTHING, ...trust }, providers)

function makeLedger(records = 6): TestChain {
  const chain = makeChain()
  for (let i = 0; i < records; i++) chain.notarize()
  return chain
}

test('every entry of a ledger has a valid proof under every checkpoint that covers it', () => {
  const chain = makeLedger()
  chain.rotateServerKey()
  chain.notarize()
  for (const line of chain.lines) {
    for (let size = line.seq + 1; size <= chain.lines.length; size++) {
      const { seq, checkpoint, statement, item, stored } = verify(proofOf(chain, line, { size }))
      assert.deepEqual(
        [seq, checkpoint.size, statement.kind, item, stored],
        [line.seq, size, line.kind, null, null],
      )
    }
  }
})

test('refuses a JSON proof of a registered statement with proof_syntax', () => {
  const chain = makeLedger()
  const proof = proofOf(chain, chain.lines[3]!)
  refuses('proof_syntax', () => verify({ ...proof, entry: { ...proof.entry, kind: 'statement' } }))
})

describe('an entry signed by its agent', () => {
  const chain = makeLedger()
  const [key, other] = [makeSigner(), makeSigner()]
  const registration = chain.registerSigningKey(key)
  const line = chain.notarize({}, undefined, undefined, key)
  const proof = proofOf(chain, line, { registration })

  test('verifies with the registration of the agent’s key; either kid may be trusted', () => {
    assert.deepEqual([verify(proof).signedBy, verify(proof).kid], ['agent', key.kidHex])
    for (const kid of [key.kidHex, chain.firstSigner.kidHex])
      assert.equal(verify(proof, { kids: [kid] }).signedBy, 'agent')
    refuses('trusted_key_absent', () => verify(proof, { kids: [other.kidHex] }))
    assert.equal(verify(proofOf(chain, chain.lines[4]!)).signedBy, 'server')
  })

  test('is refused without the registration, or with another registration', () => {
    refuses('key_unknown', () => verify(proofOf(chain, line)))
    refuses('key_unknown', () => verify({ ...proof, registration: makeForeign(key) }))
    refuses('proof_contradicts_entry', () => verify({ ...proof, registration: chain.lines[1]!.envelope }))
    const wrong = { proof: toBase64(other.sign(new Uint8Array(1))) }
    const unproven = chain.registerSigningKey(key, { wrong }).envelope
    refuses('agent_key_refused', () => verify({ ...proof, registration: unproven }))
    const ofOther = chain.registerSigningKey(other, { endorsedBy: key }).envelope
    refuses('key_unknown', () => verify({ ...proof, registration: ofOther }))
    const elsewhere = makeChain({ signer: chain.firstSigner }).registerSigningKey(key).envelope
    refuses('ledger_foreign', () => verify({ ...proof, registration: elsewhere }))
  })

  test('is refused with a key of another agent, and for a kind that agents do not sign', () => {
    const agent = makeId('agt')
    const stolen = chain.registerSigningKey(key, { of: agent })
    refuses('key_of_another_agent', () => verify({ ...proof, registration: stolen.envelope }))
    const administrative = chain.registerSigningKey(makeSigner(), { own: key })
    refuses('actor_not_entitled', () => verify(proofOf(chain, administrative, { registration })))
  })

  test('under a compromised server key is accepted only with a covering stored checkpoint', () => {
    const compromised = new Map([[chain.firstSigner.kidHex, null]])
    refuses('key_compromised', () => verify(proof, { compromised }))
    verify(proof, { compromised, storedCheckpoints: [chain.checkpoint(proof.treeSize)] })
  })

  function makeForeign(of: ReturnType<typeof makeSigner>): string {
    return makeChain({ ledger: chain.ledger }).registerSigningKey(of).envelope
  }
})

test('every item of a batch has a valid proof at its index', () => {
  const chain = makeLedger()
  for (const count of [1, 2, 5]) {
    const line = chain.notarizeBatch(count)
    for (let i = 0; i < count; i++) {
      const { item } = verify(proofOf(chain, line, { item: i }))
      assert.deepEqual(item, line.items![i])
    }
  }
})

test('trusted kids and note key of the caller are required to match', () => {
  const chain = makeLedger()
  const proof = proofOf(chain, chain.lines[4]!)
  const kid = chain.firstSigner.kidHex
  const noteKey = verifierKeyOf(chain)
  assert.equal(verify(proof, { kids: ['00'.repeat(32), kid], noteKey }).kid, kid)
  refuses('trusted_key_absent', () => verify(proof, { kids: ['00'.repeat(32)] }))
  refuses('trusted_key_absent', () => verify(proof, { noteKey: verifierKeyOf(makeChain()) }))
})

test('any change of signed content is refused', () => {
  const chain = makeLedger()
  const line = chain.notarizeBatch(3)
  const proof = proofOf(chain, line, { item: 1 })
  const other = proofOf(chain, chain.lines[4]!)
  const changes: [code: RegExp, changed: object][] = [
    [
      /^signature_invalid$/,
      { ...proof, entry: { ...proof.entry, envelope: flipLast(proof.entry.envelope) } },
    ],
    [/^line_contradicts_envelope$/, { ...proof, entry: { ...proof.entry, leaf: other.entry.leaf } }],
    [/^line_contradicts_envelope$/, { ...proof, entry: { ...proof.entry, kind: 'record-notarized' } }],
    [/^chain_broken$/, { ...proof, entry: { ...proof.entry, chain: other.entry.chain } }],
    [/^proof_contradicts_entry$/, { ...proof, entry: { ...proof.entry, seq: 3 } }],
    [/^proof_contradicts_entry$/, { ...proof, index: 3 }],
    [/^proof_contradicts_entry$/, { ...proof, treeSize: proof.treeSize + 1 }],
    [/^merkle_path$/, { ...proof, path: proof.path.slice(1) }],
    [/^merkle_path$/, { ...proof, entry: { ...proof.entry, seq: 8 }, index: 8 }],
    [/^merkle_range$/, { ...proof, entry: { ...proof.entry, seq: 10 }, index: 10 }],
    [/^signature_invalid$/, { ...proof, checkpoint: proof.checkpoint.replace('\n10\n', '\n11\n') }],
    [/^ledger_foreign$/, { ...proof, ledger: { ...proof.ledger, id: makeId('led') } }],
    [/^ledger_foreign$/, { ...proof, ledger: { ...proof.ledger, issuer: 'https://other.example' } }],
    [/^ledger_foreign$/, { ...proof, ledger: { ...proof.ledger, origin: 'ledger.example/x' } }],
    [/^checkpoint_foreign$/, { ...proof, ledger: { ...proof.ledger, origin: `other/${chain.ledger}` } }],
    [/^verifier_key$/, { ...proof, ledger: { ...proof.ledger, noteVerifierKey: 'x' } }],
    [/^key_unknown$/, { ...proof, keys: [] }],
    [/^kid_mismatch$/, { ...proof, keys: [{ ...proof.keys[0], spki: toBase64(makeSigner().key.spki) }] }],
    [/^bad_key$/, { ...proof, keys: [{ ...proof.keys[0], spki: '' }] }],
    [/^merkle_path$/, { ...proof, item: { ...proof.item, index: 0 } }],
    [/^merkle_path$/, { ...proof, item: { ...proof.item, item: line.items![2] } }],
    [/^batch_item$/, { ...proof, item: { ...proof.item, item: { ...line.items![1], more: 1 } } }],
    [/^batch_contradicts_statement$/, { ...proof, item: { ...proof.item, count: 4 } }],
    [/^batch_contradicts_statement$/, { ...other, item: proof.item }],
  ]
  for (const [code, changed] of changes) refuses(code, () => verify(changed))
})

test('refuses an entry of another ledger under the same key, and an entry in another ledger’s tree', () => {
  const signer = makeSigner()
  const [chain, other] = [makeChain({ signer }), makeChain({ signer })]
  for (const ledger of [chain, other]) ledger.notarize()
  const proof = proofOf(chain, chain.lines[3]!)
  const foreign = proofOf(other, other.lines[3]!)
  refuses('ledger_foreign', () => verify({ ...foreign, entry: proof.entry }))
  refuses('checkpoint_foreign', () => verify({ ...proof, checkpoint: foreign.checkpoint }))
  // A dishonest operator signs under the ledger's name with another note key. A reader that knows the real key detects
  // the false key.
  const liar = makeChain({ ledger: chain.ledger, signer })
  liar.notarize()
  const lie = proofOf(liar, liar.lines[3]!)
  verify(lie)
  refuses('trusted_key_absent', () => verify(lie, { noteKey: verifierKeyOf(chain) }))
  const disguised = { ...lie, ledger: { ...lie.ledger, noteVerifierKey: verifierKeyOf(chain) } }
  refuses('note_unsigned', () => verify(disguised, { noteKey: verifierKeyOf(chain) }))
})

describe('a stored checkpoint', () => {
  const chain = makeLedger(10)
  const line = chain.lines[5]!
  const proof = proofOf(chain, line, { size: 9 })
  const consistency = (from: number, to: number) =>
    parseConsistencyProof(JSON.stringify(consistencyOf(chain, from, to)))

  test('of the proof’s own size must have the same root and chain hash', () => {
    const storedCheckpoints = [7, 9].map((size) => chain.checkpoint(size))
    assert.equal(verify(proof, { storedCheckpoints }).stored!.size, 9)
    const forged = { root: sha256(new Uint8Array(1)) }
    for (const changes of [forged, { chain: forged.root }]) {
      const kept = [chain.checkpoint(9), chain.checkpoint(9, changes)]
      refuses('checkpoint_mismatch', () => verify(proof, { storedCheckpoints: kept }))
    }
  })

  test('of another size needs a consistency proof; the error names from and to', () => {
    for (const [size, needed] of [
      [7, 'from=7&to=9'],
      [12, 'from=9&to=12'],
    ] as const) {
      const storedCheckpoints = [chain.checkpoint(4), chain.checkpoint(size)]
      const [, from, to] = /from=(\d+)&to=(\d+)/.exec(needed)!.map(Number)
      assert.throws(
        () => verify(proof, { storedCheckpoints }),
        new RegExp(`^ProofError: consistency_missing.*${needed}`),
      )
      const wrong = consistency(from! - 1, to!)
      refuses('consistency_missing', () => verify(proof, { storedCheckpoints, consistency: wrong }))
      const shorter = consistency(from!, to! - 1)
      refuses('consistency_missing', () => verify(proof, { storedCheckpoints, consistency: shorter }))
      const joined = verify(proof, { storedCheckpoints, consistency: consistency(from!, to!) })
      assert.equal(joined.stored!.size, size)
    }
  })

  test('with an inconsistent root is refused with merkle_path', () => {
    const root = sha256(new Uint8Array(1))
    for (const [from, to, size] of [
      [7, 9, 7],
      [9, 12, 12],
    ] as const) {
      const storedCheckpoints = [chain.checkpoint(size, { root })]
      refuses('merkle_path', () => verify(proof, { storedCheckpoints, consistency: consistency(from, to) }))
    }
  })

  test('of another ledger, or not signed by the note key, is refused', () => {
    refuses('checkpoint_foreign', () => verify(proof, { storedCheckpoints: [makeLedger().checkpoint()] }))
    const unsigned = chain.checkpoint(9, { signer: makeSigner() })
    refuses('note_unsigned', () => verify(proof, { storedCheckpoints: [unsigned] }))
  })

  test('must cover an entry under a key that the proof marks as compromised', () => {
    const compromisedAt = '2026-11-21T00:00:00.000Z'
    const keys = [{ ...proof.keys[0]!, compromisedAt }]
    refuses('key_compromised', () => verify({ ...proof, keys }))
    const early = { storedCheckpoints: [chain.checkpoint(5)], consistency: consistency(5, 9) }
    verify(proof, early)
    refuses('key_compromised', () => verify({ ...proof, keys }, early))
    const late = { storedCheckpoints: [chain.checkpoint(6)], consistency: consistency(6, 9) }
    assert.equal(verify({ ...proof, keys }, late).stored!.size, 6)
    const another = { ...proof.keys[0]!, kid: '00'.repeat(32), compromisedAt }
    refuses('kid_mismatch', () => verify({ ...proof, keys: [...proof.keys, another] }))
  })

  test('is required for a key that the caller marks as compromised, from the compromise on', () => {
    const { kid } = proof.keys[0]!
    const covered = { storedCheckpoints: [chain.checkpoint(9)] }
    const atMs = Date.parse(chain.lines[proof.entry.seq]!.recordedAt)
    const known = (sinceMs: number | null) => ({ compromised: new Map([[kid, sinceMs]]) })
    refuses('key_compromised', () => verify(proof, known(null)))
    verify(proof, { ...known(null), ...covered })
    verify(proof, { ...known(atMs + 1), ...covered })
    refuses('key_compromised', () => verify(proof, { ...known(atMs), ...covered }))
  })
})

test('refuses a note key whose name is not the ledger’s origin, with checkpoint_foreign', () => {
  const chain = makeLedger()
  const origin = `elsewhere/${chain.ledger}`
  const noteVerifierKey = formatVerifierKey(origin, chain.noteSigner.key.raw, sha256)
  const proof = proofOf(chain, chain.lines[4]!)
  refuses('checkpoint_foreign', () => verify({ ...proof, ledger: { ...proof.ledger, noteVerifierKey } }))
})

function flipLast(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  bytes[bytes.length - 1]! ^= 1
  return toBase64(bytes)
}
