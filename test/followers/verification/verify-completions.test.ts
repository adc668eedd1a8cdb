import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { readGatedCases } from '../../../src/db/records/gated-cases.ts'
import { EntryVerifier } from '../../../src/followers/audit/entry-verifier.ts'
import { followEntries } from '../../../src/followers/audit/follow-entries.ts'
import { PausedLedgers } from '../../../src/followers/checkpoints/faulty-ledgers.ts'
import { rotateKeys } from '../../../src/followers/rotation/rotate-keys.ts'
import { signVerification } from '../../../src/followers/verification/sign-verification.ts'
import { verifyCompletion } from '../../../src/followers/verification/verify-completion.ts'
import type { VerificationResult } from '../../../src/followers/verification/verify-completions.ts'
import type { Signers } from '../../../src/signing/signers.ts'
import { expectStatus } from '../../helpers/app.ts'
import { FAILING, type GatedApp, lendGatedApp, PASSING } from '../../helpers/gated-app.ts'
import { assertVerifies } from '../../helpers/verify-app.ts'
import { kidOf, makeRotator, rotateKey } from '../rotation/rotation.ts'
import { kindsOf, nameOf, openDeps, tamper, uuidOf, verifyAll } from './set-up.ts'

const submit = async (app: GatedApp, body: object, evidence: object = PASSING): Promise<string> => {
  const { id } = await app.reach('ACTIVE', body)
  await app.take(id, 'completions', { body: { evidence } })
  return id
}

function errorOf(result: VerificationResult): string {
  assert.equal(result.status, 'refused')
  return (result as { error: Error }).error.message
}

test('records the rules’ outcome, and renders a verdict only if the gate is auto', async (t) => {
  const app = await lendGatedApp(t)
  const deps = openDeps(t, app)
  const cases: [what: string, body: object, evidence: object, state: string, failing: string[]][] = [
    ['a completion that passes', {}, PASSING, 'VERIFIED', []],
    ['one that fails', {}, FAILING, 'DISCREPANT', ['quantity outside_tolerance']],
    ['one that passes, gate auto', { gate: 'auto' }, PASSING, 'ACCEPTED', []],
    [
      'one that fails, gate auto',
      { gate: 'auto' },
      { quantity: 100 },
      'REJECTED',
      ['currency actual_missing'],
    ],
    ['one of a type without rules', { type: 'task/1', gate: 'auto' }, {}, 'ACCEPTED', []],
    [
      'one within the tolerance that was agreed',
      { tolerances: { quantity: { percent: '10' } } },
      { quantity: 90, currency: 'EUR' },
      'VERIFIED',
      [],
    ],
    [
      'one beyond a stricter one',
      { tolerances: { quantity: { percent: '1' } } },
      { quantity: 98, currency: 'EUR' },
      'DISCREPANT',
      ['quantity outside_tolerance'],
    ],
  ]
  const ids: string[] = []
  for (const [, body, evidence] of cases) ids.push(await submit(app, body, evidence))
  const results = await verifyAll(deps, app, ...ids)
  assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(['done']))
  for (const [i, [what, , , state, failing]] of cases.entries()) {
    const { state: found, gated } = await app.get(ids[i]!)
    assert.equal(found, state, what)
    const failed = gated.verification.rules.filter(({ outcome }: { outcome: string }) => outcome === 'fail')
    assert.deepEqual(
      failed.map(({ id, code }: { id: string; code: string }) => `${id} ${code}`),
      failing,
      what,
    )
    assert.equal(gated.verification.by, 'system')
    const judged = { ACCEPTED: 'SETTLE', REJECTED: 'HOLD' }[state]
    assert.equal(gated.verdict?.signal.decision, judged, what)
  }
  assert.deepEqual(deps.observed, ['pass', 'fail', 'pass', 'fail', 'pass', 'pass', 'fail'])
  await assertVerifies(app)
})

