/*
 * npm run bench -- federation [--backlog 3000] [--offers 1500] [--rounds 3] [--no-reference] [--profile] [--embedded]
 *
 * Measures a peering of two deployments on one Postgres, each with an API process and a worker. Each round has two
 * phases:
 *
 * 1. The home suspends the peering, shares a backlog of records, and resumes the peering. The phase ends when the guest
 *    has received the backlog.
 * 2. The guest's agent offers to activate records of the backlog, with 32 requests in flight. The phase ends when the
 *    home has decided all offers and the guest has received the decisions.
 *
 * Before the rounds, plain inserts are measured (unless `--no-reference` is set). After the rounds, the guest's ledger
 * is verified.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { parseId } from '../../src/proof/ids.ts'
import { openDatabase } from '../database.ts'
import type { Target } from '../load/connection.ts'
import { get, post } from '../load/post.ts'
import { startGuest, stopGuest } from '../pair.ts'
import { profileWindow } from '../profile.ts'
import { runReference } from '../reference.ts'
import { describeCommit } from '../report.ts'
import { deploy, startSystem } from '../system.ts'
import { printTable } from '../table.ts'
import { runVerify } from '../watch/audit.ts'
import { takeCpuSnapshot } from '../watch/cpu.ts'

const IN_FLIGHT = 32
const REFERENCE_CONNECTIONS = 128
const PAYLOAD_BYTES = 400
/** Time in ms for the followers to process the entries of the previous phase. */
const CALM_MS = 2_000
const POLL_MS = 20
const PHASE_MS_MAX = 120_000

const { values } = parseArgs({
  allowNegative: true,
  options: {
    backlog: { type: 'string', default: '3000' },
    offers: { type: 'string', default: '1500' },
    rounds: { type: 'string', default: '3' },
    reference: { type: 'boolean', default: true },
    profile: { type: 'boolean', default: false },
    embedded: { type: 'boolean', default: false },
  },
})
const backlog = Number(values.backlog)
const offers = Math.min(Number(values.offers), backlog)

const database = await openDatabase(
  { databaseUrl: process.env['DATABASE_URL'], embedded: values.embedded },
  console.log,
)
try {
  console.log(`${describeCommit()}, Node ${process.version}, Postgres ${database.postgres}`)
  const reference = values.reference ? await measureReference() : null
  const rows = await measurePair()
  printTable([
    [
      '',
      'entries',
      'per second',
      'CPU us each: home API',
      'worker',
      'guest API',
      'worker',
      'Postgres',
      'requests to home / guest',
    ],
    ...rows,
  ])
  if (reference !== null)
    console.log(`plain inserts, ${REFERENCE_CONNECTIONS} connections: ${reference} rows/s`)
} finally {
  await database.close()
}

async function measureReference(): Promise<number> {
  const { rowsPerSecond } = await runReference({
    ...{ databaseUrl: database.ownerUrl, connections: REFERENCE_CONNECTIONS, payloadBytes: PAYLOAD_BYTES },
    ...{ warmUpMs: 1_000, durationMs: 4_000, drainMsMax: 1_000 },
  })
  return Math.round(rowsPerSecond)
}

