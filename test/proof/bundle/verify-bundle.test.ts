import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import { parseConsistencyProof } from '../../../src/proof/offline/entry-proof.ts'
import type { ProofTrust } from '../../../src/proof/offline/verify-proof.ts'
import { parseWitnessPolicy } from '../../../src/proof/tree/cosignature.ts'
import { pushStatement, register, setPolicy } from '../../helpers/chain-statements.ts'
import { makeCosigners } from '../../helpers/cosigners.ts'
import { makeIssuer, signStatement } from '../../helpers/signed-statements.ts'
import { bundleTexts, rangeOf, selectionOf, type TestBundle, verifyTexts } from '../../helpers/test-bundle.ts'
import {
  makeChain,
  makeId,
  makeRecordIds,
  makeSigner,
  saltDocument,
  sha256,
  type TestLine,
} from '../../helpers/test-chain.ts'
import { makeGated } from '../../helpers/test-gated.ts'
import { consistencyOf, verifierKeyOf } from '../../helpers/test-proof.ts'
import { refuses } from '../refuses.ts'

const verify = (bundle: TestBundle, trust: Partial<ProofTrust> = {}) =>
  verifyTexts(bundleTexts(bundle), trust)

function changed(bundle: TestBundle, change: (copy: TestBundle) => unknown): TestBundle {
  const copy = structuredClone(bundle)
  change(copy)
  return copy
}

const refusesAfter = (
  code: ProofErrorCode | RegExp,
  bundle: TestBundle,
  change: (copy: TestBundle) => unknown,
  trust: Partial<ProofTrust> = {},
) => refuses(code, () => verify(changed(bundle, change), trust))

const subjectOf = (line: TestLine) => line.documents[0]!.subject
const range = (copy: TestBundle) => (copy.head['of'] as { range: Record<string, unknown> }).range

/**
 * Makes a ledger of 18 entries. The 7th is a rotation, the 9th a batch of three. The payloads of the 6th entry and of
 * one record of the batch are erased.
 */
function makeLedger() {
  const chain = makeChain()
  for (let i = 0; i < 3; i++) chain.notarize()
  chain.rotateServerKey()
  chain.notarize()
  chain.notarizeBatch(3, { references: ['order:1'] })
  for (let i = 0; i < 3; i++) chain.notarize()
  const erasures = [chain.erase(chain.lines[5]!), chain.erase(chain.lines[8]!, 1)]
  for (let i = 0; i < 4; i++) chain.notarize()
  return { chain, erasures }
}