test('erased evidence and erased payload get the codes actual_erased and expected_erased', async (t) => {
  const app = await lendGatedApp(t)
  const deps = openDeps(t, app)
  const withoutEvidence = await submit(app, {})
  const { completion } = (await app.get(withoutEvidence)).gated
  const withoutPayload = await submit(app, {})
  for (const path of [
    `${withoutEvidence}/completions/${completion.id}/evidence`,
    `${withoutPayload}/payload`,
  ])
    expectStatus(202, await app.send('DELETE', `/v1/records/${path}`, { body: { code: 'expired' } }))
  await verifyAll(deps, app, withoutEvidence, withoutPayload)
  const codes = async (id: string) =>
    (await app.get(id)).gated.verification.rules.map(({ code }: { code?: string }) => code)
  assert.deepEqual(await codes(withoutEvidence), ['actual_erased', 'actual_erased'])
  assert.deepEqual(await codes(withoutPayload), ['expected_erased', undefined])
  await assertVerifies(app)
})

test('writes no verification for records whose stored data contradicts their entries', async (t) => {
  const app = await lendGatedApp(t)
  const deps = openDeps(t, app)
  const other = await app.reach('SUBMITTED')
  const set = (id: string, what: string) =>
    tamper(app, `update tallystick.gated_records set ${what} where record_id = '${uuidOf(id)}'`)
  const ofSeq = (seq: number) =>
    `ledger_id = (select ledger_id from tallystick.gated_records limit 1) and seq = ${seq}`
  const sayErased = (seq: number, erasedBy: number) =>
    tamper(
      app,
      `insert into tallystick.erasures (ledger_id, subject_id, document, document_seq, seq)
       select ledger_id, subject_id, document, seq, ${erasedBy} from tallystick.documents where ${ofSeq(seq)}`,
    )
  const attacks: [what: string, attack: (id: string, seq: number) => Promise<unknown>, code: string][] = [
    ['another gate', (id) => set(id, "gate = 'auto'"), 'columns_contradict_entries'],
    ['another version', (id) => set(id, 'version = 4'), 'version_mismatch'],
    [
      'another state, on an auto gate',
      (id) => set(id, "gate = 'auto', state = 'VERIFIED'"),
      'transition_refused',
    ],
    [
      'other evidence',
      (_, seq) =>
        tamper(
          app,
          `update tallystick.documents set content = '{"currency":"EUR","quantity":101}' where ${ofSeq(seq)}`,
        ),
      'document_digest',
    ],
    [
      'no evidence',
      (_, seq) => tamper(app, `delete from tallystick.documents where ${ofSeq(seq)}`),
      'document_presence',
    ],
    [
      'another payload',
      (id) =>
        tamper(
          app,
          `update tallystick.records set payload = '{"quantity":101}' where record_id = '${uuidOf(id)}'`,
        ),
      'document_digest',
    ],
    ['evidence that is said to be erased', (_, seq) => sayErased(seq, seq + 1_000), 'erasure_unexplained'],
    [
      'evidence that is said to be erased by an entry about something else',
      async (_, seq) => sayErased(seq, (await app.notarize()).entry.seq),
      'erasure_unexplained',
    ],
    [
      'the completion of another record',
      (_, seq) =>
        tamper(
          app,
          `update tallystick.entries e set leaf = o.leaf, envelope = o.envelope, recorded_at = o.recorded_at
           from tallystick.entries o
           where o.seq = ${other.entry.seq} and o.ledger_id = e.ledger_id and e.seq = ${seq}`,
        ),
      'transition_refused',
    ],
  ]
  for (const [what, attack, code] of attacks) {
    await t.test(what, async () => {
      const { id, entry } = await app.reach('SUBMITTED')
      await attack(id, entry.seq)
      const before = await app.written()
      const [result, good] = await verifyAll(deps, app, id, other.id)
      assert.match(errorOf(result!), new RegExp(`^${code}:`))
      assert.equal(good!.status, 'done')
      if (what !== attacks[0]![0]) assert.deepEqual(await app.written(), before)
    })
  }
  assert.equal(deps.observed.filter((outcome) => outcome === 'refused').length, attacks.length)
})

