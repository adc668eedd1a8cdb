import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus } from '../helpers/app.ts'
import { FAILING, PASSING, type StepName, type StepOptions, sharedGatedApp } from '../helpers/gated-app.ts'
import { digestOf } from '../helpers/open-envelope.ts'

const SALT = 'XaGvK-1McJRNX-agVfElbQ'
const REASON = 'zu spät: 3 of 5 “pallets” 📦, \\ and "quotes"\n'
const VALID_UNTIL = '2031-01-01T00:00:00.000Z'
const SIGNAL = { failingRules: [], validUntil: null }

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
type Json = any

test('each step answers the record as it is after the step', async (t) => {
  const app = await sharedGatedApp()
  const { principal, performer, overturner } = app.agents

  async function stepped(before: Json, name: StepName, options: StepOptions = {}) {
    const response = expectStatus(200, await app.step(before.id, name, options))
    const after = response.json()
    assert.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(response.headers['etag'], `"${after.version}"`)
    assert.equal(after.version, before.version + 1)
    assert.ok(after.entry.seq > before.entry.seq)
    const got = await app.send('GET', `/v1/records/${before.id}`)
    assert.equal(got.body, response.body)
    assert.equal(got.headers['etag'], `"${after.version}"`)
    const moved = ['state', 'version', 'nextEvents', 'entry', 'gated']
    const fixed = (record: Json) =>
      Object.fromEntries(Object.entries(record).filter(([k]) => !moved.includes(k)))
    assert.deepEqual(fixed(after), fixed(before))
    return after
  }
  /**
   * Checks the members that every step shows, and returns the other members. If `document` is undefined, the step has
   * no document.
   */
  function assertStep(shown: Json, record: Json, by: string, document?: unknown): Json {
    const { by: whose, recordedAt, seq, salt, digest, erasedBy, ...rest } = shown
    assert.deepEqual([whose, seq, erasedBy], [by, record.entry.seq, null])
    assert.ok(Math.abs(Date.parse(recordedAt) - Date.now()) < 5_000)
    assert.equal(digest, document === undefined ? null : digestOf(salt, document))
    if (document === undefined) assert.equal(salt, null)
    return rest
  }

  await t.test('activate: by the performer', async () => {
    const before = await app.create()
    const { state, nextEvents, entry, gated } = await stepped(before, 'activate')
    assert.deepEqual([state, entry.kind], ['ACTIVE', 'record-activated'])
    assert.deepEqual(nextEvents, ['completion-submitted', 'record-cancelled'])
    assert.deepEqual(gated, before.gated)
  })

  await t.test('activate: an open performer becomes the first agent that activates', async () => {
    const before = await app.create({ performer: undefined })
    assert.equal(before.gated.performer, null)
    const record = await stepped(before, 'activate', { as: 'stranger' })
    assert.deepEqual(record.gated, { ...before.gated, performer: app.agents.stranger.id })
    expectStatus(404, await app.step(before.id, 'completions', { as: 'performer' }))
    await stepped(record, 'completions', { as: 'stranger' })
  })

  await t.test('completions: the evidence with its salt and digest', async () => {
    const before = await app.reach('ACTIVE')
    const record = await stepped(before, 'completions', { body: { evidence: PASSING, salt: SALT } })
    assert.deepEqual([record.state, record.entry.kind], ['SUBMITTED', 'completion-submitted'])
    assert.deepEqual(record.nextEvents, ['completion-verified'])
    const { completion, ...others } = record.gated
    const { id, evidence } = assertStep(completion, record, performer.id, PASSING)
    assert.match(id, /^cmp_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    assert.deepEqual([evidence, completion.salt], [PASSING, SALT])
    const { completion: none, ...unchanged } = before.gated
    assert.deepEqual([none, others], [null, unchanged])
  })

  await t.test('verification by the worker: each rule’s outcome and the compared values', async () => {
    for (const [evidence, outcome, state, code] of [
      [PASSING, 'pass', 'VERIFIED', undefined],
      [FAILING, 'fail', 'DISCREPANT', 'outside_tolerance'],
    ] as const) {
      const { id } = await app.reach('ACTIVE')
      const submitted = await app.take(id, 'completions', { body: { evidence } })
      const record = await app.verify(id)
      assert.deepEqual([record.state, record.entry.kind], [state, 'completion-verified'])
      assert.deepEqual(record.nextEvents, ['verdict-rendered', 'revision-requested'])
      assert.equal(record.version, submitted.version + 1)
      const values = [
        { id: 'quantity', expected: 100, actual: evidence.quantity, tolerance: { percent: '5' } },
        { id: 'currency', expected: 'EUR', actual: 'EUR' },
      ]
      assert.deepEqual(assertStep(record.gated.verification, record, 'system', values), {
        outcome,
        rules: [
          { id: 'quantity', outcome, ...(code && { code }) },
          { id: 'currency', outcome: 'pass' },
        ],
        values,
      })
    }
  })

  await t.test('a record’s own tolerance replaces the type’s', async () => {
    for (const [percent, state] of [
      ['6', 'VERIFIED'],
      ['5.9', 'DISCREPANT'],
    ]) {
      const { id } = await app.create({ tolerances: { quantity: { percent } } })
      await app.take(id, 'activate')
      await app.take(id, 'completions', { body: { evidence: FAILING } })
      assert.equal((await app.verify(id)).state, state)
    }
  })

  const verdicts: [from: string, verdict: string, to: string, signal: object][] = [
    ['VERIFIED', 'accept', 'ACCEPTED', { ...SIGNAL, decision: 'SETTLE', code: 'accepted' }],
    [
      'DISCREPANT',
      'accept',
      'ACCEPTED',
      { ...SIGNAL, decision: 'SETTLE', code: 'accepted_anyway', failingRules: ['quantity'] },
    ],
    ['VERIFIED', 'reject', 'REJECTED', { ...SIGNAL, decision: 'HOLD', code: 'rejected' }],
    [
      'DISCREPANT',
      'reject',
      'REJECTED',
      { ...SIGNAL, decision: 'HOLD', code: 'rejected', failingRules: ['quantity'] },
    ],
  ]
  for (const [from, verdict, to, signal] of verdicts) {
    await t.test(`verdict: ${verdict} in state ${from}`, async () => {
      const record = await stepped(await app.reach(from), 'verdict', { body: { verdict } })
      assert.deepEqual([record.state, record.entry.kind], [to, 'verdict-rendered'])
      assert.deepEqual(record.nextEvents, to === 'REJECTED' ? ['verdict-overturned'] : [])
      const shown = assertStep(record.gated.verdict, record, principal.id)
      assert.deepEqual(shown, { verdict, signal, reason: null })
    })
  }

  await t.test('verdict: with a reason and validUntil', async () => {
    const body = { verdict: 'accept', reason: REASON, validUntil: '2031-01-01T00:00:00Z' }
    const record = await stepped(await app.reach('VERIFIED'), 'verdict', { body })
    const { signal, reason } = assertStep(record.gated.verdict, record, principal.id, REASON)
    assert.deepEqual([reason, signal.validUntil], [REASON, VALID_UNTIL])
  })

  await t.test('auto gate: the worker renders the verdict together with the verification', async () => {
    for (const [evidence, state, verdict, signal] of [
      [PASSING, 'ACCEPTED', 'accept', { ...SIGNAL, decision: 'SETTLE', code: 'rules_passed' }],
      [
        FAILING,
        'REJECTED',
        'reject',
        { ...SIGNAL, decision: 'HOLD', code: 'rules_failed', failingRules: ['quantity'] },
      ],
    ] as const) {
      const { id } = await app.create({ gate: 'auto' })
      await app.take(id, 'activate')
      await app.take(id, 'completions', { body: { evidence } })
      const record = await app.verify(id)
      assert.deepEqual([record.state, record.version, record.entry.kind], [state, 5, 'verdict-rendered'])
      assert.equal(record.gated.verification.seq, record.entry.seq - 1)
      const shown = assertStep(record.gated.verdict, record, 'system')
      assert.deepEqual(shown, { verdict, signal, reason: null })
    }
  })

  await t.test('revision: the record is ACTIVE again, with the reason', async () => {
    for (const from of ['VERIFIED', 'DISCREPANT']) {
      const record = await stepped(await app.reach(from), 'revision', { body: { reason: REASON } })
      assert.deepEqual([record.state, record.entry.kind], ['ACTIVE', 'revision-requested'])
      assert.deepEqual(record.nextEvents, ['completion-submitted', 'record-cancelled'])
      assert.equal(record.gated.revisions, 1)
      assert.deepEqual(assertStep(record.gated.revision, record, principal.id, REASON), { reason: REASON })
    }
  })

  await t.test('cancel: before a completion, with the reason', async () => {
    for (const from of ['CREATED', 'ACTIVE']) {
      const record = await stepped(await app.reach(from), 'cancel', { body: { reason: REASON } })
      assert.deepEqual(
        [record.state, record.entry.kind, record.nextEvents],
        ['CANCELLED', 'record-cancelled', []],
      )
      assert.deepEqual(assertStep(record.gated.cancellation, record, principal.id, REASON), {
        reason: REASON,
      })
    }
  })

  await t.test('overturn: the signal is RELEASE, and the rejection is still shown', async () => {
    const before = await app.reach('REJECTED')
    const record = await stepped(before, 'overturn', { body: { reason: REASON, validUntil: VALID_UNTIL } })
    assert.deepEqual([record.state, record.entry.kind], ['ACCEPTED', 'verdict-overturned'])
    assert.deepEqual(record.nextEvents, [])
    assert.deepEqual(record.gated.verdict, before.gated.verdict)
    assert.deepEqual(assertStep(record.gated.overturn, record, overturner.id, REASON), {
      signal: {
        decision: 'RELEASE',
        code: 'overturned',
        failingRules: ['quantity'],
        validUntil: VALID_UNTIL,
      },
      reason: REASON,
    })
  })

  await t.test('overturn: the principal may overturn a rejection by an auto gate', async () => {
    const { id } = await app.create({ gate: 'auto' })
    await app.take(id, 'activate')
    await app.take(id, 'completions', { body: { evidence: FAILING } })
    const record = await stepped(await app.verify(id), 'overturn', { as: 'principal' })
    assert.equal(record.state, 'ACCEPTED')
    assert.equal(record.gated.overturn.signal.decision, 'RELEASE')
  })
})

test('a revision', async (t) => {
  const app = await sharedGatedApp()

  await t.test('shows no verification of the earlier completion for the new one', async () => {
    const verified = await app.reach('DISCREPANT')
    await app.take(verified.id, 'revision')
    const submitted = await app.take(verified.id, 'completions')
    assert.notEqual(submitted.gated.completion.id, verified.gated.completion.id)
    assert.equal(submitted.gated.verification, null, 'the old verification is not of the new completion')
    const again = await app.verify(verified.id)
    assert.equal(again.gated.verification.outcome, 'pass')
    const { signal } = (await app.take(verified.id, 'verdict')).gated.verdict
    assert.deepEqual([signal.code, signal.failingRules], ['accepted', []])
  })

  await t.test('is refused with state_conflict above the agreed number', async () => {
    for (const maxRevisions of [0, 2]) {
      let record = await app.reach('VERIFIED', { maxRevisions })
      for (let n = 1; n <= maxRevisions; n++) {
        record = await app.take(record.id, 'revision')
        assert.equal(record.gated.revisions, n)
        await app.take(record.id, 'completions')
        record = await app.verify(record.id)
      }
      assert.deepEqual(record.nextEvents, ['verdict-rendered'])
      const before = await app.written()
      const refused = expectStatus(409, await app.step(record.id, 'revision')).json()
      assert.deepEqual(
        [refused.code, refused.state, refused.nextEvents],
        ['state_conflict', 'VERIFIED', ['verdict-rendered']],
      )
      assert.deepEqual(await app.written(), before)
      await app.take(record.id, 'verdict')
    }
  })
})
