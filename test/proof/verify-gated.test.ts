import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProofError, type ProofErrorCode } from '../../src/proof/error.ts'
import type { Subject } from '../../src/proof/statement/kinds.ts'
import { makeChain, makeId, type TestChain } from '../helpers/test-chain.ts'
import { makeGated } from '../helpers/test-gated.ts'
import { assertRefused, verifyChain } from '../helpers/verify-chain.ts'

type Gated = ReturnType<typeof makeGated>

function live(steps: (gated: Gated, chain: TestChain) => void, terms: object = {}): TestChain {
  const chain = makeChain()
  steps(makeGated(chain, terms), chain)
  return chain
}

function refused(
  code: ProofErrorCode,
  steps: (gated: Gated, chain: TestChain) => void,
  terms: object = {},
): void {
  assertRefused(code, () => verifyChain(live(steps, terms)))
}

const MISSING = '2026-11-20T12:00:00.000Z'

test('accepts a gated record through every possible course to its end', () => {
  const lives: ((gated: Gated) => void)[] = [
    (g) => [g.activate(), g.submit(), g.verify(), g.judge()],
    (g) => [g.activate(), g.submit(), g.verify('fail'), g.judge('accept')],
    (g) => [g.activate(), g.submit(), g.verify('fail'), g.revise(), g.submit(), g.verify(), g.judge()],
    (g) => [g.cancel()],
    (g) => [g.activate(), g.cancel()],
    (g) => {
      g.activate()
      g.submit()
      g.verify()
      const verdict = g.judge('reject')
      g.overturn(verdict.leaf)
    },
  ]
  for (const steps of lives) assert.equal(verifyChain(live(steps)).records, 1)
  assert.equal(verifyChain(live((g) => g.expire(), { deadline: MISSING })).records, 1)
  assert.equal(verifyChain(live((g) => g.activate(), { deadline: '2026-12-01T00:00:00.000Z' })).records, 1)
  const auto = (verdict: 'accept' | 'reject') => (g: Gated, chain: TestChain) => {
    g.activate()
    g.submit()
    g.verify(verdict === 'accept' ? 'pass' : 'fail')
    g.judge(verdict, { ...chain.system(), key: undefined, by: 'auto' })
  }
  for (const verdict of ['accept', 'reject'] as const) verifyChain(live(auto(verdict), { gate: 'auto' }))
})

test('the agent that activates a record becomes performer if none was named, unless it is the principal', () => {
  verifyChain(live((g) => [g.activate(), g.submit()], { performer: undefined }))
  refused('actor_not_entitled', (g, chain) => g.activate(chain.acting()), { performer: undefined })
})

test('refuses a record whose performer is its principal, also behind a gateway', () => {
  const chain = makeChain()
  makeGated(chain, { performer: chain.agent })
  assertRefused('actor_not_entitled', () => verifyChain(chain))
  const gateway = makeChain()
  const agent = makeId('agt')
  gateway.registerAgent(agent, 'behind')
  makeGated(gateway, { performer: agent, onBehalfOf: agent })
  assertRefused('actor_not_entitled', () => verifyChain(gateway))
})

test('refuses a step that does not follow the record’s last entry', () => {
  refused('previous_mismatch', (g) => g.activate({ previous: 'ab'.repeat(32) }))
  refused('version_mismatch', (g) => g.activate({ version: 3 }))
  refused('transition_refused', (g) => g.activate({ from: 'ACTIVE' }))
  refused('transition_refused', (g) => g.activate({ to: 'SUBMITTED' }))
  refused('transition_refused', (g) => g.submit())
  refused('transition_refused', (g) => [g.activate(), g.submit(), g.cancel()])
})

test('refuses a step of a record that is terminal, notarized or unknown', () => {
  refused('transition_refused', (g) => [g.cancel(), g.activate()])
  refused('transition_refused', (g, chain) => {
    const record = makeId('rec')
    const notarized = chain.notarize({}, record)
    const subjects = [{ name: record, sha256: notarized.documents[0]!.digest }]
    g.activate({ record, subjects, previous: notarized.leaf })
  })
  refused('subject_unknown', (g) => {
    const record = makeId('rec')
    g.activate({ record, subjects: [{ name: record, sha256: g.about.sha256 }] })
  })
})