test('refuses to act on an old verification inserted again after a revision', async (t) => {
  const app = await lendGatedApp(t)
  const deps = openDeps(t, app)
  const { id } = await app.reach('VERIFIED')
  await app.take(id, 'revision')
  await app.take(id, 'completions', { body: { evidence: FAILING } })
  const before = await kindsOf(app, id)
  const record = uuidOf(id)
  // An attacker replaces the worker's next step by a copy of an older step. The first attack puts the copy at the end
  // of the chain, the second at the position of the original.
  await tamper(
    app,
    `insert into tallystick.entries (ledger_id, seq, kind, subject_id, version, prev_seq, recorded_at, leaf, chain, envelope)
     select e.ledger_id, h.size, e.kind, e.subject_id, 7, g.last_seq, e.recorded_at, e.leaf, e.chain, e.envelope
     from tallystick.entries e join tallystick.chain_heads h using (ledger_id)
     join tallystick.gated_records g on g.ledger_id = e.ledger_id and g.record_id = e.subject_id
     where e.subject_id = '${record}' and e.kind = 'completion-verified'`,
  )
  await tamper(
    app,
    `update tallystick.chain_heads h set size = h.size + 1, chain = e.chain
     from tallystick.entries e where e.ledger_id = h.ledger_id and e.seq = h.size`,
  )
  const stand = (state: string, version: number) =>
    tamper(
      app,
      `update tallystick.gated_records g set gate = 'auto', state = '${state}', version = ${version},
         last_seq = (select seq from tallystick.entries e where e.subject_id = g.record_id and e.version = ${version})
       where record_id = '${record}'`,
    )
  const codes = { 7: 'transition_refused', 4: 'version_mismatch' }
  for (const [version, code] of Object.entries(codes)) {
    await stand('VERIFIED', Number(version))
    assert.match(errorOf((await verifyAll(deps, app, id))[0]!), new RegExp(`^${code}:`))
  }
  assert.deepEqual(await kindsOf(app, id), [...before, 'completion-verified'])
})

test('an auto-gated record set back to an earlier state gets no second verdict', async (t) => {
  const app = await lendGatedApp(t)
  const id = await submit(app, { gate: 'auto' }, FAILING)
  const deps = openDeps(t, app)
  await verifyAll(deps, app, id)
  await tamper(
    app,
    `update tallystick.gated_records g set state = 'DISCREPANT', version = 4,
       last_seq = (select seq from tallystick.entries e where e.subject_id = g.record_id and e.version = 4)
     where record_id = '${uuidOf(id)}'`,
  )
  const before = await kindsOf(app, id)
  assert.match(errorOf((await verifyAll(deps, app, id))[0]!), /^version_mismatch:/)
  assert.deepEqual(await kindsOf(app, id), before)
})

test('refuses with type_unknown a type whose definition does not match its digest', async (t) => {
  const app = await lendGatedApp(t)
  const { id } = await app.reach('SUBMITTED')
  await tamper(app, 'alter table tallystick.types drop constraint types_digest')
  await tamper(
    app,
    `update tallystick.types set definition = replace(convert_from(definition, 'UTF8'), '"5"', '"9"')::bytea where name = 'delivery/1'`,
  )
  const [result] = await verifyAll(openDeps(t, app), app, id)
  assert.match(errorOf(result!), /^type_unknown:/)
})

test('several workers at once verify each completion once', async (t) => {
  const app = await lendGatedApp(t)
  const workers = [openDeps(t, app), openDeps(t, app), openDeps(t, app)]
  const ids = await Promise.all(
    Array.from({ length: 12 }, (_, i) => submit(app, { gate: i % 2 ? 'auto' : 'principal' })),
  )
  const results = await Promise.all(workers.map((deps) => verifyAll(deps, app, ...ids)))
  assert.deepEqual(new Set(results.flat().map(({ status }) => status)), new Set(['done']))
  const kinds = (await app.entries()).map(({ kind }) => kind)
  assert.equal(kinds.filter((kind) => kind === 'completion-verified').length, ids.length)
  assert.equal(kinds.filter((kind) => kind === 'verdict-rendered').length, ids.length / 2)
  assert.equal(workers.flatMap(({ observed }) => observed).length, ids.length)
  await assertVerifies(app)
})

