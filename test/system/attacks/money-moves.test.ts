import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { withClient } from '../../../src/db/connect/client.ts'
import { clearFault } from '../../../src/db/ledgers/ledger-faults.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { tamper } from '../../followers/verification/set-up.ts'
import { expectStatus } from '../../helpers/app.ts'
import { eventPage } from '../../helpers/event-ledger.ts'
import { type Agent, DELIVERY, PASSING, PAYLOAD } from '../../helpers/gated-app.ts'
import { addAgent, addKey } from '../../helpers/more-keys.ts'
import { openTail } from '../../helpers/tail.ts'
import { until } from '../../helpers/wait.ts'
import { buildStage, type Stage } from '../../helpers/webhook-stage.ts'

/*
 * Finding H1 in SECURITY.md, second half: the server trusted an unsigned entry that named an agent, an agent's key or a
 * peer. So the server signed entries for the thief, and the thief was paid. In this test the owner of the database
 * makes the unsigned entry, because the owner can write everything that a stolen login can write.
 */

test('no settlement signal is sent while an agent and its key have no signed entry', async (t) => {
  const stage = await buildStage(t)
  // The attack is a subtest. So its webhook endpoint and its event tail are closed before the deployment of the whole
  // test is closed.
  await t.test('by webhook, page or tail, until the rows are repaired', (sub) => attack(sub, stage))
})

async function attack(t: TestContext, stage: Stage): Promise<void> {
  const endpoint = await stage.subscribe(t)
  const origin = await stage.app.listen({ port: 0, host: '127.0.0.1' })
  const honest = await makeHonest(stage)
  const verified = await stage.reach('VERIFIED')
  await stage.worker.end('SIGTERM')
  const tail = await openTail(t, origin, stage.ledger.key.key, { query: '?from=beginning' })
  const heard = () => ({
    webhook: idsOf(endpoint.received('signal.emitted').map(({ event }) => event)),
    tail: idsOf(tail.events.map(({ event }) => event).filter(({ type }) => type === 'signal.emitted')),
  })
  const told = async () => {
    const { data } = await eventPage(stage, { events: 'signal.emitted' })
    return { ...heard(), page: idsOf(data) }
  }

  const thief = await stage.addAgent('thief', ['records:write', 'records:read:own'])
  await stage.sql('alter table tallystick.entries drop constraint entries_leaf')
  const mendAgent = await unsign(stage, 'agent-registered')
  const mendKey = await unsign(stage, 'key-created')
  const first = await order(stage, thief)
  await stage.take(verified.id, 'verdict')
  await stage.restartWorker()
  await until(async () => (await openFaults(stage)).length === 1)
  const second = await order(stage, thief)
  await honest.isPaid()
  assert.deepEqual(await statesOf(stage, [first, second]), ['SUBMITTED', 'SUBMITTED'])
  assert.deepEqual(await told(), { webhook: [], page: [], tail: [] })
  // The last event that is sent is `verdict.rendered`. It comes before the settlement and moves no money.
  await endpoint.hears(1, 'verdict.rendered')
  await until(() => tail.events.at(-1)?.event.type === 'verdict.rendered')
  const { data, more, nextCursor } = await eventPage(stage, { limit: 200 })
  assert.deepEqual([data.at(-1).type, more], ['verdict.rendered', false])

  // If an operator clears the fault but its cause remains, the fault comes back.
  await clear(stage)
  await until(async () => (await openFaults(stage)).length === 1)
  await mendAgent()
  await clear(stage)
  await until(async () => (await openFaults(stage))[0]?.code !== undefined)
  await honest.isPaid()
  assert.deepEqual(await told(), { webhook: [], page: [], tail: [] })

  await mendKey()
  await clear(stage)
  await until(async () => (await statesOf(stage, [first, second])).every((state) => state === 'ACCEPTED'))
  const paid = [verified.id, first, second]
  await until(() => heard().webhook.length === 3 && heard().tail.length === 3, 20_000)
  const { webhook, tail: tailed, page } = await told()
  for (const ids of [webhook, tailed, page]) assert.deepEqual(ids.toSorted(), paid.toSorted())
  assert.deepEqual(tailed, page, 'in the order of the chain')
  const rest = await eventPage(stage, { cursor: nextCursor, limit: 1 })
  assert.equal(rest.data[0].type, 'signal.emitted', 'the page goes on where it ended')
}

/**
 * Makes a second ledger without faults. Once its next order is judged, the worker has also had time for all other
 * ledgers.
 */
async function makeHonest(stage: Stage) {
  const ledger = await stage.newLedger()
  const { key } = ledger.key
  const send = (url: string, body: object, as = key) => stage.send('POST', `/v1/${url}`, { key: as, body })
  expectStatus(201, await send('types', DELIVERY))
  const performer = await addAgent(stage, 'performer', ledger)
  const own = await addKey(stage, { agent: performer, scopes: ['records:write'], ledger })
  const create = { type: 'delivery/1', payload: PAYLOAD, performer, gate: 'auto' }
  return {
    async isPaid() {
      const { id } = expectStatus(201, await send('records', create)).json()
      expectStatus(200, await send(`records/${id}/activate`, {}, own))
      expectStatus(200, await send(`records/${id}/completions`, { evidence: PASSING }, own))
      const isSettled = async () => {
        const { data } = await eventPage(stage, { events: 'signal.emitted' }, key)
        return idsOf(data).includes(id)
      }
      await until(isSettled, 20_000)
    },
  }
}

/** Removes the signature of the newest entry of this kind. The returned function restores it. */
async function unsign(stage: Stage, kind: string): Promise<() => Promise<void>> {
  const [entry] = await stage.sql<{ seq: string; envelope: Buffer }>(
    `select e.seq, e.envelope from tallystick.entries e where e.kind = $1 and e.ledger_id = $2 order by e.seq desc limit 1`,
    [kind, ledgerUuid(stage)],
  )
  const { seq, envelope } = entry!
  const set = (bytes: Buffer) =>
    tamper(
      stage,
      `update tallystick.entries set envelope = '\\x${bytes.toString('hex')}'
       where ledger_id = '${ledgerUuid(stage)}' and seq = ${seq}`,
    )
  await set(randomBytes(64))
  return () => set(envelope)
}

async function order(stage: Stage, performer: Agent): Promise<string> {
  const { id } = await stage.create({ performer: performer.id, gate: 'auto' })
  await stage.take(id, 'activate', { as: performer })
  await stage.take(id, 'completions', { as: performer, body: { evidence: PASSING } })
  return id
}

function openFaults(stage: Stage): Promise<{ code: string }[]> {
  return stage.sql('select code from tallystick.ledger_faults where cleared_at is null')
}

function clear(stage: Stage): Promise<boolean> {
  return withClient(stage.database.superuserUrl, (client) =>
    clearFault(client, parseId('led', stage.ledger.ledger.id), 'looked at'),
  )
}

async function statesOf(stage: Stage, ids: readonly string[]): Promise<string[]> {
  return Promise.all(ids.map(async (id) => (await stage.get(id)).state))
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
function idsOf(events: readonly any[]): string[] {
  return events.map(({ data }) => data.record.id)
}

function ledgerUuid(stage: Stage): string {
  return parseId('led', stage.ledger.ledger.id)
}