test('refuses a step about another payload, completion or evidence', () => {
  refused('subject_unknown', (g) => g.activate({ subjects: [{ ...g.about, sha256: 'ab'.repeat(32) }] }))
  const judged = (completion: (g: Gated) => { name: string; sha256: string }) => (g: Gated) => {
    g.activate()
    g.submit()
    g.verify()
    const other = completion(g)
    g.judge('accept', { completion: other.name, subjects: [g.about, other] })
  }
  refused(
    'subject_unknown',
    judged((g) => ({ ...g.completion(), name: makeId('cmp') })),
  )
  refused(
    'subject_unknown',
    judged((g) => ({ ...g.completion(), sha256: 'ab'.repeat(32) })),
  )
  refused('subject_unknown', (g) => g.cancel({ completion: makeId('cmp') }))
})

test('refuses a step by an agent that is not entitled, with actor_not_entitled', () => {
  const who = 'actor_not_entitled'
  refused(who, (g, chain) => g.activate(chain.acting()))
  refused(who, (g, chain) => [g.activate(), g.submit(chain.acting())])
  refused(who, (g, chain) => [g.activate(), g.submit(), g.verify('pass', chain.acting())])
  refused(who, (g) => [g.activate(), g.submit(), g.verify(), g.judge('accept', g.asPerformer())])
  refused(who, (g) => [g.activate(), g.submit(), g.verify(), g.revise(g.asPerformer())])
  refused(who, (g) => g.cancel(g.asPerformer()))
  refused(who, (g, chain) => g.expire(chain.acting()), { deadline: MISSING })
  refused(who, (g) => {
    g.activate()
    g.submit()
    g.verify()
    const verdict = g.judge('reject')
    g.overturn(verdict.leaf, g.asPerformer())
  })
})

test('refuses a verdict by the performer in the name of another agent', () => {
  const who = 'actor_not_entitled'
  refused(who, (g, chain) => {
    const forPrincipal = { ...g.asPerformer(), onBehalfOf: chain.agent }
    return [g.activate(), g.submit(), g.verify(), g.judge('accept', forPrincipal)]
  })
  refused(who, (g, chain) => {
    g.activate()
    g.submit()
    g.verify()
    g.overturn(g.judge('reject').leaf, { ...g.asPerformer(), onBehalfOf: chain.agent })
  })
})

test('refuses system as actor of a step that only an agent can take, with actor_not_entitled', () => {
  const who = 'actor_not_entitled'
  const system = (chain: TestChain) => ({ ...chain.system(), key: undefined })
  const asSystem = makeChain()
  makeGated(asSystem, system(asSystem))
  assertRefused(who, () => verifyChain(asSystem), /the actor of record-created must be an agent, not system/)
  refused(who, (g, chain) => g.activate(system(chain)), { performer: undefined })
  refused(who, (g, chain) => [g.activate(), g.submit(system(chain))])
  refused(who, (g, chain) => [g.activate(), g.submit(), g.verify(), g.judge('accept', system(chain))])
  refused(who, (g, chain) => [g.activate(), g.submit(), g.verify(), g.revise(system(chain))])
  refused(who, (g, chain) => g.cancel(system(chain)))
  refused(who, (g, chain) => {
    g.activate()
    g.submit()
    g.verify()
    g.overturn(g.judge('reject').leaf, system(chain))
  })
})

test('refuses a verdict by another judge than the gate, with actor_not_entitled', () => {
  const verdict = (by: string, isSystem: boolean) => (g: Gated, chain: TestChain) => {
    g.activate()
    g.submit()
    g.verify()
    g.judge('accept', { by, ...(isSystem && { ...chain.system(), key: undefined }) })
  }
  const who = 'actor_not_entitled'
  for (const isSystem of [true, false]) refused(who, verdict('principal', isSystem), { gate: 'auto' })
  for (const isSystem of [true, false]) refused(who, verdict('auto', isSystem))
  refused(who, verdict('auto', false), { gate: 'auto' })
})