describe('a range', () => {
  const { chain, erasures } = makeLedger()
  const size = chain.lines.length
  const middle = rangeOf(chain, { from: 5, to: 9 }, { beside: erasures })

  test('verifies, wherever it begins and ends, in trees of several sizes', () => {
    for (const size of [1, 2, 3, 7, 8, 16, 18]) {
      for (let from = 0; from < size; from++) {
        for (let to = from; to < size; to++) {
          const holds = (seq: number) => from <= seq && seq <= to
          // An erasure can be shown only if the tree contains the erasure's entry.
          if ((holds(5) || holds(8)) && size < 14) continue
          const beside = erasures.filter((_, i) => holds([5, 8][i]!))
          const { of, completeness, entries } = verify(rangeOf(chain, { from, to }, { size, beside }))
          assert.deepEqual([of, completeness, entries], [{ from, to }, 'complete', to - from + 1])
        }
      }
    }
  })

  test('says what it rests on', () => {
    const own = verify(middle)
    assert.deepEqual(own, {
      ledger: chain.ledger,
      of: { from: 5, to: 9 },
      completeness: 'complete',
      entries: 5,
      ofEntries: null,
      agentSigned: 0,
      statements: 0,
      issuersJudged: 0,
      records: null,
      documents: 'all',
      erased: 2,
      treeSize: size,
      keys: 'self-asserted',
      firstKid: chain.firstSigner.kidHex,
      noteKey: 'self-asserted',
      checkpoint: 'own',
      covered: size,
      cosigned: null,
      unknownCosignatures: null,
    })
    const consistency = parseConsistencyProof(JSON.stringify(consistencyOf(chain, 10, size)))
    const given = verify(middle, {
      kids: chain.signers.map(({ kidHex }) => kidHex),
      noteKey: verifierKeyOf(chain),
      storedCheckpoints: [chain.checkpoint(10)],
      consistency,
    })
    assert.deepEqual(given, { ...own, keys: 'given', noteKey: 'given', checkpoint: 'given', covered: 10 })
    const tooOld = parseConsistencyProof(JSON.stringify(consistencyOf(chain, 9, size)))
    const older = verify(middle, { storedCheckpoints: [chain.checkpoint(9)], consistency: tooOld })
    assert.deepEqual([older.checkpoint, older.covered], ['own', size])
  })

  test('says how many of the witnesses cosigned its checkpoint', () => {
    const { vkeys, cosigned } = makeCosigners(3)
    const witnesses = parseWitnessPolicy(vkeys, 2, sha256)
    const cosignedBy = (...by: number[]) =>
      changed(middle, ({ head }) => {
        head['checkpoint'] = cosigned(chain.checkpoint(), ...by)
      })
    for (const by of [[], [1], [0, 2]])
      assert.equal(verify(cosignedBy(...by), { witnesses }).cosigned, by.length)
    refuses('signature_invalid', () =>
      verify(
        changed(middle, ({ head }) => {
          const early = chain.checkpoint(9)
          head['checkpoint'] = chain.checkpoint() + cosigned(early, 0).slice(early.length)
        }),
        { witnesses },
      ),
    )
  })

  test('verifies without documents', () => {
    const withheld = changed(middle, ({ head, lines }) => {
      head['documents'] = 'withheld'
      for (const { documents } of lines)
        for (const document of documents as Record<string, unknown>[]) {
          Object.assign(document, { salt: null, document: null })
          delete document['references']
        }
    })
    assert.equal(verify(withheld).documents, 'withheld')
    refusesAfter('document_presence', withheld, ({ head }) => {
      head['documents'] = 'all'
    })
  })

  test('from which an entry was left out is refused', () => {
    const last = rangeOf(chain, { from: 14, to: 16 })
    const at = last.lines.findIndex(({ seq }) => seq === 15)
    const cut = (copy: TestBundle) => copy.lines.splice(at, 1)
    refusesAfter('seq_not_dense', last, cut)
    // Removes a line and renumbers the lines after it.
    const renumbered = (copy: TestBundle) => {
      cut(copy)
      for (const line of copy.lines.slice(at)) line['seq'] = (line['seq'] as number) - 1
      copy.end = { entries: copy.lines.length }
    }
    refusesAfter('bundle_incomplete', last, renumbered)
    refusesAfter('merkle_path', last, (copy) => {
      renumbered(copy)
      range(copy)['to'] = 15
    })
  })

  test('that was cut off is refused, at its beginning, its end, or in its last line', () => {
    refusesAfter('bundle_incomplete', middle, (copy) => copy.lines.pop())
    refusesAfter('bundle_incomplete', middle, (copy) => {
      copy.end = copy.lines.pop()
    })
    refuses('bundle_incomplete', () => verifyTexts(bundleTexts(middle).slice(0, 1)))
    refuses('bundle_incomplete', () => verifyTexts([bundleTexts(middle)[0]!, '{"entries":0}']))
    // The next two cases remove a line and change the count in the last line to match.
    const last = rangeOf(chain, { from: 14, to: 16 })
    refusesAfter('bundle_incomplete', last, (copy) => {
      copy.lines.pop()
      copy.end = { entries: copy.lines.length }
    })
    refusesAfter('seq_not_dense', last, (copy) => {
      copy.lines.splice(copy.lines.length - 3, 1)
      copy.end = { entries: copy.lines.length }
    })
    for (const end of [null, {}, { entries: -1 }, { entries: 1, more: 1 }, 'x'])
      refusesAfter('bundle_incomplete', last, (copy) => {
        copy.end = end
      })
  })

  test('whose entries are in another order is refused', () => {
    const at = middle.lines.findIndex(({ seq }) => seq === 8)
    const swap = (copy: TestBundle) => copy.lines.splice(at, 2, copy.lines[at + 1]!, copy.lines[at]!)
    refusesAfter('seq_not_dense', middle, swap)
    const last = rangeOf(chain, { from: 14, to: 16 })
    refusesAfter('merkle_path', last, ({ lines }) => {
      const [a, b] = lines.slice(-2) as [Record<string, unknown>, Record<string, unknown>]
      lines.splice(-2, 2, { ...b, seq: a['seq'] }, { ...a, seq: b['seq'] })
    })
    refusesAfter('seq_not_dense', middle, ({ lines }) => lines.push(lines[1]!))
  })

  test('with any hash of its tree changed, missing or more is refused', () => {
    for (const side of ['left', 'right'] as const) {
      const hashes = range(middle)[side] as string[]
      assert.ok(hashes.length > 0)
      for (const i of hashes.keys())
        refusesAfter('merkle_path', middle, (copy) => {
          ;(range(copy)[side] as string[])[i] = '00'.repeat(32)
        })
      refusesAfter(/^merkle_/, middle, (copy) => (range(copy)[side] as string[]).pop())
      refusesAfter(/^merkle_/, middle, (copy) => (range(copy)[side] as string[]).push('00'.repeat(32)))
    }
  })

  test('with an older, foreign or changed checkpoint is refused', () => {
    refusesAfter('checkpoint_too_old', middle, ({ head }) => {
      head['checkpoint'] = chain.checkpoint(9)
    })
    refusesAfter('merkle_path', middle, ({ head }) => {
      head['checkpoint'] = chain.checkpoint(size - 1)
    })
    refusesAfter('checkpoint_foreign', middle, ({ head }) => {
      head['checkpoint'] = makeChain().checkpoint()
    })
    refusesAfter('signature_invalid', middle, ({ head }) => {
      head['checkpoint'] = String(head['checkpoint']).replace('\n18\n', '\n17\n')
    })
    refusesAfter('note_unsigned', middle, ({ head }) => {
      head['checkpoint'] = chain.checkpoint(size, { signer: makeSigner() })
    })
  })

  test('with a changed document, or a document missing without erasure, is refused', () => {
    const documentOf = (copy: TestBundle, seq: number) =>
      (copy.lines.find((line) => line['seq'] === seq)!['documents'] as Record<string, unknown>[])[0]!
    refusesAfter('document_digest', middle, (copy) => {
      documentOf(copy, 7)['document'] = { n: 8 }
    })
    refusesAfter('document_presence', middle, (copy) =>
      Object.assign(documentOf(copy, 7), { document: null, salt: null }),
    )
    refusesAfter('erasure_unexplained', middle, (copy) =>
      Object.assign(documentOf(copy, 7), { document: null, salt: null, erasedBy: 15 }),
    )
    refusesAfter('erasure_unexplained', middle, (copy) => {
      copy.lines.pop()
      copy.end = { entries: copy.lines.length }
    })
    // Returns the bundle of a range with an additional entry, which the range does not need: an erasure of another
    // entry, or an entry that is not an erasure.
    const more = (line: TestLine) => rangeOf(chain, { from: 9, to: 10 }, { beside: [line] })
    refuses('entry_unrelated', () => verify(more(erasures[0]!)))
    refuses('entry_unrelated', () => verify(more(chain.lines[16]!)))
    refuses('entry_unrelated', () => verify(more(chain.lines[1]!)))
  })
})

