import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { UsageError } from '../../sdk/errors.ts'
import type { PublishedKey, SignalEventData } from '../../sdk/generated/api.ts'
import * as verify from '../../sdk/verify/index.ts'
import { makeChain, makeId, makeSigner, type TestLine } from '../helpers/test-chain.ts'
import { makeGated } from '../helpers/test-gated.ts'
import { refusesVerification } from './refuses-verification.ts'
import { pretend, RUNTIMES } from './runtimes.ts'
import { signalEventOf } from './signal-event.ts'

const chain = makeChain()
const { ledger } = chain
const keys = chain.keys() as PublishedKey[]
const VALID_UNTIL = '2026-12-01T00:00:00.000Z'
const NOW = new Date('2026-11-21T00:00:00.000Z')

function judged(verdict: 'accept' | 'reject', signal: object) {
  const gated = makeGated(chain)
  gated.activate()
  gated.submit()
  gated.verify(verdict === 'accept' ? 'pass' : 'fail')
  return { gated, line: gated.judge(verdict, { signal }) }
}

const settled = judged('accept', {
  decision: 'SETTLE',
  code: 'accepted',
  failingRules: [],
  validUntil: VALID_UNTIL,
})
const held = judged('reject', {
  decision: 'HOLD',
  code: 'rejected',
  failingRules: ['quantity'],
  validUntil: null,
})
const released = held.gated.overturn(held.line.leaf)
const event = signalEventOf(settled.line)

const verifySignal = (given: verify.SignalEvent | SignalEventData, options = {}) =>
  verify.signal(given, { keys, ledger, now: NOW, ...options })

const refuses = (code: verify.VerificationErrorCode, given: unknown, options = {}) =>
  refusesVerification(code, () => verifySignal(given as SignalEventData, options))

describe('a settlement signal', () => {
  for (const [name, runtime] of Object.entries(RUNTIMES)) {
    test(`has decision, record, actor and idempotency key, ${name}`, async (t) => {
      pretend(t, runtime)
      const { gated, line } = settled
      const expected: verify.VerifiedSignal = {
        ledger,
        record: gated.record,
        version: 5,
        completion: gated.completion().name,
        decision: 'SETTLE',
        code: 'accepted',
        failingRules: [],
        validUntil: VALID_UNTIL,
        actor: chain.agent,
        onBehalfOf: null,
        recordedAt: line.recordedAt,
        leaf: line.leaf,
        once: `${gated.record}/5`,
      }
      assert.deepEqual(await verifySignal(event), expected)
      assert.deepEqual(await verifySignal(event.data), expected)
      const webhook = { id: 'evt_1', sentAt: NOW, ...event }
      assert.deepEqual(await verifySignal(webhook), expected)
    })
  }

  test('of an overturned verdict has a higher version than the signal before', async () => {
    const [hold, release] = [held.line, released].map(signalEventOf)
    const found = [await verifySignal(hold!), await verifySignal(release!)]
    assert.deepEqual(
      found.map(({ decision, version, record }) => [decision, version, record]),
      [
        ['HOLD', 5, held.gated.record],
        ['RELEASE', 6, held.gated.record],
      ],
    )
    assert.deepEqual(found[0]!.failingRules, ['quantity'])
  })

  test('names the gateway as actor, and the principal as onBehalfOf', async () => {
    const gated = makeGated(chain)
    gated.activate()
    gated.submit()
    gated.verify()
    const principal = makeId('agt')
    const found = await verifySignal(signalEventOf(gated.judge('accept', { onBehalfOf: principal })))
    assert.deepEqual([found.actor, found.onBehalfOf], [chain.agent, principal])
  })
})