test('verifies a completion although the ledger’s key changed between reading and writing', async (t) => {
  const app = await lendGatedApp(t)
  const deps = openDeps(t, app)
  const rotator = makeRotator(t, app)
  const { id } = await app.reach('SUBMITTED')
  let rotations = 0
  const signers = {
    async signerOf(ledger: Parameters<Signers['signerOf']>[0]) {
      const signer = await deps.signers.signerOf(ledger)
      if (rotations++ === 0) {
        await rotateKey(app)
        await rotateKeys(rotator)
      }
      return signer
    },
  } as Signers
  const oldKid = await kidOf(app)
  const [result] = await verifyAll({ ...deps, signers }, app, id)
  assert.equal(result!.status, 'done')
  assert.equal(rotations, 2)
  assert.notEqual(await kidOf(app), oldKid)
  assert.equal((await app.get(id)).state, 'VERIFIED')
  await assertVerifies(app)
})

test('does not read again the envelopes that the follower has verified', async (t) => {
  const app = await lendGatedApp(t)
  const deps = openDeps(t, app)
  const { known } = deps.envelopeKeys
  const find = known.findEnvelope.bind(known)
  const found: boolean[] = []
  known.findEnvelope = (leaf) => {
    const envelope = find(leaf)
    found.push(envelope !== null)
    return envelope
  }
  const unfollowed = await submit(app, {})
  assert.deepEqual(await verifyAll(deps, app, unfollowed), [{ status: 'done' }])
  assert.deepEqual(found.splice(0), [false, false])

  const followed = await submit(app, {})
  const verifier = new EntryVerifier()
  t.after(() => verifier.close())
  await app.sql('delete from tallystick.audit_cursors')
  while (await followEntries({ ...deps, verifier, pausedLedgers: new PausedLedgers(Date.now) }));
  assert.deepEqual(await verifyAll(deps, app, followed), [{ status: 'done' }])
  assert.deepEqual(found, [true, true])
  assert.equal((await app.get(followed)).state, 'VERIFIED')
  await assertVerifies(app)
})

test('renders the missing verdict after an existing verification, without a second verification', async (t) => {
  const app = await lendGatedApp(t)
  const deps = openDeps(t, app)
  const id = await submit(app, { gate: 'auto' }, FAILING)
  const [found] = await readGatedCases(deps.pool, { ...deps, known: deps.envelopeKeys.known }, [
    nameOf(app, id),
  ])
  const signing = { signer: await app.deps.signers.load(), entropy: deps.entropy, nowMs: Date.now() }
  const rules = [{ id: 'quantity', outcome: 'fail', code: 'outside_tolerance' }] as const
  const judgement = { outcome: 'fail', rules, values: [] } as const
  const pair = signVerification(signing, found!, await verifyCompletion(deps.envelopeKeys, found!), judgement)
  const client = await deps.pool.connect()
  const answers = await appendEntries(client, pair.slice(0, 1))
  client.release()
  assert.equal(answers[0]!.outcome, 'appended')
  assert.equal((await app.get(id)).state, 'DISCREPANT')
  const [result] = await verifyAll(deps, app, id)
  assert.equal(result!.status, 'done')
  const { state, gated } = await app.get(id)
  assert.equal(state, 'REJECTED')
  assert.deepEqual(gated.verdict.signal.failingRules, ['quantity'])
  await assertVerifies(app)
})

test('a completion fails while the worker’s clock is late, and is verified on a retry', async (t) => {
  const app = await lendGatedApp(t)
  const deps = openDeps(t, app)
  const { id } = await app.reach('SUBMITTED')
  const late = { ...deps, now: () => Date.now() - 60_000 }
  const [result] = await verifyAll(late, app, id)
  assert.equal(result!.status, 'failed')
  assert.match((result as { error: Error }).error.message, /clock/)
  const [unknown] = await verifyAll(deps, app, (await app.notarize()).id)
  assert.equal(unknown!.status, 'done', 'there is nothing to say about what is not gated')
  assert.equal((await verifyAll(deps, app, id))[0]!.status, 'done')
})