describe('the keys of a bundle', () => {
  const { chain } = makeLedger()
  const bundle = rangeOf(chain, { from: 14, to: 16 })

  test('begin with the ledger’s definition, otherwise ledger_created_misplaced', () => {
    refusesAfter('ledger_created_misplaced', bundle, ({ lines }) => lines.shift())
    refusesAfter('ledger_created_misplaced', bundle, ({ lines }) => lines.push(lines[0]!))
    refusesAfter('merkle_path', bundle, ({ lines }) => {
      ;(lines[0]!['path'] as string[])[0] = '00'.repeat(32)
    })
  })

  test('change only by rotation entries, otherwise key_not_current', () => {
    refusesAfter('key_not_current', bundle, ({ lines }) => lines.splice(1, 1))
    const early = rangeOf(chain, { from: 3, to: 5 }, { beside: [chain.lines[12]!] })
    refusesAfter('key_not_current', early, ({ lines }) => {
      lines.splice(4, 1)
    })
  })

  test('must include each trusted key, and only keys that the chain names', () => {
    const stranger = makeSigner().kidHex
    refuses('trusted_key_absent', () => verify(bundle, { kids: [stranger] }))
    refuses('trusted_key_absent', () => verify(bundle, { noteKey: verifierKeyOf(makeChain()) }))
    const later = verify(bundle, { kids: [chain.signers[1]!.kidHex] })
    assert.equal(later.keys, 'self-asserted', 'a later key never signed what lies before it')
    const [other] = makeChain().keys()
    refusesAfter('key_not_current', bundle, ({ head }) => {
      const { kid, alg, spki, compromisedAt } = other!
      ;(head['keys'] as object[]).push({ kid, alg, spki, compromisedAt })
    })
    refusesAfter('kid_mismatch', bundle, ({ head }) => {
      ;(head['keys'] as Record<string, unknown>[])[0]!['spki'] = other!.spki
    })
    refusesAfter('key_unknown', bundle, ({ head }) => (head['keys'] as object[]).pop())
  })

  test('count after a compromise only for entries under a stored checkpoint', () => {
    const compromised = changed(bundle, ({ head }) => {
      ;(head['keys'] as Record<string, unknown>[])[1]!['compromisedAt'] = '2026-11-21T12:00:00.000Z'
    })
    refuses('key_compromised', () => verify(compromised))
    assert.equal(verify(compromised, { storedCheckpoints: [chain.checkpoint()] }).checkpoint, 'given')
    const known = new Map([[chain.signers[1]!.kidHex, Date.parse('2026-11-20T12:00:15.000Z')]])
    refuses('key_compromised', () =>
      verify(bundle, { compromised: known, storedCheckpoints: [chain.checkpoint()] }),
    )
  })

  test('may sign several ledgers, but entries of another ledger are ledger_foreign', () => {
    const here = makeChain()
    const there = makeChain({ signer: here.firstSigner })
    here.notarize()
    there.notarize()
    const own = rangeOf(here, { from: 3, to: 3 })
    const foreign = rangeOf(there, { from: 3, to: 3 })
    refusesAfter('ledger_foreign', own, ({ lines }) => lines.splice(1, 1, foreign.lines[1]!))
    refusesAfter('ledger_foreign', own, ({ head }) => {
      head['ledger'] = there.ledger
    })
    const record = makeId('rec')
    const issued = makeChain()
    issued.append({
      kind: 'record-notarized',
      subjects: [{ name: record, sha256: '00'.repeat(32) }],
      predicate: { ...issued.acting(), record, version: 1, type: 'generic/1' },
      documents: [saltDocument(record, {})],
      issuer: 'https://other.example',
    })
    const withheld = changed(rangeOf(issued, { from: 3, to: 3 }), ({ head, lines }) => {
      head['documents'] = 'withheld'
      const [document] = lines[1]!['documents'] as object[]
      Object.assign(document!, { salt: null, document: null, digest: '00'.repeat(32) })
    })
    refuses('ledger_foreign', () => verify(withheld))
  })

  test('detect a changed signature: signature_invalid', () => {
    refusesAfter('signature_invalid', bundle, ({ lines }) => {
      const line = lines.at(-1)!
      const envelope = Buffer.from(line['envelope'] as string, 'base64')
      envelope[envelope.length - 1]! ^= 1
      line['envelope'] = envelope.toString('base64')
    })
  })
})

