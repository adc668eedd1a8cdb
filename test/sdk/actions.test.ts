import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Action, Actions, matchesDigest } from '../../sdk/actions/index.ts'
import { NotRecordedError } from '../../sdk/errors.ts'
import { sharedSdk } from './set-up.ts'

const OTHER_TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

test('actions', async (t) => {
  const client = (await sharedSdk()).client()
  const open = (options: ConstructorParameters<typeof Actions>[0] = {}) =>
    new Actions({ tallystick: client, ...options })

  await t.test(
    'any argument and result is recorded, or only its digest if no record can contain the value',
    async () => {
      const circle: Record<string, unknown> = {}
      circle['itself'] = circle
      const strange = [
        'page\u0000one',
        '"'.repeat(25_000),
        circle,
        () => {},
        { gone: new WeakMap() },
        new Error('no value'),
        new Map([[1, '\0']]),
      ]
      const actions = open({ content: true, onError: (error) => assert.fail(`${error}`) })
      const run = actions.begin({ kind: 'other', name: 'strange \u0000' })
      for (const value of strange)
        await actions.run({ kind: 'tool', name: 'read', arguments: value, parent: run }, () => value)
      // An object like a row of node:sqlite, which has no prototype.
      const row = Object.assign(Object.create(null), { cents: 1n })
      await actions.run(
        { kind: 'tool', name: 'read', arguments: { b: 1, a: [null] }, parent: run },
        () => row,
      )
      const end = { status: 'error', result: 'x'.repeat(48_000), error: '\u001b'.repeat(4_096) } as const
      actions.begin({ kind: 'tool', name: 'long', parent: run, traceparent: OTHER_TRACE }).end(end)
      run.end({ status: 'ok' })
      await actions.close()
      assert.deepEqual([actions.stats.recorded, actions.stats.refused], [strange.length * 2 + 6, 0])
      const records = await client.records.list({ traceId: run.traceId, order: 'asc' }).toArray(100)
      const [intent, outcome] = records.slice(-3).map(({ payload }) => payload as Record<string, unknown>)
      assert.deepEqual(
        [intent!['arguments'], outcome!['result']],
        [{ b: 1, a: [null] }, { cents: { $is: 'integer', value: '1' } }],
      )
      for (const { type, payload } of records.slice(1, -3)) {
        const member = type === 'agent-action/1' ? 'argumentsDigest' : 'resultDigest'
        assert.match((payload as Record<string, { of: string }>)[member]!.of, /^(bytes|tagged-jcs|none)$/)
      }
    },
  )

  await t.test(
    'lost actions are counted in the next record; a tree that is too deep is attached higher',
    async () => {
      const lost: unknown[] = []
      const actions = open({ bufferedRecordsMax: 1, onError: (error) => lost.push(error) })
      const root = actions.begin({ kind: 'other', name: 'root' })
      const awaited = actions.begin({ kind: 'other', name: 'awaited', parent: root }, 'before', true)
      root.end({ status: 'ok' })
      await assert.rejects(awaited.recorded, NotRecordedError)
      await actions.flush()
      let deep: Action = root
      for (let depth = 1; depth <= 20; depth++) {
        deep = actions.begin({ kind: 'agent', name: `${depth}`, parent: deep })
        await actions.flush()
        deep.end({ status: 'ok' })
        await actions.flush()
      }
      await actions.close()
      assert.deepEqual([lost.length, actions.stats.refused], [3, 0])
      const { data } = await client.records.list({ traceId: root.traceId, order: 'asc' }).page()
      const [, first] = data.map(({ payload }) => payload as { attributes?: object })
      assert.deepEqual(first!.attributes, { lostBefore: 3 })
      assert.equal(data.at(-1)!.type, 'agent-outcome/1')
    },
  )

  await t.test('run() throws exactly the value that the function throws', async () => {
    const actions = open()
    const thrown = Object.create(null)
    await assert.rejects(
      actions.run({ kind: 'tool', name: 'throw' }, () => {
        throw thrown
      }),
      (error) => error === thrown,
    )
    await actions.close()
    assert.equal(actions.stats.recorded, 2)
  })

  await t.test('the text of an error is content: without `content` a record has its digest', async () => {
    const text = 'password=hunter2'
    const fail = () => {
      throw new RangeError(text)
    }
    for (const content of [false, true]) {
      const actions = open({ content })
      const run = actions.begin({ kind: 'agent', name: 'run' })
      await assert.rejects(actions.run({ kind: 'tool', name: 'fail', parent: run }, fail))
      run.end({ status: 'error', errorType: 'timeout' })
      await actions.close()
      const query = { traceId: run.traceId, type: 'agent-outcome/1', order: 'asc' } as const
      const { data } = await client.records.list(query).page()
      const [failed, ended] = data.map(({ payload }) => payload as Record<string, unknown>)
      assert.deepEqual([failed!['errorType'], ended!['errorType']], ['RangeError', 'timeout'])
      assert.equal(failed!['error'], content ? text : undefined)
      if (!content) assert.ok(matchesDigest(text, failed!['errorDigest'] as Record<string, unknown>))
      assert.equal(JSON.stringify(data).includes('hunter2'), content)
    }
  })

  await t.test('lost actions are counted even if the attributes leave no room for the count', async () => {
    const actions = open({ bufferedRecordsMax: 1, onError: () => {} })
    const { traceId } = actions.begin({ kind: 'other', name: 'root' })
    actions.begin({ kind: 'other', name: 'lost' })
    await actions.flush()
    const traceparent = `00-${traceId}-${'b'.repeat(16)}-01`
    actions.begin({ kind: 'other', name: 'next', traceparent, attributes: { long: 'x'.repeat(4_080) } })
    await actions.flush()
    await actions.close({ timeoutMs: 500 })
    const { data } = await client.records.list({ traceId, order: 'asc' }).page()
    assert.deepEqual((data[1]!.payload as { attributes?: object }).attributes, { lostBefore: 1 })
  })

  await t.test('holdMsMax: Infinity waits for the record without a limit', async () => {
    const actions = open({ failClosed: true, holdMsMax: Number.POSITIVE_INFINITY })
    assert.equal(await actions.run({ kind: 'tool', name: 'wait' }, () => 'done'), 'done')
    await actions.close()
  })

  await t.test(
    'with failClosed, a refused action does not begin, and its caller gets the reason',
    async () => {
      const actions = open({ failClosed: true, onRefused: () => {} })
      let isDone = false
      const call = { kind: 'nonsense' as 'tool', name: 'delete' }
      await assert.rejects(
        actions.run(call, () => {
          isDone = true
        }),
        (error) => error instanceof NotRecordedError && /payload_invalid/.test(error.message),
      )
      await actions.close()
      assert.equal(isDone, false)
    },
  )
})
