import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../../src/db/connect/client.ts'
import { parseId } from '../../src/proof/ids.ts'
import { expectStatus } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { openEraser, takenAway } from '../helpers/eraser.ts'
import { type GatedApp, sharedGatedApp } from '../helpers/gated-app.ts'
import { addKey } from '../helpers/more-keys.ts'
import { openEnvelope } from '../helpers/open-envelope.ts'
import {
  documentsOf,
  eraseAt,
  makePersonalGated,
  PERSONAL_EVIDENCE,
  PERSONAL_REASON,
} from '../helpers/personal-gated.ts'
import { assertVerifies, ERASE, SECRET } from '../helpers/personal-records.ts'
import { assertVerifies as assertDatabaseVerifies } from '../helpers/verify-app.ts'

const NOBODY = '01jegv5gyme05800000000000a'

test('every document of a gated record can be erased', async (t) => {
  const app = await sharedGatedApp()
  const eraser = openEraser(t, app)
  const personal = await makePersonalGated(app)
  const other = await makePersonalGated(app)
  const { id } = personal
  const before = await app.get(id)
  const documents = documentsOf(personal)
  const [payload, ...others] = documents
  const secrets = async (urls: string[]) => {
    const bodies = await Promise.all(urls.map(async (url) => (await app.send('GET', url)).body))
    return bodies.map((body) => body.split(SECRET).length - 1)
  }
  const OF_RECORD = [`/v1/records/${id}`, `/v1/records/${id}/entries?limit=200`]
  const found = async () => {
    const { data } = (await app.send('GET', `/v1/records?reference=${SECRET}`)).json()
    return data.map((one: { id: string }) => one.id)
  }
  const OF_LEDGER = ['/v1/entries', '/v1/export']
  const ofBoth = await secrets(OF_LEDGER)

  await t.test('the answer lists the record’s remaining documents', async () => {
    const { erasure, remaining } = expectStatus(202, await eraseAt(app, payload!.address)).json()
    assert.deepEqual(remaining, others)
    assert.deepEqual(
      [erasure.document, erasure.documentSeq, erasure.completion],
      ['payload', payload!.seq, null],
    )
  })

  await t.test('erasing the listed documents one by one leaves none, each with its own entry', async () => {
    const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
    for (const [place, { document, seq, completion, address }] of others.entries()) {
      const { erasure, remaining } = expectStatus(202, await eraseAt(app, address, { body: ERASE })).json()
      assert.deepEqual(remaining, others.slice(place + 1))
      const { entry, recordedAt, ...said } = erasure
      const by = app.ledger.agent.id
      const key = app.ledger.key.id
      assert.deepEqual(said, { document, documentSeq: seq, completion, ...ERASE, by, key })

      const [digesting] = await app.entries(`?after=${seq - 1}&limit=1`)
      const [line] = await app.entries(`?after=${entry.seq - 1}&limit=1`)
      assert.deepEqual(entry, { seq: line.seq, kind: 'payload-erased', leaf: line.leaf, chain: line.chain })
      const { statement } = openEnvelope(line.envelope, keys)
      const [{ subject, digest }] = digesting.documents
      assert.deepEqual(statement.subject, [{ name: subject, digest: { sha256: digest } }])
      assert.deepEqual(statement.predicate, {
        ...{ ledger: app.ledger.ledger.id, actor: by, key, recordedAt },
        ...{ seq, code: ERASE.code },
      })
    }
  })

  await t.test('no reader shows an erased document, as soon as its entry is written', async () => {
    assert.deepEqual([await secrets(OF_RECORD), await found()], [[0, 0], [other.id]])
    assert.deepEqual(
      await secrets(OF_LEDGER),
      ofBoth.map((count) => count / 2),
    )
    await assertVerifies(app)
  })

  await t.test('the record shows which entry erased each document, and is otherwise unchanged', async () => {
    const after = await app.get(id)
    const { completion, verification, revision, verdict, overturn } = before.gated
    const erasedBy = (step: { seq: number }) => {
      const place = documents.findIndex(({ seq }) => seq === step.seq)
      return { ...step, salt: null, erasedBy: after.erasure.seq + place }
    }
    assert.deepEqual(after, {
      ...before,
      ...{ payload: null, salt: null, metadata: null, references: null, erasure: after.erasure },
      gated: {
        ...before.gated,
        completion: { ...erasedBy(completion), evidence: null },
        verification: { ...erasedBy(verification), values: null },
        revision: { ...erasedBy(revision), reason: null },
        verdict: { ...erasedBy(verdict), reason: null },
        overturn: { ...erasedBy(overturn), reason: null },
      },
    })
  })

  await t.test('the worker removes the documents of this record only', async () => {
    await eraser.run()
    assert.equal(takenAway(eraser.logged, app.ledger.ledger.id), documents.length)
    assert.ok(eraser.logged.every(({ level, ledger }) => level === 'info' || ledger !== app.ledger.ledger.id))
    assert.deepEqual(
      await stored(app),
      documentsOf(other).map(({ seq }) => seq),
    )
    assert.deepEqual([await secrets(OF_RECORD), await found()], [[0, 0], [other.id]])
    await assertVerifies(app)
    await assertDatabaseVerifies(app)
    await withClient(app.database.superuserUrl, (client) =>
      checkLedger(client, parseId('led', app.ledger.ledger.id)),
    )
  })
})