describe('entries that an agent signed itself', () => {
  const chain = makeChain()
  const [first, second] = [makeSigner(), makeSigner()]
  const notarize = (own?: typeof first) => chain.notarize({}, undefined, undefined, own)
  const firstKey = chain.registerSigningKey(first)
  const early = notarize(first)
  const secondKey = chain.registerSigningKey(second, { endorsedBy: first, required: true })
  const revocation = chain.revokeSigningKey(first)
  const rotation = chain.rotateServerKey()
  const late = notarize(second)
  const batch = chain.notarizeBatch(2, { own: second })
  const keys = [firstKey, secondKey, revocation]

  const recordOf = (line: TestLine, beside: readonly TestLine[], record = subjectOf(line)) =>
    selectionOf(
      chain,
      { record },
      [line, ...beside].map((line) => ({ line, ...(line === batch && { items: [0] }) })),
    )

  test('verify with keys that earlier entries of the bundle register', () => {
    const whole = verify(rangeOf(chain, { from: late.seq, to: batch.seq }, { beside: keys }))
    assert.deepEqual([whole.entries, whole.agentSigned], [2, 2])
    const mixed = verify(rangeOf(chain, { from: 0, to: batch.seq }))
    assert.deepEqual([mixed.entries, mixed.agentSigned], [chain.lines.length, 3])
    for (const line of [early, late, batch]) assert.deepEqual(verify(recordOf(line, keys)).agentSigned, 1)
    // `keys` also contains the later revocation of the key, which comes after the range.
    verify(rangeOf(chain, { from: early.seq, to: early.seq }, { beside: keys }))
  })

  test('are refused if the bundle lacks the registration or endorsement of the key', () => {
    refuses('key_not_current', () => verify(recordOf(late, [])))
    refuses('key_not_current', () => verify(recordOf(batch, [])))
    refuses('agent_key_refused', () => verify(recordOf(late, [secondKey])))
    refuses('subject_unknown', () => verify(recordOf(late, [revocation])))
    refuses('key_unknown', () =>
      verify(changed(recordOf(late, keys), ({ lines }) => delete lines.at(-1)!['signer'])),
    )
  })

  test('are refused after a revocation; unsigned entries with a required key too', () => {
    const refusesLast = (code: ProofErrorCode, line: TestLine) => {
      refuses(code, () => verify(recordOf(line, keys)))
      chain.forget()
    }
    refusesLast('key_not_valid', notarize(first))
    refusesLast('agent_signature_missing', notarize())
    const other = chain.acting(makeId('agt'))
    refusesLast('agent_signature_missing', chain.notarize({ ...other, onBehalfOf: chain.agent }))
    const items = [{ onBehalfOf: chain.agent }]
    const behalf = chain.notarizeBatch(1, { items, predicate: other })
    refuses('agent_signature_missing', () =>
      verify(rangeOf(chain, { from: behalf.seq, to: behalf.seq }, { beside: keys })),
    )
    chain.forget()
  })

  test('use keys that can never be keys of the ledger', () => {
    const later = chain.rotateServerKey(second)
    refuses('key_not_current', () =>
      verify(rangeOf(chain, { from: later.seq, to: later.seq }, { beside: keys })),
    )
    chain.forget()
    chain.signers.pop()
    const own = chain.registerSigningKey(chain.signers.at(-1)!, { endorsedBy: second })
    refuses('duplicate_subject', () =>
      verify(rangeOf(chain, { from: rotation.seq, to: own.seq }, { beside: keys })),
    )
    chain.forget()
  })
})