test('refuses a verdict by rule without an auto gate, or one that contradicts the rules', () => {
  const auto = (verdict: 'accept' | 'reject') => (g: Gated, chain: TestChain) => {
    g.activate()
    g.submit()
    g.verify()
    g.judge(verdict, { ...chain.system(), key: undefined, by: 'auto' })
  }
  refused('actor_not_entitled', auto('accept'))
  refused('actor_not_entitled', auto('reject'), { gate: 'auto' })
})

test('refuses overturning a verdict about another completion or other evidence, with or without a completion member', () => {
  const overturned = (of: (g: Gated) => Subject) => (g: Gated) => {
    g.activate()
    g.submit()
    g.verify()
    const verdict = g.judge('reject')
    g.overturn(verdict.leaf, { completion: undefined }, of(g))
  }
  verifyChain(live(overturned((g) => g.completion())))
  refused(
    'subject_unknown',
    overturned(() => ({ name: makeId('cmp'), sha256: 'ab'.repeat(32) })),
  )
  refused(
    'subject_unknown',
    overturned((g) => ({ ...g.completion(), sha256: 'ab'.repeat(32) })),
  )
})

test('refuses an overturned verdict that names another verdict, or without the scope', () => {
  const overturned =
    (supersedes: string | null, changes: object = {}) =>
    (g: Gated) => {
      g.activate()
      g.submit()
      g.verify()
      const verdict = g.judge('reject')
      g.overturn(supersedes ?? verdict.leaf, changes)
    }
  refused('previous_mismatch', overturned('ab'.repeat(32)))
  const chain = makeChain()
  const key = makeId('key')
  chain.createKey(key, chain.agent, { scopes: ['records:write'] })
  overturned(null, { key })(makeGated(chain))
  assertRefused('actor_not_entitled', () => verifyChain(chain), /verdicts:overturn/)
})

test('refuses more revisions than were agreed', () => {
  const round = (g: Gated) => [g.submit(), g.verify('fail'), g.revise()]
  refused('transition_refused', (g) => [g.activate(), round(g), round(g)])
})

test('refuses steps after the deadline and an expiry before it, beyond the allowed clock difference', () => {
  refused('time_out_of_order', (g) => g.activate({ recordedAt: '2026-11-20T12:00:30.001Z' }), {
    deadline: MISSING,
  })
  refused('time_out_of_order', (g) => [g.activate(), g.submit({ recordedAt: '2026-11-20T12:00:30.001Z' })], {
    deadline: MISSING,
  })
  refused('time_out_of_order', (g) => g.expire(), { deadline: '2026-11-20T13:00:00.000Z' })
  refused('time_out_of_order', (g) => g.expire())
})

test('onGated gets the state of the record after each step, and may throw to refuse', () => {
  const chain = live((g) => [g.activate(), g.submit(), g.verify('fail'), g.revise(), g.cancel()], {
    performer: undefined,
  })
  chain.notarize()
  const told: unknown[] = []
  verifyChain(chain, {
    onGated: (seq, { state, version, performer, revisions }) =>
      told.push([seq, state, version, performer !== null, revisions]),
  })
  assert.deepEqual(told, [
    [5, 'CREATED', 1, false, 0],
    [6, 'ACTIVE', 2, true, 0],
    [7, 'SUBMITTED', 3, true, 0],
    [8, 'DISCREPANT', 4, true, 0],
    [9, 'ACTIVE', 5, true, 1],
    [10, 'CANCELLED', 6, true, 1],
  ])
  const onGated = (seq: number) => {
    if (seq === 7) throw new ProofError('columns_contradict_entries', 'not what the row says')
  }
  assertRefused('columns_contradict_entries', () => verifyChain(chain, { onGated }))
})