test('one document of a gated record is erased alone', async (t) => {
  const app = await sharedGatedApp()
  const eraser = openEraser(t, app)
  const headers = (step: string) => ({ 'idempotency-key': `key of ${step}`.replaceAll(' ', '-') })
  const { id } = await app.create({}, { headers: headers('create') })
  await app.take(id, 'activate', { headers: headers('activate') })
  const completions = { body: { evidence: PERSONAL_EVIDENCE }, headers: headers('completions') }
  const { gated } = await app.take(id, 'completions', completions)
  await app.verify(id)
  const verdict = { body: { verdict: 'reject', ...PERSONAL_REASON }, headers: headers('verdict') }
  const judged = await app.take(id, 'verdict', verdict)
  const address = `/v1/records/${id}/entries/${judged.entry.seq}/reason`
  const { entry } = expectStatus(202, await eraseAt(app, address)).json().erasure

  const hidden = { ...judged.gated.verdict, reason: null, salt: null, erasedBy: entry.seq }
  const shown = { ...judged, gated: { ...judged.gated, verdict: hidden } }

  await t.test('the other documents are shown as before', async () => {
    assert.deepEqual(await app.get(id), shown)
    await eraser.run()
    assert.deepEqual(await app.get(id), shown)
  })

  await t.test('only the request that wrote the document can no longer be replayed', async () => {
    const again = await app.step(id, 'completions', completions)
    assert.equal(again.headers['idempotency-replayed'], 'true')
    assert.deepEqual(again.json().gated.completion, gated.completion)
    assertProblem(await app.step(id, 'verdict', verdict), 422, 'idempotency_key_reused')
    const forgotten = await app.sql(
      'select from tallystick.idempotency_keys where ledger_id = $1 and fingerprint is null',
      [app.ledgerId],
    )
    assert.equal(forgotten.length, 1)
  })

  await t.test('of two reasons of one record only the named one is erased', async () => {
    const overturned = await app.take(id, 'overturn', { body: PERSONAL_REASON })
    expectStatus(202, await eraseAt(app, `/v1/records/${id}/entries/${overturned.entry.seq}/reason`))
    await eraser.run()
    const { overturn, verdict } = (await app.get(id)).gated
    assert.deepEqual([overturn.reason, verdict.erasedBy], [null, entry.seq])
    assert.ok(overturn.erasedBy > entry.seq)
  })
})

test('evidence and payload are erased while their completion waits for verification', async (t) => {
  const app = await sharedGatedApp()
  const eraser = openEraser(t, app)
  const { id, gated } = await app.reach('SUBMITTED', { payload: { quantity: 100, name: SECRET } })
  const evidence = `/v1/records/${id}/completions/${gated.completion.id}/evidence`
  const { remaining } = expectStatus(202, await eraseAt(app, evidence)).json()
  assert.deepEqual(
    remaining.map((one: { document: string }) => one.document),
    ['payload'],
  )
  expectStatus(202, await eraseAt(app, `/v1/records/${id}/payload`))
  const waiting = await app.get(id)
  assert.deepEqual([waiting.state, waiting.nextEvents], ['SUBMITTED', ['completion-verified']])
  await eraser.run()

  await t.test('the verification compares no erased values, and is DISCREPANT', async () => {
    const { state, gated } = await app.verify(id)
    assert.equal(state, 'DISCREPANT')
    assert.doesNotMatch(JSON.stringify(gated.verification.values), new RegExp(`${SECRET}|100`))
    await assertVerifies(app)
  })

  await t.test('a repeated erasure gets already_ended and lists the new values document', async () => {
    const problem = assertProblem(await eraseAt(app, evidence), 409, 'already_ended')
    const [{ document, completion }] = problem['remaining'] as [{ document: string; completion: string }]
    assert.deepEqual([document, completion], ['values', gated.completion.id])
  })
})

test('a record with erased documents can take further steps', async (t) => {
  const app = await sharedGatedApp()
  const eraser = openEraser(t, app)
  const { id } = await app.reach('VERIFIED')
  const { remaining } = expectStatus(202, await eraseAt(app, `/v1/records/${id}/payload`)).json()
  for (const { address } of remaining) expectStatus(202, await eraseAt(app, address))
  await eraser.run()
  await app.take(id, 'revision')
  await app.take(id, 'completions')
  const { state, gated } = await app.verify(id)
  assert.deepEqual([state, gated.verification.rules[0].code], ['DISCREPANT', 'expected_erased'])
  assert.equal((await app.take(id, 'verdict')).state, 'ACCEPTED')
  await assertVerifies(app)
  await assertDatabaseVerifies(app)
})