describe('a registered statement', () => {
  const chain = makeChain()
  const issuer = makeIssuer()
  const policy = setPolicy(chain, [issuer])
  const statement = pushStatement(chain, signStatement(issuer))
  const registration = register(chain, policy, statement)
  const [from, to] = [statement.seq, registration.seq]
  const size = chain.lines.length

  test('verifies with its registration entry; without the policy its issuer is not judged', () => {
    const pair = rangeOf(chain, { from, to })
    const { entries, statements, issuersJudged } = verify(pair)
    assert.deepEqual([entries, statements, issuersJudged], [2, 1, 0])
    assert.equal(verify(rangeOf(chain, { from: 0, to })).statements, 1)
    const kept = verify(pair, { storedCheckpoints: [chain.checkpoint()] })
    assert.deepEqual([kept.checkpoint, kept.covered], ['given', size])
    refusesAfter('line_contradicts_envelope', pair, ({ lines }) => {
      lines.at(-2)!['leaf'] = policy.leaf
    })
    // The entry of a statement must have the same time as its registration, which is the next entry.
    refusesAfter('statement_pair', pair, ({ lines }) => {
      lines.at(-2)!['recordedAt'] = policy.recordedAt
    })
    refusesAfter('merkle_path', pair, ({ head }) => {
      const { left } = (head['of'] as { range: { left: string[] } }).range
      left[0] = '00'.repeat(32)
    })
  })

  test('is judged by the policy named in its registration, if the bundle has the policy', () => {
    const beside = [policy]
    assert.equal(verify(rangeOf(chain, { from, to }, { beside })).issuersJudged, 1)
    assert.equal(verify(rangeOf(chain, { from: policy.seq, to })).issuersJudged, 1)
    // A forged statement is refused if the bundle shows the registration policy. A bundle with an entry that its range
    // does not need is refused too.
    const forged = pushStatement(chain, signStatement(makeIssuer(issuer.issuer)))
    const end = register(chain, policy, forged).seq
    assert.equal(verify(rangeOf(chain, { from: forged.seq, to: end })).issuersJudged, 0)
    refuses(/signature_invalid/, () => verify(rangeOf(chain, { from: forged.seq, to: end }, { beside })))
    refuses('entry_unrelated', () =>
      verify(rangeOf(chain, { from: 3, to: 3 }, { beside: [chain.lines[1]!] })),
    )
    for (let i = 0; i < 2; i++) chain.forget()
    const newer = setPolicy(chain, [issuer], { contentTypes: ['text/plain'] })
    const late = pushStatement(chain, signStatement(issuer))
    const by = register(chain, policy, late).seq
    refuses('policy_refused', () => verify(rangeOf(chain, { from: newer.seq, to: by }, { beside })))
    refuses('entry_unrelated', () =>
      verify(rangeOf(chain, { from: late.seq, to: by }, { beside: [policy, newer] })),
    )
    for (let i = 0; i < 3; i++) chain.forget()
  })

  test('without its registration, or the registration without its statement, is refused', () => {
    refuses('statement_pair', () => verify(rangeOf(chain, { from: to, to })))
    refuses('statement_pair', () => verify(rangeOf(chain, { from, to: from })))
    refuses('entry_unrelated', () => verify(rangeOf(chain, { from, to: from }, { beside: [registration] })))
    refuses('entry_unrelated', () => verify(rangeOf(chain, { from: to, to }, { beside: [statement] })))
    const stranger = chain.notarize()
    refuses('entry_unrelated', () =>
      verify(
        selectionOf(
          chain,
          { record: subjectOf(stranger) },
          [statement, registration, stranger].map((line) => ({ line })),
        ),
      ),
    )
    chain.forget()
  })

  test('with the registration of another statement is refused with statement_pair', () => {
    const other = pushStatement(chain, signStatement(issuer, { subject: 'other' }))
    const wrong = register(chain, policy, other, { subject: 'another' })
    refuses('statement_pair', () => verify(rangeOf(chain, { from: other.seq, to: wrong.seq })))
    chain.forget()
    chain.forget()
  })
})

