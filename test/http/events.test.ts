import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_TYPES } from '../../src/outside/events/event-types.ts'
import { fromBase64 } from '../../src/proof/bytes.ts'
import { parseEnvelope } from '../../src/proof/envelope/cose.ts'
import { parseStatement } from '../../src/proof/statement/statement.ts'
import { genericBody } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { unguarded } from '../helpers/checkpoints.ts'
import { movedCursor } from '../helpers/cursors.ts'
import { allEvents, buildEventLedger, eventPage } from '../helpers/event-ledger.ts'
import { addKey } from '../helpers/more-keys.ts'
import { shareApp } from '../helpers/shared-app.ts'

/** The test uses a separate application, because it publishes checkpoints of all the application's ledgers. */
const publishedApp = shareApp()

test('GET /v1/events', async (t) => {
  const app = await buildEventLedger(t, await publishedApp())
  const entries = await app.entries()
  const events = await allEvents(app)
  const seqOf = (event: (typeof events)[0]) => event.data.entry?.seq ?? event.data.checkpoint.size - 1

  await t.test(
    'lists every kind of event but those of peers, in chain order, checkpoints after their entries',
    () => {
      // `letEventsHappen` (test/helpers/event-ledger.ts) must cause every new type of event. Events from peers are
      // tested in test/system/federation/received-events.test.ts.
      const own = EVENT_TYPES.filter((type) => type !== 'entry.received')
      assert.deepEqual([...new Set(events.map(({ type }) => type))].sort(), own.toSorted())
      const seqs = events.map(seqOf)
      assert.deepEqual(
        seqs,
        seqs.toSorted((a, b) => a - b),
      )
      const types = events.map(({ type }) => type)
      const published = types.indexOf('checkpoint.published')
      assert.equal(types[published - 1], 'batch.recorded')
      const rendered = types.indexOf('verdict.rendered')
      assert.equal(types[rendered + 1], 'signal.emitted')
    },
  )

  await t.test('shows the signed statement, its entry and its time', () => {
    for (const { data, timestamp } of events.filter(({ data }) => data.entry !== null)) {
      const entry = entries[data.entry.seq]
      const statement = parseStatement(parseEnvelope(fromBase64(entry.envelope)).payload)
      assert.deepEqual(data.entry, { seq: entry.seq, kind: entry.kind, leaf: entry.leaf, chain: entry.chain })
      assert.deepEqual([data.subjects, data.predicate], [statement.subjects, statement.predicate])
      assert.equal(timestamp, entry.recordedAt)
      assert.equal(data.ledger, app.ledger.ledger.id)
    }
  })

  await t.test('only the signal of a verdict has an envelope', () => {
    const signals = events.filter(({ type }) => type === 'signal.emitted')
    assert.deepEqual(
      signals.map(({ data }) => [data.signal.decision, data.record.state, data.record.version]),
      [
        ['SETTLE', 'ACCEPTED', 5],
        ['HOLD', 'REJECTED', 5],
        ['RELEASE', 'ACCEPTED', 6],
      ],
    )
    for (const { data } of signals) {
      assert.equal(data.envelope, entries[data.entry.seq].envelope)
      assert.deepEqual(data.signal, data.predicate.signal)
    }
    for (const event of events)
      assert.equal('envelope' in event.data, event.type === 'signal.emitted', event.type)
  })

  await t.test('gives each event a stable id of its own, in the order of times', async () => {
    const ids = events.map(({ id }) => id)
    assert.equal(new Set(ids).size, ids.length)
    const again = await allEvents(app, { limit: 3 })
    assert.deepEqual(again, events)
    // The ids sort by time, because the first ten digits of an id, after its prefix, contain its time of 48 bits.
    const inOrder = (by: (event: (typeof events)[0]) => string) => events.map(by).sort()
    assert.deepEqual(
      inOrder(({ id }) => id.slice(4, 14)),
      events
        .toSorted((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp))
        .map(({ id }) => id.slice(4, 14)),
    )
  })

  await t.test('refuses unknown filters, invalid cursors, and a cursor beyond the ledger’s end', async () => {
    const { nextCursor } = await eventPage(app, { from: 'end' })
    for (const [query, path] of [
      ['events=record.recorded,record.lost', '/events'],
      ['events=', '/events'],
      ['events=webhook.test', '/events'],
      [`events=${Array(33).fill('record.recorded').join(',')}`, '/events'],
      ['types=Generic/1', '/types'],
      ['types=generic/1,', '/types'],
      ['cursor=garbage', '/cursor'],
      [`cursor=${movedCursor(nextCursor, [1, 2, 0])}`, '/cursor'],
      [`cursor=${movedCursor(nextCursor, [1e15, 0, 0])}`, '/cursor'],
      [`cursor=${movedCursor(nextCursor, [0, 0, 1_000_000])}`, '/cursor'],
      [`cursor=${nextCursor}&from=end`, '/from'],
      ['limit=201', '/limit'],
      ['from=middle', '/from'],
      ['after=1', ''],
    ]) {
      const problem = assertProblem(await app.send('GET', `/v1/events?${query}`), 422, 'invalid_request')
      assert.equal(problem['path'], path, query)
    }
    const beyond = movedCursor(nextCursor, [1e15, 0, 0])
    assert.match(
      assertProblem(await app.send('GET', `/v1/events?cursor=${beyond}`), 422, 'invalid_request')[
        'detail'
      ] as string,
      /beyond the ledger’s end/,
    )
  })

  await t.test('answers 405 to all methods but GET and OPTIONS', async () => {
    for (const method of ['HEAD', 'POST', 'DELETE', 'QUERY'] as const) {
      const response = await app.app.inject({ method: method as 'GET', url: '/v1/events' })
      assert.deepEqual([response.statusCode, response.headers['allow']], [405, 'GET, OPTIONS'], method)
    }
  })

  await t.test('needs records:read or audit:read, and shows no documents', async () => {
    const auditor = await addKey(app, { scopes: ['audit:read'] })
    const reader = await addKey(app, { scopes: ['records:read'] })
    const all = await allEvents(app, { limit: 200 })
    for (const key of [auditor, reader]) assert.deepEqual(await allEvents(app, {}, key), all)
    assert.doesNotMatch(JSON.stringify(all), /"documents"|labels are missing|"quantity":100/)
  })
})