test('DELETE of a document of a gated record', async (t) => {
  const app = await sharedGatedApp()
  const personal = await makePersonalGated(app)
  const [, evidence, values, reason] = documentsOf(personal)

  for (const { document, address } of [evidence!, values!, reason!]) {
    await t.test(`refuses to erase ${document} a second time`, async () => {
      const first = expectStatus(202, await eraseAt(app, address)).json()
      const before = await app.written()
      for (const headers of [{}, { 'idempotency-key': `second-${document}` }]) {
        const problem = assertProblem(await eraseAt(app, address, { headers }), 409, 'already_ended')
        assert.deepEqual([problem['seq'], problem['remaining']], [first.erasure.entry.seq, first.remaining])
        assert.match(problem['detail'] as string, new RegExp(`^the ${document} .* was erased by entry \\d+$`))
      }
      assert.deepEqual(await app.written(), before)
    })

    await t.test(`answers a retry of the erasure of ${document} with the first answer`, async () => {
      const target = documentsOf(await makePersonalGated(app)).find((one) => one.document === document)!
      const headers = { 'idempotency-key': `erase-${document}` }
      const first = expectStatus(202, await eraseAt(app, target.address, { headers }))
      for (const { address } of first.json().remaining) expectStatus(202, await eraseAt(app, address))
      const again = expectStatus(202, await eraseAt(app, target.address, { headers }))
      assert.equal(again.headers['idempotency-replayed'], 'true')
      assert.equal(again.body, first.body)
    })

    await t.test(`of simultaneous requests to erase ${document} one succeeds`, async () => {
      const target = documentsOf(await makePersonalGated(app)).find((one) => one.document === document)!
      const answers = await Promise.all(Array.from({ length: 5 }, () => eraseAt(app, target.address)))
      const won = answers.filter((answer) => answer.statusCode === 202)
      assert.equal(won.length, 1)
      for (const answer of answers.filter((one) => one !== won[0]))
        assert.equal(assertProblem(answer, 409, 'already_ended')['seq'], won[0]!.json().erasure.entry.seq)
    })

    await t.test(`needs the scope payloads:erase to erase ${document}`, async () => {
      const target = documentsOf(await makePersonalGated(app)).find((one) => one.document === document)!
      const writer = await addKey(app, { scopes: ['records:write', 'records:read', 'keys:manage'] })
      const refused = assertProblem(await eraseAt(app, target.address, { key: writer }), 403, 'forbidden')
      assert.equal(refused['scope'], 'payloads:erase')
      const key = await addKey(app, { scopes: ['payloads:erase'] })
      expectStatus(202, await eraseAt(app, target.address, { key }))
    })
  }

  await t.test('answers 404 for a document that this record does not have', async () => {
    const { id, completions, firstSeq } = await makePersonalGated(app)
    const [mine] = completions
    const another = await makePersonalGated(app)
    const waiting = await app.reach('SUBMITTED')
    const notarized = await app.notarize()
    const elsewhere = await app.newLedger()
    const of = (record: string, rest: string) => `/v1/records/${record}/${rest}`
    const none: string[] = [
      of(id, `completions/${another.completions[0]}/evidence`),
      of(id, `completions/${another.completions[0]}/values`),
      of(id, `completions/cmp_${NOBODY}/evidence`),
      of(id, `completions/${id}/evidence`),
      of(`rec_${NOBODY}`, `completions/${mine}/evidence`),
      of(notarized.id, `completions/${mine}/evidence`),
      of(mine, `completions/${mine}/evidence`),
      of(waiting.id, `completions/${waiting.gated.completion.id}/values`),
      of(id, `entries/${another.firstSeq + 4}/reason`),
      of(another.id, `entries/${firstSeq + 4}/reason`),
      of(notarized.id, `entries/${notarized.entry.seq}/reason`),
      ...[0, 1, 2, 3].map((step) => of(id, `entries/${firstSeq + step}/reason`)),
      ...['-1', '1.5', '0x1', '', '999999999999999', '9999999999999999', 'x'].map((seq) =>
        of(id, `entries/${seq}/reason`),
      ),
    ]
    const before = await app.written()
    for (const address of none) assertProblem(await eraseAt(app, address), 404, 'not_found')
    const foreign = [
      of(id, `completions/${mine}/evidence`),
      of(id, `completions/${mine}/values`),
      of(id, `entries/${firstSeq + 4}/reason`),
    ]
    for (const address of foreign)
      assertProblem(await eraseAt(app, address, { key: elsewhere.key.key }), 404, 'not_found')
    assert.deepEqual(await app.written(), before)
  })
})

/** Returns the seqs of all entries whose documents contain the name. */
async function stored(app: GatedApp): Promise<number[]> {
  const rows = await app.sql<{ seq: string }>(
    `select seq from (
       select ledger_id, first_seq as seq, payload || coalesce(metadata, '') || coalesce(reference_list, '') as content
       from tallystick.records
       union all
       select ledger_id, seq, content from tallystick.documents
     ) d
     where ledger_id = $1 and position(convert_to($2, 'UTF8') in content) > 0 order by seq`,
    [app.ledgerId, SECRET],
  )
  return rows.map(({ seq }) => Number(seq))
}