describe('a record', () => {
  test('of one entry, or of a batch, verifies as a selection', () => {
    const { chain, erasures } = makeLedger()
    const line = chain.lines[15]!
    const one = verify(selectionOf(chain, { record: subjectOf(line) }, [{ line }]))
    assert.deepEqual(
      [one.of, one.completeness, one.entries, one.records, one.erased],
      [{ record: subjectOf(line) }, 'selection', 1, 1, 0],
    )
    const batch = chain.lines[8]!
    const item = (i: number, more: TestLine[] = []) =>
      selectionOf(chain, { record: batch.documents[i]!.subject }, [
        { line: batch, items: [i] },
        ...more.map((line) => ({ line })),
      ])
    assert.deepEqual([verify(item(2)).records, verify(item(1, [erasures[1]!])).erased], [1, 1])
    refuses('erasure_unexplained', () => verify(item(1)))
    refuses('entry_unrelated', () => verify(item(2, [erasures[1]!])))
    refuses('entry_unrelated', () => verify(item(2, [line])))
    refuses('entry_unrelated', () => verify(item(2, [chain.lines[1]!])))
    refusesAfter('entry_unrelated', item(2), ({ lines }) => {
      Object.assign(lines.find(({ seq }) => seq === 8)!, { items: [], documents: [] })
    })
    refusesAfter('batch_contradicts_statement', item(2), ({ lines }) => {
      Object.assign(lines[0]!, { items: [] })
    })
    refusesAfter('batch_contradicts_statement', item(2), ({ lines }) => {
      Object.assign(lines.find(({ seq }) => seq === 8)!, { items: null })
    })
    refusesAfter('received_mismatch', item(2), ({ lines }) => {
      Object.assign(lines.find(({ seq }) => seq === 8)!, { received: line.envelope })
    })
    refusesAfter('merkle_path', item(2), ({ lines }) => {
      const { items } = lines.find(({ seq }) => seq === 8) as unknown as { items: { path: string[] }[] }
      items[0]!.path[0] = '00'.repeat(32)
    })
    refusesAfter('document_digest', item(2), ({ lines }) => {
      const { documents } = lines.find(({ seq }) => seq === 8) as unknown as {
        documents: { document: unknown }[]
      }
      documents[0]!.document = { i: 3 }
    })
    refuses('bundle_incomplete', () => verify(selectionOf(chain, { record: makeId('rec') }, [])))
    refusesAfter(
      'checkpoint_too_old',
      selectionOf(chain, { record: subjectOf(line) }, [{ line }]),
      ({ head, lines }) => {
        const early = selectionOf(chain, { record: subjectOf(line) }, [], { size: 15 })
        head['checkpoint'] = early.head['checkpoint']
        lines.splice(0, 2, ...early.lines)
      },
    )
  })

  test('with a gate needs every step up to the last shown step', () => {
    const chain = makeChain()
    const gated = makeGated(chain)
    const steps = [gated.last(), gated.activate(), gated.submit(), gated.verify(), gated.judge()]
    const other = makeGated(chain)
    const stepOfOther = other.activate()
    const shown = (lines: readonly TestLine[]) =>
      verify(
        selectionOf(
          chain,
          { record: gated.record },
          lines.map((line) => ({ line })),
        ),
      )
    assert.deepEqual([shown(steps).entries, shown(steps.slice(0, 3)).entries], [5, 3])
    refuses('previous_mismatch', () => shown(steps.filter((_, i) => i !== 2)))
    refuses('subject_unknown', () => shown(steps.slice(1)))
    refuses('subject_unknown', () => shown([...steps, stepOfOther]))
    refuses('entry_unrelated', () =>
      shown([
        ...steps,
        chain.lines.find(({ kind, seq }) => kind === 'record-created' && seq > steps[4]!.seq)!,
      ]),
    )
  })
})

