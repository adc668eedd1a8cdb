import { test } from 'node:test'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import { makeChain, makeId, type TestChain, type TestLine } from '../../helpers/test-chain.ts'
import { assertRefused, verifyChain } from '../../helpers/verify-chain.ts'

/*
 * Tests how the verifier checks retention rules, holds, and entries about erasures and exports. A thief of the ledger's
 * envelope key can sign such entries, valid or not.
 */

type Kind = 'retention-set' | 'hold-set' | 'hold-lifted' | 'subject-erased' | 'export-made'

const say = (chain: TestChain, kind: Kind, predicate: object, about = chain.aboutLedger()) =>
  chain.append({ kind, subjects: [about], predicate: { ...chain.acting(), ...predicate } })
const rule = (chain: TestChain, days: number | null = 183) =>
  say(chain, 'retention-set', { days, basis: 'law' })
const hold = (chain: TestChain, selector: object = {}) => say(chain, 'hold-set', { case: 'c', ...selector })
const lift = (chain: TestChain, { seq }: { seq: number }, of = 'c') =>
  say(chain, 'hold-lifted', { case: of, seq })

function eraseBy(chain: TestChain, of: TestLine, by: object): TestLine {
  const { subject, digest } = of.documents[0]!
  const predicate = { ...chain.acting(), ...by, seq: of.seq, code: 'retention' }
  return chain.append({ kind: 'payload-erased', subjects: [{ name: subject, sha256: digest }], predicate })
}

function refused(code: ProofErrorCode, build: (chain: TestChain) => unknown): void {
  const chain = makeChain()
  build(chain)
  assertRefused(code, () => verifyChain(chain))
}

const SYSTEM = { actor: 'system', key: undefined }

test('accepts retention rules, lifted holds, erasures by agents and by the server, receipts and exports', () => {
  const chain = makeChain()
  const [first, second, third] = [chain.notarize(), chain.notarize(), chain.notarize()]
  const { seq } = rule(chain)
  const record = second.documents[0]!.subject
  const held = [hold(chain, { records: [record] }), hold(chain, { records: [record] })]
  hold(chain, { type: 'generic/1' })
  hold(chain, { agent: makeId('agt'), records: [record] })
  const erased = eraseBy(chain, first, { ...SYSTEM, rule: seq })
  for (const one of held) lift(chain, one)
  chain.sayErased(second)
  lift(chain, hold(chain))
  chain.sayErased(third)
  say(chain, 'subject-erased', { code: 'gdpr', erased: [erased.seq], held: 0 })
  say(chain, 'export-made', { of: {}, from: 0, to: erased.seq, documents: 'all' })
  verifyChain(chain)
})

test('refuses an erasure of a held record with erasure_held until the last hold is lifted', () => {
  refused('erasure_held', (chain) => {
    const line = chain.notarize()
    const held = [1, 2].map(() => hold(chain, { records: [line.documents[0]!.subject] }))
    lift(chain, held[0]!)
    chain.sayErased(line)
  })
  refused('erasure_held', (chain) => {
    const line = chain.notarize()
    hold(chain)
    chain.sayErased(line)
  })
})

test('refuses erasures by the server without a valid retention rule, and by an agent under a rule', () => {
  refused('actor_not_entitled', (chain) => eraseBy(chain, chain.notarize(), SYSTEM))
  refused('actor_not_entitled', (chain) => eraseBy(chain, chain.notarize(), { rule: rule(chain).seq }))
  refused('subject_unknown', (chain) => eraseBy(chain, chain.notarize(), { ...SYSTEM, rule: 0 }))
  refused('subject_unknown', (chain) =>
    eraseBy(chain, chain.notarize(), { ...SYSTEM, rule: rule(chain, null).seq }),
  )
})

test('refuses lifting an absent hold, a hold of another case, or a hold twice', () => {
  refused('subject_unknown', (chain) => lift(chain, { seq: 0 }))
  refused('subject_unknown', (chain) => lift(chain, hold(chain), 'another'))
  refused('subject_unknown', (chain) => {
    const held = hold(chain)
    lift(chain, held)
    lift(chain, held)
  })
})

test('refuses a subject-erased entry that names no erasure, and an export of an invalid range', () => {
  refused('erasure_of_nothing', (chain) =>
    say(chain, 'subject-erased', { code: 'gdpr', erased: [chain.notarize().seq], held: 0 }),
  )
  for (const [from, to] of [
    [1, 0],
    [0, 99],
  ])
    refused('subject_unknown', (chain) => say(chain, 'export-made', { of: {}, from, to, documents: 'all' }))
})

test('refuses retention entries about another ledger’s definition with definition_mismatch', () => {
  const other = (chain: TestChain) => ({ ...chain.aboutLedger(), sha256: 'ab'.repeat(32) })
  for (const [kind, predicate] of [
    ['retention-set', { days: 1, basis: 'law' }],
    ['hold-set', { case: 'c' }],
    ['hold-lifted', { case: 'c', seq: 0 }],
    ['subject-erased', { code: 'gdpr', erased: [], held: 0 }],
    ['export-made', { of: {}, from: 0, to: 0, documents: 'all' }],
  ] as const)
    refused('definition_mismatch', (chain) => say(chain, kind, predicate, other(chain)))
})
