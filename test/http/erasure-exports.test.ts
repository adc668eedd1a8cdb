import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { buildTestApp, expectStatus, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { openEraser } from '../helpers/eraser.ts'
import { sharedGatedApp } from '../helpers/gated-app.ts'
import { documentsOf, eraseAt, makePersonalGated } from '../helpers/personal-gated.ts'
import { assertIntact, erase, linesOf, PERSONAL, postBatch, SECRET } from '../helpers/personal-records.ts'
import { runs } from '../helpers/runs.ts'
import { sharedApp } from '../helpers/shared-app.ts'

test('an export verifies, whatever is erased meanwhile', async (t) => {
  const app = await sharedApp()
  const eraser = openEraser(t, app)

  await t.test(
    'an erasure before the document’s line is read extends the export up to the erasure’s entry',
    async (t) => {
      const [first, second] = [await app.notarize(PERSONAL), await app.notarize(PERSONAL)]
      onQuery(t, app, 'read_entries', [async () => void expectStatus(202, await erase(app, first.id))])
      const text = (await app.send('GET', '/v1/export')).body
      const lines = linesOf(text)
      assert.equal(lines.at(-1).kind, 'payload-erased')
      assert.equal(lines[first.entry.seq].documents[0].erasedBy, lines.at(-1).seq)
      assert.equal(lines[second.entry.seq].documents[0].erasedBy, null)
      await assertIntact(text, lines.length)
    },
  )

  await t.test('a second erasure within the added entries extends the export again', async (t) => {
    const first = await app.notarize(PERSONAL)
    let later = { id: '', entry: { seq: 0 } }
    onQuery(t, app, 'read_entries', [
      async () => {
        later = await app.notarize(PERSONAL)
        expectStatus(202, await erase(app, first.id))
        await app.notarize(PERSONAL)
      },
      async () => {
        expectStatus(202, await erase(app, later.id))
        await eraser.run()
      },
    ])
    const text = (await app.send('GET', '/v1/export')).body
    const lines = linesOf(text)
    assert.equal(lines[later.entry.seq].documents[0].erasedBy, lines.at(-1).seq)
    await assertIntact(text, lines.length)
  })

  await t.test('a request for a range of entries is not extended by an erasure', async (t) => {
    const record = await app.notarize(PERSONAL)
    onQuery(t, app, 'read_entries', [async () => void expectStatus(202, await erase(app, record.id))])
    const after = record.entry.seq - 1
    const lines = await app.entries(`?after=${after}&limit=1`)
    assert.deepEqual(
      lines.map((line) => line.seq),
      [record.entry.seq],
    )
    const erasedBy = lines[0].documents[0].erasedBy
    const [next] = await app.entries(`?after=${erasedBy - 1}&limit=1`)
    assert.equal(next.kind, 'payload-erased', 'the next pages hold it')
  })

  await t.test('a document erased after its line was read is still exported', async (t) => {
    const record = await app.notarize(PERSONAL)
    onQuery(t, app, 'find_checkpoint', [async () => void expectStatus(202, await erase(app, record.id))])
    const text = (await app.send('GET', '/v1/export')).body
    assert.equal(linesOf(text)[record.entry.seq].documents[0].document.name, SECRET)
    await assertIntact(text, linesOf(text).length)
  })

  await t.test(
    'erasures in a batch extend the export, before and after the worker removed the records',
    async (t) => {
      for (const isTaken of [false, true]) {
        const batch = expectStatus(201, await postBatch(app, 70)).json()
        const erased = [batch.records[1].id, batch.records[69].id]
        const restore = onQuery(t, app, 'read_entry_chunks', [
          async () => {
            for (const id of erased) expectStatus(202, await erase(app, id))
            if (isTaken) await eraser.run()
          },
        ])
        const text = (await app.send('GET', '/v1/export')).body
        restore()
        const lines = linesOf(text)
        const { documents } = lines[batch.entry.seq]
        const last = lines.at(-1).seq
        assert.deepEqual(
          documents.map((one: { erasedBy: number | null }) => one.erasedBy),
          documents.map((_: unknown, i: number) => (i === 1 ? last - 1 : i === 69 ? last : null)),
        )
        await assertIntact(text, lines.length)
      }
    },
  )

  await t.test('erasures at random moments, with a worker running', async (t) => {
    const ids = await Promise.all(
      Array.from({ length: runs(40, 12) }, async () => (await app.notarize(PERSONAL)).id),
    )
    const batches = await Promise.all([postBatch(app, runs(20)), postBatch(app, runs(20))])
    const items = batches.flatMap((batch) => batch.json().records.map((one: { id: string }) => one.id))
    const left = [...ids, ...items].sort(() => Math.random() - 0.5)
    const step = async () => {
      for (const id of left.splice(0, 1 + Math.floor(Math.random() * 3)))
        expectStatus(202, await erase(app, id))
      if (Math.random() < 0.5) await app.notarize(PERSONAL)
      if (Math.random() < 0.5) await eraser.run()
    }
    for (let round = 0; left.length > 0; round++) {
      const query = ['read_entries', 'read_entry_records', 'read_entry_chunks'][round % 3]!
      const restore = onQuery(t, app, query, [step, step, step])
      const text = (await app.send('GET', '/v1/export')).body
      restore()
      await assertIntact(text, linesOf(text).length)
    }
  })
})

test('an export verifies, whatever of a gated record is erased meanwhile', async (t) => {
  const app = await sharedGatedApp()
  const eraser = openEraser(t, app)

  await t.test(
    'an erasure before the document’s line is read extends the export up to the erasure’s entry',
    async (t) => {
      const [, evidence, values, reason] = documentsOf(await makePersonalGated(app))
      for (const { address, seq } of [evidence!, values!, reason!]) {
        const restore = onQuery(t, app, 'read_entry_documents', [
          async () => {
            expectStatus(202, await eraseAt(app, address))
            await eraser.run()
          },
        ])
        const text = (await app.send('GET', '/v1/export')).body
        restore()
        const lines = linesOf(text)
        assert.equal(lines.at(-1).kind, 'payload-erased')
        assert.equal(lines[seq].documents[0].erasedBy, lines.at(-1).seq)
        await assertIntact(text, lines.length)
      }
    },
  )

  await t.test('a document erased after its line was read is still exported', async (t) => {
    const [, evidence] = documentsOf(await makePersonalGated(app))
    onQuery(t, app, 'find_checkpoint', [
      async () => void expectStatus(202, await eraseAt(app, evidence!.address)),
    ])
    const text = (await app.send('GET', '/v1/export')).body
    assert.equal(linesOf(text)[evidence!.seq].documents[0].document.currency, SECRET)
    await assertIntact(text, linesOf(text).length)
  })
})

test('an export that needs a key missing from its first line is answered 503 unavailable', async (t) => {
  const app = await buildTestApp(t)
  const record = await app.notarize()
  onQuery(t, app, 'read_entries', [
    async () => {
      expectStatus(202, await erase(app, record.id))
      await app.sql(
        `insert into tallystick.server_keys (kid, use, alg, spki)
         select sha256(kid), 'envelope', alg, spki from tallystick.server_keys where use = 'envelope'`,
      )
    },
  ])
  const problem = assertProblem(await app.send('GET', '/v1/export'), 503, 'unavailable')
  assert.equal(problem['retryable'], true)
})

/**
 * Intercepts the application's queries with this name. The first function of `works` runs before the first query, the
 * second before the second query, and so on.
 */
function onQuery(t: TestContext, app: TestApp, name: string, works: (() => Promise<void>)[]): () => void {
  const { readPool } = app.deps
  const { query } = readPool
  const restore = () => {
    readPool.query = query
  }
  t.after(restore)
  readPool.query = async function (this: unknown, ...parameters: unknown[]) {
    const [asked] = parameters as [{ name?: string }]
    if (asked.name === name) await works.shift()?.()
    return Reflect.apply(query, readPool, parameters)
  } as unknown as typeof query
  return restore
}
