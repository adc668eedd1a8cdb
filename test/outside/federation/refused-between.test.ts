import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseBetween, startRefused } from '../../helpers/refused-between.ts'
import { until } from '../../helpers/wait.ts'

const PATIENCE_MS = 60_000

test('when a proxy between two servers refuses', async (t) => {
  const stage = await startRefused(t)
  const { home, id, proxy, makeRecord, has } = stage
  const getDrain = async () => (await home.ask('GET', `/v1/peers/${id}`)).drain

  await t.test(
    'one record by size and one by content, all others arrive, and both are dead letters',
    async () => {
      const outcome = await refuseBetween(stage, { records: 20, patienceMs: PATIENCE_MS })
      assert.deepEqual(outcome.missing, outcome.refused)
      assert.deepEqual(outcome.codes, ['request_refused', 'request_too_large'])
      assert.deepEqual([outcome.drain.failures, outcome.drain.lastError], [0, null])
      assert.ok(outcome.requestBytes! > 0)
      assert.ok(outcome.refusals <= 20, `${outcome.refusals} requests were refused`)
      await outcome.mend()
      assert.deepEqual(await outcome.listMissing(), [])
    },
  )

  for (const [status, code] of [
    [403, 'request_refused'],
    [413, 'request_too_large'],
  ] as const) {
    await t.test(
      `everything with ${status}, it is a failure without dead letters, and replay delivers all`,
      async () => {
        proxy.refuse = () => status
        const records = [await makeRecord('one'), await makeRecord('two')]
        const message = `${code}: the peer answered ${status} in an unknown form`
        await until(async () => (await getDrain()).lastError === message, PATIENCE_MS)
        assert.deepEqual((await home.ask('GET', `/v1/peers/${id}/dead-letters`)).data, [])
        proxy.refuse = () => null
        await home.ask('POST', `/v1/peers/${id}/replay`, { body: {} })
        for (const record of records) await until(() => has(record), PATIENCE_MS)
      },
    )
  }

  await t.test('every other request of a record, the second try delivers the record', async () => {
    const flaky = await sendFlaky((times) => (times % 2 === 1 ? 403 : null))
    await until(() => has(flaky.record), PATIENCE_MS)
    await until(async () => (await getDrain()).behind === 0, PATIENCE_MS)
    assert.deepEqual([flaky.tries(), (await getDrain()).lastError], [2, null])
  })

  await t.test(
    'a record once and then answers without receipts, the drain fails with unexpected_answer',
    async () => {
      const flaky = await sendFlaky((times) => [403, 200][times - 1] ?? null)
      const message = 'unexpected_answer: the answer does not have one outcome for each entry'
      await until(async () => (await getDrain()).lastError === message, PATIENCE_MS)
      assert.equal(flaky.tries(), 2)
      await home.ask('POST', `/v1/peers/${id}/replay`, { body: {} })
      await until(() => has(flaky.record), PATIENCE_MS)
    },
  )

  /**
   * Shares a record. The proxy calls `refuse` with the number of tries so far. `refuse` returns the status that the
   * proxy answers, or null if the request passes.
   */
  async function sendFlaky(refuse: (times: number) => number | null) {
    await until(async () => (await getDrain()).behind === 0, PATIENCE_MS)
    const word = `flaky ${Math.random()}`
    let tries = 0
    proxy.refuse = (body) => (body.includes(word) ? refuse(++tries) : null)
    return { record: await makeRecord(word), tries: () => tries }
  }

  await t.test('nothing but cuts answers, the requests are repeated and the record arrives', async () => {
    await until(async () => (await getDrain()).behind === 0, PATIENCE_MS)
    proxy.refuse = () => null
    let cuts = 0
    proxy.cut = () => cuts++ < 2
    const record = await makeRecord('cut')
    const errors = new Set<string>()
    await until(async () => {
      const { behind, lastError } = await getDrain()
      if (lastError !== null) errors.add(lastError)
      return behind === 0 && has(record)
    }, PATIENCE_MS)
    assert.deepEqual([...errors], ['reset: the connection was closed in the middle of the answer'])
  })
})