async function measurePair(): Promise<string[][]> {
  const inspect = values.profile
  const deployment = await deploy(database.ownerUrl)
  const home = await startSystem(deployment, { servers: 1, worker: true, inspect })
  try {
    const guest = await startGuest(database, deployment, { inspect })
    const [atHome, observer] = [database, guest].map(
      ({ ownerUrl }) => new pg.Client({ connectionString: ownerUrl }),
    ) as [pg.Client, pg.Client]
    await Promise.all([atHome.connect(), observer.connect()])
    try {
      const [homeApi, guestApi] = [home.targets[0]!, guest.system.targets[0]!]
      const { id, invitation } = await post(homeApi, home.bearer, '/v1/peers', { name: 'guest' })
      await post(guestApi, guest.system.bearer, '/v1/peers', { name: 'home', invitation })
      await until(async () => (await get(homeApi, home.bearer, `/v1/peers/${id}`)).state === 'active')
      await until(
        async () => (await get(guestApi, guest.system.bearer, `/v1/peers/${id}`)).state === 'active',
      )
      const performer = await post(guestApi, guest.system.bearer, '/v1/keys', {
        name: 'performer',
        scopes: ['records:write', 'records:read'],
      })
      const guestLedger = parseId('led', guest.ledger)
      const processes = {
        'home API': home.servers.map(({ pid }) => pid),
        'home worker': [home.worker!.pid],
        'guest API': guest.system.servers.map(({ pid }) => pid),
        'guest worker': [guest.system.worker!.pid],
      }
      const rows: string[][] = []
      for (let round = 0; round < Number(values.rounds); round++) {
        await post(homeApi, home.bearer, `/v1/peers/${id}/suspend`, {})
        const records = await fill(homeApi, home.bearer, id, `${guest.ledger}/${performer.agent}`)
        await sleep(CALM_MS)
        const before = await sizeOfGuest()
        rows.push(
          await measure('drain', records.length, async () => {
            await post(homeApi, home.bearer, `/v1/peers/${id}/resume`, {})
            await until(async () => (await sizeOfGuest()) >= before + records.length)
          }),
        )
        await sleep(CALM_MS)
        rows.push(
          await measure('offers', offers, async () => {
            await each(records.slice(0, offers), (record) =>
              post(guestApi, performer.key, `/v1/records/${record}/activate`, {}, { 'if-match': '"1"' }),
            )
            await until(async () => (await countOpen()) === 0)
          }),
        )
      }
      console.log(`guest: ${await runVerify({ env: guest.deployment.env, ledger: guest.ledger })}`)
      return rows

      /** Returns the size of the guest's chain, which is cheaper than a count of its received entries. */
      async function sizeOfGuest(): Promise<number> {
        return count('select size::int as n from tallystick.chain_heads where ledger_id = $1')
      }

      async function countOpen(): Promise<number> {
        return count(
          "select count(*)::int as n from tallystick.offers where ledger_id = $1 and state = 'pending'",
        )
      }

      async function count(text: string): Promise<number> {
        return (await observer.query<{ n: number }>(text, [guestLedger])).rows[0]!.n
      }

      async function measure(name: string, entries: number, work: () => Promise<void>): Promise<string[]> {
        const profiled = inspect
          ? await Promise.all(
              Object.entries({
                'home API': home.servers[0]!,
                'home worker': home.worker!,
                'guest API': guest.system.servers[0]!,
                'guest worker': guest.system.worker!,
              }).map(async ([of, child]) => ({ of, window: await profileWindow(child, 'bench/results') })),
            )
          : []
        const requests = () => Promise.all([atHome, observer].map(countRequests))
        const requestsBefore = await requests()
        const snapshot = () => takeCpuSnapshot({ processes, postmaster: database.postmaster })
        const before = snapshot()
        for (const { window } of profiled) window.start()
        const beganAt = performance.now()
        await work()
        const seconds = (performance.now() - beganAt) / 1_000
        for (const { window } of profiled) window.stop()
        const after = snapshot()
        for (const { of, window } of profiled) {
          const { groups, functions, file } = await window.summarize(`federation ${name} ${of}`, entries)
          console.log(`\n${name}, ${of} (${file})`)
          for (const line of [...groups.slice(0, 12), ...functions.slice(0, 25)])
            console.log(`  ${line.microsPerItem.toFixed(1).padStart(7)} us  ${line.name}`)
        }
        const us = [...Object.keys(processes), 'postgres'].map((of) =>
          String(Math.round((1e6 * (after.seconds[of]! - before.seconds[of]!)) / entries)),
        )
        const sent = (await requests()).map((count, i) => count - requestsBefore[i]!)
        return [name, String(entries), String(Math.round(entries / seconds)), ...us, sent.join(' / ')]
      }
    } finally {
      await Promise.all([atHome.end(), observer.end()])
      await stopGuest(guest)
    }
  } finally {
    await home.stop()
    deployment.close()
  }
}

/** Returns the number of signed requests of peers that a server has received in the last minutes. */
async function countRequests(client: pg.Client): Promise<number> {
  return (await client.query<{ n: number }>('select count(*)::int as n from tallystick.peer_nonces')).rows[0]!
    .n
}

/** Creates shared records. Returns their ids. */
async function fill(target: Target, bearer: string, peer: string, performer: string): Promise<string[]> {
  const record = {
    type: 'task/1',
    payload: { task: 'count the boxes', text: 'x'.repeat(PAYLOAD_BYTES) },
    performer,
    share: [{ peer, documents: 'whole' }],
  }
  return each(Array.from({ length: backlog }), async () => {
    const made = await post(target, bearer, '/v1/records', record)
    return made.id as string
  })
}

async function each<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (next < items.length) {
        const at = next++
        results[at] = await work(items[at]!)
      }
    }),
  )
  return results
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + PHASE_MS_MAX
  while (!(await isSo())) {
    if (performance.now() > endsAt) throw new Error('the phase did not end')
    await sleep(POLL_MS)
  }
}
