import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { webhookEvent } from '../../../src/http/schemas/events.ts'
import { EVENT_TYPES, NOTICE_TYPES } from '../../../src/outside/events/event-types.ts'
import { expectStatus, genericBody } from '../../helpers/app.ts'
import { letEventsHappen } from '../../helpers/event-ledger.ts'
import { openEnvelope } from '../../helpers/open-envelope.ts'
import { listStoredChunks, writeContent } from '../../helpers/stored-chunks.ts'
import { until } from '../../helpers/wait.ts'
import { buildStage, type Endpoint } from '../../helpers/webhook-stage.ts'

const SIGNALS = 20
const SIGNAL_MS_MAX = 1_000
const RECORDED = { events: ['record.recorded'] }
const SPKI_OF_ED25519 = Buffer.from('302a300506032b6570032100', 'hex')

type Received = ReturnType<Endpoint['received']>[number]

/** Verifies the signature with node:crypto and with the public key that the API shows. */
function verifyAsymmetric({ headers, body }: Received, publicKey: string): void {
  const raw = Buffer.from(publicKey.replace('whpk_', ''), 'base64')
  const key = createPublicKey({ key: Buffer.concat([SPKI_OF_ED25519, raw]), format: 'der', type: 'spki' })
  const signature = String(headers['webhook-signature'])
    .split(' ')
    .find((one) => one.startsWith('v1a,'))!
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
  assert.ok(verify(null, signed, key, Buffer.from(signature.slice(4), 'base64')))
}