test('the filters of events', async (t) => {
  const app = await buildEventLedger(t, await publishedApp())
  const events = await allEvents(app)
  const typesOf = (list: typeof events) => new Set(list.map(({ type }) => type))

  await t.test('by event name leave out other events, and change no event', async () => {
    for (const names of [
      ['signal.emitted'],
      ['verdict.rendered'],
      ['record.created', 'checkpoint.published'],
    ]) {
      const wanted = events.filter(({ type }) => names.includes(type))
      assert.ok(wanted.length > 0)
      for (const limit of [1, 2, 50])
        assert.deepEqual(await allEvents(app, { events: names.join(','), limit }), wanted)
    }
  })

  await t.test(
    'by type select events of records and batches; events without a record are always listed',
    async () => {
      const generic = await allEvents(app, { types: 'generic/1' })
      assert.deepEqual(
        typesOf(generic),
        new Set([
          'record.recorded',
          'batch.recorded',
          'payload.erased',
          'statement.registered',
          'checkpoint.published',
        ]),
      )
      assert.deepEqual(await allEvents(app, { types: 'generic', limit: 1 }), generic)
      const delivery = await allEvents(app, { types: 'delivery,nothing/7' })
      assert.equal(
        delivery.length + generic.length,
        events.length + delivery.filter((e) => !e.data.record).length,
      )
      const none = await allEvents(app, { types: 'delivery/2', events: 'record.created,record.recorded' })
      assert.deepEqual(none, [])
    },
  )

  await t.test('move the cursor past the events that they leave out, also for another filter', async () => {
    const only = await eventPage(app, { events: 'record.cancelled' })
    assert.equal(only.data.length, 1)
    assert.deepEqual(await eventPage(app, { cursor: only.nextCursor }), { ...only, data: [] })
    const cut = await eventPage(app, { events: 'record.cancelled', limit: 1 })
    const rest = await allEvents(app, { cursor: cut.nextCursor })
    assert.deepEqual(rest, events.slice(events.findIndex(({ type }) => type === 'record.cancelled') + 1))
  })
})

test('with records:read:own', async (t) => {
  const app = await buildEventLedger(t, await publishedApp())
  const events = await allEvents(app)

  await t.test('an agent gets only the events of records that name it', async () => {
    const { performer, stranger } = app.agents
    const theirs = await allEvents(app, {}, performer.key)
    const named = events.filter(({ data }) => data.record?.type === 'delivery/1')
    assert.ok(named.length > 20)
    assert.deepEqual(theirs, named)
    assert.deepEqual(await allEvents(app, { limit: 1, events: 'signal.emitted' }, performer.key), [
      ...named.filter(({ type }) => type === 'signal.emitted'),
    ])
    assert.deepEqual(await allEvents(app, {}, stranger.key), [])
  })

  await t.test(
    'an agent gets events of its own records and batches, and of records on its behalf',
    async () => {
      const { stranger, gateway } = app.agents
      const { nextCursor: cursor } = await eventPage(app, { from: 'end' })
      const records = [genericBody({ mine: 1 })]
      await app.send('POST', '/v1/records/batch', { body: { records }, key: stranger.key })
      await app.notarize(genericBody({ mine: 2 }), { key: stranger.key })
      await app.notarize({ ...genericBody({ mine: 3 }), onBehalfOf: stranger.id }, { key: gateway.key })
      await app.notarize(genericBody({ others: 1 }))
      await app.publish()
      const { data } = await eventPage(app, { cursor }, stranger.key)
      assert.deepEqual(
        data.map(({ type }) => type),
        ['batch.recorded', 'record.recorded', 'record.recorded'],
      )
    },
  )
})

test('an unreadable entry ends the events before it, with 500 integrity_fault', async (t) => {
  const app = await buildEventLedger(t, await publishedApp())
  const events = await allEvents(app)
  const at = events.findIndex(({ type }) => type === 'record.activated')
  const { seq } = events[at].data.entry
  await unguarded(
    app,
    `update tallystick.entries set envelope = '\\x00', leaf = sha256('\\x0000') where seq = ${seq} and ledger_id =
      (select ledger_id from tallystick.entries where leaf = '\\x${events[at].data.entry.leaf}')`,
  )
  const before = await eventPage(app, { limit: 200 })
  assert.deepEqual([before.data, before.more], [events.slice(0, at), true])
  const refused = await app.send('GET', `/v1/events?cursor=${before.nextCursor}`)
  assertProblem(refused, 500, 'integrity_fault')
  const { data } = await eventPage(app, { events: 'record.cancelled' })
  assert.equal(data.length, 1, 'what is not asked for is not looked at')
})
