import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  BufferFullError,
  InvalidRequestError,
  NotRecordedError,
  PermissionError,
  type RecordedBatch,
  type RecordOptions,
  type RefusedRecord,
  type TallystickError,
  UsageError,
} from '../../sdk/index.ts'
import { expectStatus, OPERATOR_KEY } from '../helpers/app.ts'
import { addAgent } from '../helpers/more-keys.ts'
import { numbers, QUICK, recordedNumbers, recordsOfGroup } from './notarizer-set-up.ts'
import { sharedSdk } from './set-up.ts'

test('the notarizer', async (t) => {
  const { app, baseUrl, client } = await sharedSdk()
  const tallystick = client()

  await t.test('notarizes all records in the order of record(), in few batches', async () => {
    const batches: RecordedBatch[] = []
    const ledger = tallystick.notarizer({
      ...QUICK,
      // No attempt may time out here, because a batch of 1,000 takes seconds on a busy machine.
      timeoutMs: 60_000,
      onRecorded: (batch) => void batches.push(batch),
    })
    for (const i of numbers(2_500)) ledger.record({ group: 'order', i })
    await ledger.flush()
    assert.deepEqual(await recordedNumbers(app, 'order'), numbers(2_500))
    assert.deepEqual(
      batches.map(({ records }) => records.length),
      [1_000, 1_000, 500],
    )
    const { buffered, bufferedBytes, recorded, inFlight, failures } = ledger.stats
    assert.deepEqual(
      { buffered, bufferedBytes, recorded, inFlight, failures },
      { buffered: 0, bufferedBytes: 0, recorded: 2_500, inFlight: 0, failures: 0 },
    )
  })

  await t.test('sends waiting records after lingerMs without flush()', async () => {
    const recorded = new Promise<RecordedBatch>((resolve) => {
      tallystick.notarizer({ ...QUICK, lingerMs: 5, onRecorded: resolve }).record({ group: 'linger', i: 0 })
    })
    assert.equal((await recorded).records.length, 1)
  })

  await t.test('onRecorded gets the id, digest, salt and tag of each record', async () => {
    let told: RecordedBatch | undefined
    const ledger = tallystick.notarizer({
      ...QUICK,
      onRecorded(batch) {
        told = batch
      },
    })
    ledger.record({ group: 'tags', i: 0 }, { tag: 'order "7"' })
    ledger.record({ group: 'tags', i: 1 })
    await ledger.close()
    assert.deepEqual(
      told!.records.map(({ tag }) => tag),
      ['order "7"', undefined],
    )
    const record = await tallystick.records.get(told!.records[0]!.id)
    assert.equal(record.digest, told!.records[0]!.digest)
    assert.equal(record.salt, told!.records[0]!.salt)
    assert.equal(record.batch, told!.batch)
    assert.deepEqual(record.entry, told!.entry)
  })

  await t.test('notarizes type, time, agent and metadata as they were at record()', async () => {
    const agent = await addAgent(app, 'a buyer')
    let id = ''
    const ledger = tallystick.notarizer({
      ...QUICK,
      onRecorded({ records }) {
        id = records[0]!.id
      },
    })
    const payload = { group: 'options', i: 0, at: new Date(0), left: undefined }
    const options = { occurredAt: new Date(1_000), onBehalfOf: agent, metadata: { run: 7 } }
    ledger.record(payload, options)
    payload.i = 99
    options.metadata.run = 99
    await ledger.close()
    const record = await tallystick.records.get(id)
    assert.deepEqual(record.payload, { group: 'options', i: 0, at: '1970-01-01T00:00:00.000Z' })
    assert.equal(record.type, 'generic/1')
    assert.equal(record.occurredAt, '1970-01-01T00:00:01.000Z')
    assert.equal(record.onBehalfOf, agent)
    assert.deepEqual(record.metadata, { run: 7 })
  })

  await t.test('occurredAt is the time of record() by default', async () => {
    let id = ''
    const ledger = tallystick.notarizer({
      ...QUICK,
      lingerMs: 60,
      onRecorded({ records }) {
        id = records[0]!.id
      },
    })
    const before = Date.now()
    ledger.record({ group: 'time', i: 0 })
    const after = Date.now()
    await new Promise((resolve) => setTimeout(resolve, 30))
    await ledger.close()
    const { occurredAt } = await tallystick.records.get(id)
    assert.ok(before <= Date.parse(occurredAt!) && Date.parse(occurredAt!) <= after)
  })

  await t.test('a full buffer refuses records, and `ready` resolves when there is room again', async () => {
    const ledger = tallystick.notarizer({ ...QUICK, bufferedRecordsMax: 10, recordsPerBatchMax: 5 })
    for (const i of numbers(10)) ledger.record({ group: 'full', i })
    assert.throws(() => ledger.record({ group: 'full', i: 10 }), BufferFullError)
    for (const i of numbers(90, 10)) {
      await ledger.ready
      ledger.record({ group: 'full', i })
    }
    await ledger.close()
    assert.deepEqual(await recordedNumbers(app, 'full'), numbers(100))
  })

  await t.test('bufferedBytesMax bounds the buffer like bufferedRecordsMax', async () => {
    const ledger = tallystick.notarizer({ ...QUICK, bufferedBytesMax: 256 * 1024 })
    const text = 'x'.repeat(60_000)
    for (const i of numbers(4)) ledger.record({ group: 'bytes', i, text })
    assert.throws(() => ledger.record({ group: 'bytes', i: 4, text }), BufferFullError)
    await ledger.close()
    assert.deepEqual(await recordedNumbers(app, 'bytes'), numbers(4))
  })

  await t.test('splits batches at the server’s limits of bytes and types', async () => {
    const sizes: number[] = []
    const ledger = tallystick.notarizer({
      ...QUICK,
      onRecorded: ({ records }) => void sizes.push(records.length),
      onRefused: () => {},
    })
    const text = '€'.repeat(20_000)
    for (const i of numbers(80)) ledger.record({ group: 'large', i, text })
    await ledger.flush()
    assert.deepEqual(await recordedNumbers(app, 'large'), numbers(80))
    assert.deepEqual(sizes, [16, 16, 16, 16, 16])
    for (const i of numbers(40)) ledger.record({ group: 'types', i }, { type: `unknown-${i}/1` })
    await ledger.close()
    assert.equal(ledger.stats.refused, 40, 'each for what it is, and none for being one type too many')
  })

  await t.test(
    'record() refuses payloads that JSON would change, and payloads that are too large',
    async () => {
      const ledger = tallystick.notarizer(QUICK)
      const refuses = (payload: object, message: RegExp) =>
        assert.throws(() => ledger.record(payload), { name: 'UsageError', message })
      refuses({ a: [1, { b: Number.NaN }] }, /^\/payload\/a\/1\/b is NaN/)
      refuses({ text: '\ud800' }, /^\/payload\/text contains half of a surrogate pair/)
      refuses({ text: 'x'.repeat(65_536) }, /65536 bytes/)
      refuses([1], /not a JSON object/)
      assert.throws(() => ledger.record({}, { metadata: { text: 'x'.repeat(4_096) } }), UsageError)
      let deep: object = {}
      for (let i = 1; i < 29; i++) deep = { deep }
      ledger.record({ group: 'deep', i: 0, deep: (deep as { deep: object }).deep })
      refuses({ deep }, /too deep/)
      await ledger.close()
      assert.deepEqual(await recordedNumbers(app, 'deep'), [0], 'as deep as the server takes it')
      assert.equal(ledger.stats.recorded, 1)
    },
  )

  await t.test('an invalid record is refused alone; all others are notarized in order', async () => {
    const refused: [RefusedRecord, TallystickError][] = []
    const ledger = tallystick.notarizer({
      ...QUICK,
      onRefused: (record, error) => void refused.push([record, error]),
    })
    for (const i of numbers(50)) {
      const bad = i === 7 || i === 31 || i === 32
      ledger.record(
        { group: 'bad', i },
        { tag: `${i}`, ...(bad && { onBehalfOf: 'agt_01m8ten1x0e1xfmh8cvzvfr3zx' }) },
      )
    }
    ledger.record({ group: 'bad', i: 50 }, { occurredAt: 'yesterday' })
    await ledger.flush()
    assert.deepEqual(
      refused.map(([{ payload }]) => (payload as { i: number }).i).sort((a, b) => a - b),
      [7, 31, 32, 50],
    )
    const [record, error] = refused.find(([{ tag }]) => tag === '7')!
    assert.equal(record.onBehalfOf, 'agt_01m8ten1x0e1xfmh8cvzvfr3zx')
    assert.ok(error instanceof InvalidRequestError)
    assert.equal(error.code, 'unknown_agent')
    assert.deepEqual(
      await recordedNumbers(app, 'bad'),
      numbers(50).filter((i) => ![7, 31, 32].includes(i)),
    )
    assert.equal(ledger.stats.buffered, 0)
  })

  await t.test(
    'for a type that the ledger lacks, all records of a batch are refused in one request',
    async () => {
      let requests = 0
      const counting = client({
        fetch(input, init) {
          requests++
          return fetch(input, init)
        },
      })
      let refused = 0
      const ledger = counting.notarizer({ ...QUICK, onRefused: () => void refused++ })
      for (const i of numbers(300))
        ledger.record({ group: 'type', i }, i % 3 === 0 ? {} : { type: 'nowhere/1' })
      await ledger.close()
      assert.equal(refused, 200)
      assert.equal(requests, 2)
      assert.deepEqual(
        await recordedNumbers(app, 'type'),
        numbers(100).map((i) => i * 3),
      )
    },
  )

  await t.test(
    'flush() rejects with errors that only people can fix; after the fix, nothing is lost',
    async () => {
      const freeze = async (action: 'freeze' | 'unfreeze') => {
        const { id } = app.ledger.ledger
        const answer = await app.send('POST', `/v1/ledgers/${id}/${action}`, { key: OPERATOR_KEY })
        expectStatus(200, answer)
      }
      const errors: TallystickError[] = []
      const ledger = tallystick.notarizer({
        ...QUICK,
        blockedDelayMs: 60_000,
        onError: (error) => void errors.push(error),
      })
      await freeze('freeze')
      for (const i of numbers(3)) ledger.record({ group: 'frozen', i })
      await assert.rejects(ledger.flush(), PermissionError)
      await assert.rejects(ledger.close(), PermissionError)
      assert.equal(ledger.stats.buffered, 3)
      assert.equal(ledger.stats.lastError, errors.at(-1))
      assert.throws(() => ledger.record({}), UsageError)
      await freeze('unfreeze')
      await ledger.close({ timeoutMs: 5_000 })
      assert.deepEqual(await recordedNumbers(app, 'frozen'), numbers(3))
      assert.equal(errors.length, 2, 'who waits for people does not hammer')
      assert.equal(ledger.stats.lastError, null)
    },
  )

  await t.test('flush() ends with its signal or timeout; sending continues', async () => {
    let silent = true
    const hanging: typeof fetch = (input, init) => {
      if (!silent) return fetch(input, init)
      const { promise, reject } = Promise.withResolvers<never>()
      init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason))
      return promise
    }
    const ledger = client({ fetch: hanging }).notarizer({ ...QUICK, timeoutMs: 50 })
    ledger.record({ group: 'silent', i: 0 })
    await assert.rejects(ledger.flush({ signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' })
    await assert.rejects(ledger.flush({ timeoutMs: 5 }), (error) => {
      assert.ok(error instanceof NotRecordedError)
      assert.match(error.message, /1 records are not recorded yet/)
      return true
    })
    silent = false
    await ledger.flush()
    assert.deepEqual(await recordedNumbers(app, 'silent'), [0])
  })

  await t.test('close() accepts an infinite timeout and waits', async () => {
    for (const timeoutMs of [Number.POSITIVE_INFINITY, 2 ** 31]) {
      const ledger = tallystick.notarizer({ ...QUICK, lingerMs: 60_000 })
      ledger.record({ group: 'patient', i: 0 })
      await ledger.close({ timeoutMs })
      assert.equal(ledger.stats.recorded, 1)
    }
  })

  await t.test('a callback that throws or rejects does not prevent recording', async (t) => {
    const complaints = t.mock.method(console, 'error', () => {})
    const ledger = tallystick.notarizer({
      ...QUICK,
      recordsPerBatchMax: 1,
      onRecorded({ records }) {
        if (records.length === 1) throw new Error('of the caller')
      },
      onRefused: async () => {
        throw new Error('of the caller')
      },
    })
    ledger.record({ group: 'callbacks', i: 0 })
    ledger.record({ group: 'callbacks', i: 1 }, { type: 'nowhere/1' })
    ledger.record({ group: 'callbacks', i: 2 })
    await ledger.close()
    assert.deepEqual(await recordedNumbers(app, 'callbacks'), [0, 2])
    assert.equal(complaints.mock.callCount(), 3)
  })

  await t.test(
    'without onRefused, refused records are logged to the console without their content',
    async (t) => {
      const lines = t.mock.method(console, 'error', () => {})
      const ledger = tallystick.notarizer({ ...QUICK })
      ledger.record({ secret: 'hunter2' }, { type: 'nowhere/1' })
      await ledger.close()
      assert.equal(lines.mock.callCount(), 1)
      const [line] = lines.mock.calls[0]!.arguments as [string]
      assert.match(line, /^tallystick: 1 record\(s\) were refused: 422 unknown_type/)
      assert.doesNotMatch(line, /hunter2/)
    },
  )

  await t.test('`await using` closes the notarizer', async () => {
    {
      await using ledger = tallystick.notarizer({ ...QUICK, lingerMs: 60_000 })
      ledger.record({ group: 'using', i: 0 })
    }
    assert.deepEqual(await recordedNumbers(app, 'using'), [0])
  })

  await t.test('an idle process ends when all records are notarized', async () => {
    const script = `
      import { Tallystick } from '${new URL('../../sdk/index.ts', import.meta.url)}'
      const ledger = new Tallystick({ baseUrl: '${baseUrl}', apiKey: '${app.ledger.key.key}' }).notarizer()
      for (let i = 0; i < 1500; i++) ledger.record({ group: 'exit', i })`
    const args = ['--input-type=module-typescript', '--eval', script]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    const [code] = await once(child, 'exit')
    assert.equal(code, 0)
    assert.deepEqual(await recordedNumbers(app, 'exit'), numbers(1_500))
  })

  await t.test('records may have their own parent, references and trace within one batch', async () => {
    const batches: RecordedBatch[] = []
    const ledger = tallystick.notarizer({ ...QUICK, onRecorded: (batch) => void batches.push(batch) })
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const parent = (await tallystick.records.notarize({ payload: {} })).id
    const references = ['order:7', 'https://erp.example/orders/7']
    const options: RecordOptions<`${string}/${number}`>[] = [{}, { traceparent }, { parent, references }]
    for (const [i, given] of options.entries()) ledger.record({ group: 'members', i }, given)
    await ledger.close()
    assert.deepEqual(
      batches.map(({ records }) => records.length),
      [3],
    )
    const read = await Promise.all(batches[0]!.records.map(({ id }) => tallystick.records.get(id)))
    assert.deepEqual(
      read.map((record) => [record.parent, record.references]),
      [
        [null, null],
        [null, null],
        [parent, references],
      ],
    )
    const stored = await recordsOfGroup(app, 'members')
    assert.deepEqual(
      stored.map((record) => record.traceparent),
      [null, traceparent, null],
    )
  })

  await t.test('a record whose parent is not in the ledger is refused alone', async () => {
    const refused: [RefusedRecord, TallystickError][] = []
    const ledger = tallystick.notarizer({ ...QUICK, onRefused: (...about) => void refused.push(about) })
    const parent = 'rec_00000000000000000000000000'
    for (const i of numbers(3)) ledger.record({ group: 'orphan', i }, i === 1 ? { parent } : {})
    await ledger.close()
    assert.deepEqual(await recordedNumbers(app, 'orphan'), [0, 2])
    assert.deepEqual(
      refused.map(([record, error]) => [record.parent, (error as InvalidRequestError).code]),
      [[parent, 'unknown_parent']],
    )
  })

  await t.test('options out of their range are refused', () => {
    for (const options of [
      { recordsPerBatchMax: 2_001 },
      { lingerMs: -1 },
      { inFlightMax: 1.5 },
      { bufferedBytesMax: 0 },
    ])
      assert.throws(() => tallystick.notarizer(options), UsageError)
  })
})
