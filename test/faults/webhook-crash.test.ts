import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startWebhookReceiver } from '../../bench/webhook-receiver.ts'
import { withClient } from '../../src/db/client.ts'
import { parseId } from '../../src/proof/ids.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { type ReceivedWebhook, startReceiver } from '../helpers/webhook-receiver.ts'
import { addCounted, addEndpoint, post } from '../soak/webhook-endpoints-on.ts'
import { Deployment, type Ledger } from './deployment.ts'
import { formatLoad } from './kill.ts'

const CRASHES = 2
const CLIENTS = 8
const LOAD_MS = 2_000
const DELIVERED_MS_MAX = 60_000

/*
 * That something was delivered is written without waiting for the disk, so a crash of Postgres takes some of it back. What is
 * still to be sent must not be among that: a lane may outlive the crash, and would pass it over.
 */
test('a crash of Postgres while events are delivered passes none over', async () => {
  // As much of what is not flushed as can be is lost.
  const settings = { wal_writer_delay: '10s', wal_writer_flush_after: 0 }
  const deployment = await Deployment.start({ dir: temporaryDir(), apis: 1, worker: true, settings })
  const receiver = await startWebhookReceiver()
  const flaky = await startReceiver(refuseFirst())
  try {
    const ledger = await deployment.createLedger('crashed')
    await addCounted(deployment, ledger, receiver, { number: 0 })
    await addEndpoint(deployment, ledger, flaky.url)
    for (let i = 0; i < CRASHES; i++) {
      const loading = recordFor(deployment, ledger, LOAD_MS)
      await sleep(LOAD_MS / 2)
      await deployment.killPostgres('server')
      await deployment.startPostgres()
      await loading
    }
    await recordFor(deployment, ledger, LOAD_MS)
    const due = await countRecords(deployment, ledger)
    const giveUpAt = Date.now() + DELIVERED_MS_MAX
    const isDone = async () => (await receiver.read([])).events === due && countTaken(flaky.received) === due
    while (!(await isDone()) && Date.now() < giveUpAt) await sleep(100)
    const { events, requests, signaturesBad } = await receiver.read([])
    console.log(
      `${CRASHES} crashes of Postgres: events=${due} received=${events} again=${requests - events}; ${formatLoad()}`,
    )
    const taken = countTaken(flaky.received)
    assert.deepEqual({ events, taken, signaturesBad }, { events: due, taken: due, signaturesBad: 0 })
    deployment.requireAlive()
  } finally {
    receiver.stop()
    await flaky.close()
    await deployment.stop()
  }
})

/** Of each third event the first attempt. */
function refuseFirst(): Parameters<typeof startReceiver>[0] {
  const seen = new Set<string>()
  return ({ id, event }, response) => {
    const isRefused = isFlaky(event.data.entry.seq) && !seen.has(id)
    seen.add(id)
    response.writeHead(isRefused ? 500 : 204).end()
  }
}

function isFlaky(seq: number): boolean {
  return seq % 3 === 0
}

/** Events that were taken: those that are refused first, when they came again. */
function countTaken(received: readonly ReceivedWebhook[]): number {
  const times = new Map<string, number>()
  for (const { id } of received) times.set(id, (times.get(id) ?? 0) + 1)
  const taken = received.filter(({ id, event }) => !isFlaky(event.data.entry.seq) || times.get(id)! > 1)
  return new Set(taken.map(({ id }) => id)).size
}

/** What fails is sent no more: whether it is in the chain, the chain says. */
async function recordFor({ urls }: Deployment, { bearer }: Ledger, durationMs: number): Promise<void> {
  const endsAt = Date.now() + durationMs
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = 0; Date.now() < endsAt; i++)
      await post(urls[0]!, bearer, '/v1/records', { type: 'generic/1', payload: { client, i } }).catch(() =>
        sleep(50),
      )
  })
  await Promise.all(clients)
}

function countRecords({ ownerUrl }: Deployment, { ledger }: Ledger): Promise<number> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from tallystick.entries where ledger_id = $1 and kind = 'record-notarized'`,
      [Buffer.from(parseId('led', ledger))],
    )
    return rows[0]!.count
  })
}