describe('a run', () => {
  /**
   * Makes a root with two children, and an unrelated record. One child is in a batch, where its own children precede
   * it.
   */
  function makeRun() {
    const chain = makeChain()
    const root = chain.notarize()
    const run = subjectOf(root)
    const child = chain.notarize({ parent: run })
    const ids = makeRecordIds(4)
    const parents = [ids[1], ids[2], run, undefined]
    const items = parents.map((parent) => (parent === undefined ? {} : { parent }))
    const batch = chain.notarizeBatch(ids.length, { records: ids, items })
    const grandchild = chain.notarize({ parent: ids[2]! })
    const stranger = chain.notarize()
    return { chain, root, run, child, batch, ids, grandchild, stranger }
  }

  test('verifies as a selection, with children of batches', () => {
    const { chain, root, run, child, batch, grandchild } = makeRun()
    const all = [{ line: root }, { line: child }, { line: batch, items: [0, 1, 2] }, { line: grandchild }]
    const { of, completeness, entries, records } = verify(selectionOf(chain, { run }, all))
    assert.deepEqual([of, completeness, entries, records], [{ run }, 'selection', 4, 6])
    // A bundle with only some entries of the run is also valid, because a run is a selection.
    assert.equal(verify(selectionOf(chain, { run }, all.slice(0, 2))).records, 2)
  })

  test('with a missing parent or an unrelated record is refused', () => {
    const { chain, root, run, child, batch, grandchild, stranger } = makeRun()
    const shown =
      (...chosen: Parameters<typeof selectionOf>[2]) =>
      () =>
        verify(selectionOf(chain, { run }, chosen))
    refuses('parent_absent', shown({ line: child }))
    refuses('parent_absent', shown({ line: root }, { line: grandchild }))
    refuses('parent_absent', shown({ line: root }, { line: batch, items: [0, 2] }))
    refuses('parent_absent', shown({ line: root }, { line: batch, items: [0, 3] }))
    refuses('parent_absent', shown({ line: root }, { line: stranger }))
    const again = chain.notarize({ parent: run }, subjectOf(child))
    refuses('duplicate_subject', shown({ line: root }, { line: child }, { line: again }))
    refuses('bundle_syntax', shown({ line: root }, { line: batch, items: [0, 0] }))
    refuses('bundle_syntax', shown({ line: root }, { line: batch, items: [1, 0] }))
    refuses('bundle_incomplete', shown())
  })

  test('is refused in a bundle of a single record with entry_unrelated', () => {
    const { chain, root, run, batch, ids } = makeRun()
    refuses('entry_unrelated', () =>
      verify(selectionOf(chain, { record: ids[0]! }, [{ line: batch, items: [0, 1] }])),
    )
    refuses('entry_unrelated', () =>
      verify(selectionOf(chain, { record: run }, [{ line: root }, { line: batch, items: [0] }])),
    )
  })
})