test('deliveries to endpoints', async (t) => {
  const stage = await buildStage(t)
  const { keys } = expectStatus(
    200,
    await stage.send('GET', '/.well-known/tallystick-keys.json', { key: null }),
  ).json()

  await t.test(
    'a settlement signal arrives within a second of the verdict, with both signatures and the envelope',
    async (t) => {
      const endpoint = await stage.subscribe(t, { events: ['completion.verified', 'signal.emitted'] })
      const { secrets } = await endpoint.ask('GET')
      const ids = await Promise.all(
        Array.from({ length: SIGNALS }, async () => {
          const { id } = await stage.create()
          await stage.take(id, 'activate')
          await stage.take(id, 'completions')
          return id as string
        }),
      )
      await endpoint.hears(SIGNALS, 'completion.verified', 30_000)
      const latencies: number[] = []
      for (const [i, id] of ids.entries()) {
        await stage.take(id, 'verdict')
        const judgedAt = Date.now()
        await endpoint.hears(i + 1, 'signal.emitted')
        const received = endpoint.received('signal.emitted')[i]!
        latencies.push(received.atMs - judgedAt)
        const { record, signal, envelope } = received.event.data
        assert.deepEqual([record.id, record.state, signal.decision], [id, 'ACCEPTED', 'SETTLE'])
        new Webhook(endpoint.secret).verify(received.body, received.headers as Record<string, string>)
        verifyAsymmetric(received, secrets[0].publicKey)
        const { statement } = openEnvelope(envelope, keys)
        assert.deepEqual([statement.predicate.record, statement.predicate.signal], [id, signal])
      }
      latencies.sort((a, b) => a - b)
      const [p50, p99] = [latencies[SIGNALS / 2]!, latencies[Math.ceil(SIGNALS * 0.99) - 1]!]
      console.log(`signal.emitted after its verdict was answered: p50 ${p50} ms, p99 ${p99} ms`)
      // Only the median is checked, because the slowest delivery depends on the machine and on other tests that run
      // at the same time.
      assert.ok(p50 < SIGNAL_MS_MAX)
    },
  )

  await t.test('each endpoint gets the events and types of its filter, with its own event ids', async (t) => {
    const all = await stage.subscribe(t)
    const generic = await stage.subscribe(t, { types: ['generic'] })
    const gated = await stage.subscribe(t, {
      events: ['record.created', 'batch.recorded'],
      types: ['delivery/1'],
    })
    const checkpoints = await stage.subscribe(t, { events: ['checkpoint.published'] })
    await stage.notarize()
    const records = [genericBody({ n: 1 }), genericBody({ n: 2 })]
    expectStatus(201, await stage.send('POST', '/v1/records/batch', { body: { records } }))
    await stage.create()
    await all.hears(3)
    await checkpoints.hears(1, 'checkpoint.published')
    await generic.hears(2)
    await gated.hears(1)
    await all.hears(1, 'checkpoint.published')
    const typesOf = (endpoint: Endpoint) =>
      endpoint
        .received()
        .map(({ event }) => event.type)
        .sort()
    assert.deepEqual(typesOf(all), ['batch.recorded', 'record.created', 'record.recorded'])
    assert.deepEqual(typesOf(generic), ['batch.recorded', 'record.recorded'])
    assert.deepEqual(typesOf(gated), ['record.created'])
    assert.deepEqual(typesOf(checkpoints), [])
    const [received] = checkpoints.received('checkpoint.published')
    const { size, note } = received!.event.data.checkpoint
    assert.equal(note.split('\n')[1], `${size}`)
    const batch = all.received('batch.recorded')[0]!.event.data
    assert.deepEqual([batch.record, batch.batch.count, batch.batch.types], [null, 2, { 'generic/1': 2 }])
    const ids = [...all.received(), ...generic.received(), ...gated.received()].map(({ id }) => id)
    assert.equal(new Set(ids).size, 6)
  })

  await t.test('a hanging endpoint delays no other endpoint', async (t) => {
    const hanging = await stage.subscribe(t, RECORDED, () => {})
    const other = await stage.subscribe(t, RECORDED)
    await Promise.all(Array.from({ length: 20 }, () => stage.notarize()))
    await hanging.hears(1)
    await other.hears(20, 'record.recorded', 3_000)
  })

  await t.test('documents are sent only if included, and not after their erasure', async (t) => {
    const plain = await stage.subscribe(t, RECORDED)
    const endpoint = await stage.subscribe(t, {
      events: ['record.recorded', 'payload.erased'],
      include: ['documents', 'envelope'],
    })
    const record = await stage.notarize(genericBody({ secret: 'of the kitchen' }))
    await endpoint.hears(1)
    await plain.hears(1)
    const { data } = endpoint.received()[0]!.event
    assert.deepEqual(data.documents[0].document, { secret: 'of the kitchen' })
    openEnvelope(data.envelope, keys)
    assert.deepEqual(
      [plain.received()[0]!.event.data.documents, plain.received()[0]!.event.data.envelope],
      [undefined, undefined],
    )
    const body = { code: 'gdpr_request' }
    expectStatus(202, await stage.send('DELETE', `/v1/records/${record.id}/payload`, { body }))
    await endpoint.hears(1, 'payload.erased')
    await until(async () => (await endpoint.deliveries('?state=delivered')).length === 2)
    await endpoint.ask('POST', `/deliveries/${endpoint.received()[0]!.id}/redeliver`)
    await endpoint.hears(3)
    const again = endpoint.received()[2]!
    const [document] = again.event.data.documents
    assert.equal(again.id, endpoint.received()[0]!.id)
    assert.deepEqual([document.document, document.salt], [null, null])
    assert.equal(document.erasedBy, endpoint.received('payload.erased')[0]!.event.data.entry.seq)
    assert.ok(!again.body.includes('kitchen'))
  })

  await t.test(
    'an entry that differs from its signature is never sent, and delays no other event',
    async (t) => {
      const endpoint = await stage.subscribe(t, RECORDED)
      await endpoint.ask('POST', '/pause')
      const record = await stage.notarize()
      const after = await stage.notarize()
      // Changes the envelope as the owner of the database can. The owner cannot sign the changed envelope.
      const forged = 'set_byte(envelope, length(envelope) - 1, get_byte(envelope, length(envelope) - 1) # 1)'
      await stage.sql(
        `begin; set local session_replication_role = replica;
       update tallystick.entries set envelope = ${forged}, leaf = sha256('\\x00'::bytea || ${forged})
       where seq = ${record.entry.seq}; commit`,
      )
      await endpoint.ask('POST', '/resume')
      await endpoint.hears(1)
      assert.equal(endpoint.received()[0]!.event.data.record.id, after.id)
      await until(async () => (await endpoint.deliveries('?state=dead')).length === 1)
      const [dead] = await endpoint.deliveries('?state=dead')
      const { attemptLog } = await endpoint.ask('GET', `/deliveries/${dead.id}`)
      assert.deepEqual(
        [dead.record, attemptLog[0].error, attemptLog[0].status],
        [record.id, 'integrity_fault', null],
      )
      await endpoint.ask('POST', `/deliveries/${dead.id}/redeliver`)
      await until(async () => (await endpoint.ask('GET', `/deliveries/${dead.id}`)).attempts === 2)
      assert.equal(endpoint.received().length, 1)
    },
  )

  await t.test('a batch with an unreadable chunk is never sent', async (t) => {
    const body = { name: 'note', version: 1, payloadSchema: { type: 'object' } }
    expectStatus(201, await stage.send('POST', '/v1/types', { body }))
    const endpoint = await stage.subscribe(t, { events: ['batch.recorded', 'record.recorded'] })
    await endpoint.ask('POST', '/pause')
    const records = [genericBody(), { type: 'note/1', payload: {} }]
    const batch = await stage.send('POST', '/v1/records/batch', { body: { records } })
    const { seq } = expectStatus(201, batch).json().entry
    const after = await stage.notarize()
    const chunk = (await listStoredChunks(stage)).find((one) => one.seq === seq)!
    await writeContent(stage, chunk, Buffer.from('noise'))
    await endpoint.ask('POST', '/resume')
    await endpoint.hears(1)
    assert.equal(endpoint.received()[0]!.event.data.record.id, after.id)
    await until(async () => (await endpoint.deliveries('?state=dead')).length === 1)
    const [dead] = await endpoint.deliveries('?state=dead')
    const { attemptLog } = await endpoint.ask('GET', `/deliveries/${dead.id}`)
    assert.deepEqual([dead.event, attemptLog[0].error], ['batch.recorded', 'integrity_fault'])
  })
})

test('an endpoint of a ledger with every kind of event', async (t) => {
  const stage = await buildStage(t)
  await t.test('gets only bodies that are a WebhookEvent of the OpenAPI document', async (t) => {
    // The worker is stopped, because letEventsHappen itself verifies completions. After its restart the worker delivers
    // the events that happened meanwhile.
    await stage.worker.end('SIGTERM')
    const plain = await stage.subscribe(t)
    const full = await stage.subscribe(t, { include: ['documents', 'envelope'] })
    await stage.subscribe(t, {}, (_, response) => response.writeHead(410).end())
    await letEventsHappen(stage, async () => {})
    await stage.restartWorker()
    await full.ask('POST', '/test')
    // Events from peers are tested in test/system/federation/received-events.test.ts.
    const types = [...EVENT_TYPES, ...NOTICE_TYPES].filter((type) => type !== 'entry.received')
    for (const type of types) await full.hears(1, type)
    for (const type of types) if (type !== 'webhook.test') await plain.hears(1, type)
    for (const { event } of [plain, full].flatMap(({ receiver }) => receiver.received)) {
      const { success, error } = webhookEvent.safeParse(event)
      assert.ok(success, `${event.type}: ${error?.message}`)
    }
  })
})