describe('a signal is refused', () => {
  test('if one bit of its envelope is changed, on every engine', async (t) => {
    for (const runtime of Object.values(RUNTIMES)) {
      pretend(t, runtime)
      const bytes = Buffer.from(event.data.envelope, 'base64')
      bytes[bytes.length - 90]! ^= 1
      await refuses('signature_invalid', { ...event.data, envelope: bytes.toString('base64') })
    }
  })

  test('if any member beside the envelope is missing or differs from the signed one', async () => {
    const { data } = event
    const { record, entry } = data
    const changes: Partial<Record<keyof SignalEventData, unknown>>[] = [
      { ledger: makeId('led') },
      { record: { ...record, id: makeId('rec') } },
      { record: { ...record, version: 6 } },
      { record: { ...record, version: '5' } },
      { record: { ...record, state: 'REJECTED' } },
      { record: null },
      { record: 'rec_1' },
      { entry: { ...entry, kind: 'verdict-overturned' } },
      { entry: { ...entry, leaf: '00'.repeat(32) } },
      { entry: undefined },
      { signal: { ...data.signal, decision: 'RELEASE' } },
      { signal: { ...data.signal, code: 'accepted_anyway' } },
      { signal: { ...data.signal, failingRules: ['quantity'] } },
      { signal: { ...data.signal, validUntil: null } },
      { signal: { ...data.signal, amount: '1.00' } },
      { signal: undefined },
      { subjects: data.subjects.slice(1) },
      { subjects: undefined },
      { predicate: { ...data.predicate, completion: makeId('cmp') } },
      { predicate: undefined },
    ]
    for (const change of changes) await refuses('event_contradicts_envelope', { ...data, ...change })
    await refuses('event_contradicts_envelope', { ...event, timestamp: '2026-11-20T00:00:00.000Z' })
    await refuses('event_contradicts_envelope', { type: event.type, data })
    const cyclic: { [name: string]: unknown } = { ...data.predicate }
    cyclic['completion'] = cyclic
    await refuses('event_contradicts_envelope', { ...data, predicate: cyclic })
  })

  test('if the envelope belongs to another signal', async () => {
    const other = signalEventOf(held.line).data
    await refuses('event_contradicts_envelope', { ...event.data, envelope: other.envelope })
    await refuses('event_contradicts_envelope', { ...other, envelope: event.data.envelope })
  })

  test('if the envelope is not of a verdict, with signal_absent', async () => {
    const verification = chain.lines.findLast(({ kind }) => kind === 'completion-verified') as TestLine
    const created = chain.lines.find(({ kind }) => kind === 'ledger-created') as TestLine
    for (const { envelope } of [verification, created, chain.notarize()])
      await refuses('signal_absent', { ...event.data, envelope })
  })

  test('for another ledger of the same server, and under untrusted keys', async () => {
    const neighbour = makeChain({ signer: chain.firstSigner })
    const gated = makeGated(neighbour)
    gated.activate()
    gated.submit()
    gated.verify()
    const foreign = signalEventOf(gated.judge())
    assert.ok(await verifySignal(foreign, { ledger: neighbour.ledger }))
    await refuses('ledger_foreign', foreign)
    await refuses('key_unknown', event, { keys: [] })
    await refuses('key_unknown', event, { keys: [{ ...keys[0]!, kid: makeSigner().kidHex }] })
    const compromised = [{ ...keys[0]!, compromisedAt: '2026-11-20T12:00:00.000Z' }]
    await refuses('key_compromised', event, { keys: compromised })
  })

  test('if malformed', async () => {
    await refuses('event_syntax', {})
    await refuses('event_syntax', { ...event.data, envelope: 1 })
    await refuses('event_syntax', { ...event, data: null })
    await refuses('bad_base64', { ...event.data, envelope: '!' })
  })
})

describe('the validity of a signal', () => {
  const at = (now: string) => verifySignal(event, { now: new Date(now) })

  test('includes validUntil itself; later a SignalExpiredError contains the signal', async () => {
    assert.ok(await at(VALID_UNTIL))
    await assert.rejects(at('2026-12-01T00:00:00.001Z'), (error) => {
      assert.ok(error instanceof verify.SignalExpiredError && error instanceof verify.VerificationError)
      assert.deepEqual(
        [error.code, error.name, error.retryable],
        ['signal_expired', 'SignalExpiredError', false],
      )
      assert.deepEqual([error.signal.decision, error.signal.once], ['SETTLE', `${settled.gated.record}/5`])
      return true
    })
  })

  test('is checked against the local clock by default, and never ends without validUntil', async () => {
    const past = judged('accept', {
      decision: 'SETTLE',
      code: 'accepted',
      failingRules: [],
      validUntil: '2026-11-20T12:30:00.000Z',
    })
    await assert.rejects(verify.signal(signalEventOf(past.line), { keys, ledger }), verify.SignalExpiredError)
    assert.ok(await verify.signal(signalEventOf(held.line), { keys, ledger, now: new Date('2999-01-01') }))
  })

  test('is checked last: a forged expired signal is refused as event_contradicts_envelope', async () => {
    const late = { now: new Date('2027-01-01') }
    await refuses('event_contradicts_envelope', { ...event.data, ledger: makeId('led') }, late)
  })
})

test('meaningless arguments are a usage error: no ledger, no keys, an invalid time, another event', async () => {
  const wrong = [
    () => verify.signal(event, { keys } as never),
    () => verifySignal(event, { ledger: '' }),
    () => verifySignal(event, { keys: undefined }),
    () => verifySignal(event, { now: new Date('never') }),
    () => verifySignal(null as never),
    () => verifySignal('signal.emitted' as never),
    () => verifySignal({ ...event, type: 'verdict.rendered' } as never),
  ]
  for (const call of wrong) await assert.rejects(call, UsageError)
})
