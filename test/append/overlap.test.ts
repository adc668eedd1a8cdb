import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppendQueue, type Batch, type Queued } from '../../src/append/append-queue.ts'
import type { Uuid } from '../../src/proof/ids.ts'

/*
 * Model of a server and its Postgres in simulated microseconds. It compares two rules: two batches alternate, or only
 * one batch runs at a time. The costs are those of docs/BENCHMARKS.md for a machine with two cores, one of them for the
 * server.
 */
const PREPARE_US = 50
const ANSWER_US = 35
const CALL_US = 400
/**
 * Part of a call of append_entries that passes before the call needs the lock of the head. In this time Postgres reads
 * the parameters and checks the MAC.
 */
const UNLOCKED_SHARE = 0.3
const RECORD_US = 27
const CLIENT_US = 60
const PER_TURN_MAX = 16

const LEDGER = '00000000-0000-7000-8000-000000000001' as Uuid

type Rule = {
  add(client: Client, nowMs: number): void
  take(nowMs: number, coming: number): Batch<Client> | null
  end(batch: Batch<Client>, nowMs: number): void
  /** True if callers are answered before the next batch is sent. */
  readonly answersFirst?: boolean
}
type Client = Queued & { readonly name: number }
type Load = { readonly clients: number; readonly flushUs: number; readonly perSecond?: number }

const CLIENTS = [16, 32, 64, 128, 256, 512]
const FLUSHES_US = [40, 250, 1_000, 4_000]

test('a closed loop reaches over 75 % of the throughput of the slower of server and Postgres', async (t) => {
  for (const flushUs of FLUSHES_US) {
    for (const clients of CLIENTS) {
      await t.test(`${clients} connections, a flush of ${flushUs} us`, () => {
        const { perSecond } = simulate(new AppendQueue(), { clients, flushUs })
        const share = perSecond / boundOf(clients, flushUs)
        assert.ok(share > 0.75, `${Math.round(perSecond)}/s, ${share.toFixed(2)} of what the slower can do`)
      })
    }
  }
})

test('the model shows a convoy if a batch waits for all arrived requests: 1.3 times slower', () => {
  for (const flushUs of [40, 250, 1_000]) {
    for (const clients of [32, 64, 128]) {
      const ours = simulate(new AppendQueue(), { clients, flushUs })
      const convoy = simulate(new ForAll(), { clients, flushUs })
      assert.ok(ours.perSecond > 1.3 * convoy.perSecond, `${ours.perSecond} and ${convoy.perSecond}/s`)
    }
  }
})

test('the model shows small batches if no batch waits: at most 32 records instead of over 64', () => {
  const atOnce = simulate(new ForNobody(), { clients: 256, flushUs: 40 })
  assert.ok(atOnce.recordsPerBatch <= 32, `${atOnce.recordsPerBatch} records a batch`)
  const ours = simulate(new AppendQueue(), { clients: 256, flushUs: 40 })
  assert.ok(ours.recordsPerBatch > 64, `${ours.recordsPerBatch} records a batch`)
})

test('at 1,900 requests/s the mean latency stays below 2.2 times the minimum', () => {
  for (const flushUs of [40, 1_000]) {
    const { meanUs } = simulate(new AppendQueue(), { clients: 2_000, flushUs, perSecond: 1_900 })
    const atOnce = PREPARE_US + CALL_US + RECORD_US + flushUs + ANSWER_US
    assert.ok(meanUs < 2.2 * atOnce, `${Math.round(meanUs)} us, ${atOnce} if each had a server to itself`)
  }
})

/**
 * Returns the greatest possible number of records per second. Two batches alternate without a gap, each with half of
 * the clients. The slower of server and Postgres sets the limit.
 */
function boundOf(clients: number, flushUs: number): number {
  const half = Math.min(clients / 2, 256)
  const server = 1 / (PREPARE_US + ANSWER_US)
  const postgres = half / ((1 - UNLOCKED_SHARE) * (CALL_US + RECORD_US * half) + flushUs)
  return 1e6 * Math.min(server, postgres)
}

function simulate(queue: Rule, { clients, flushUs, perSecond }: Load) {
  const END_US = 2_000_000
  const arrivals: { at: number; client: Client }[] = []
  const arrivedAt = new Map<Client, number>()
  for (let name = 0; name < clients; name++) {
    const client = { name, ledgerId: LEDGER, records: 1, keys: 0, bytes: 1_000, ownBatchMax: null }
    arrivals.push({ at: perSecond ? (name * 1e6) / perSecond : name, client })
  }
  const ended: { at: number; batch: Batch<Client> }[] = []
  let [now, lockFreeAt, answered, waitedUs, batches, records] = [0, 0, 0, 0, 0, 0]

  const countComing = () => arrivals.filter(({ at }) => at <= now).length
  const send = () => {
    for (
      let batch = queue.take(now / 1_000, countComing());
      batch;
      batch = queue.take(now / 1_000, countComing())
    ) {
      const callUs = CALL_US + RECORD_US * batch.items.length
      const lockedAt = Math.max(now + UNLOCKED_SHARE * callUs, lockFreeAt)
      lockFreeAt = lockedAt + (1 - UNLOCKED_SHARE) * callUs + flushUs
      ended.push({ at: lockFreeAt, batch })
      batches++
      records += batch.items.length
    }
  }
  // Each round is one turn of the event loop: requests begin, ready batches are sent, and finished batches are
  // answered.
  while (now < END_US) {
    const begun = arrivals.filter(({ at }) => at <= now).slice(0, PER_TURN_MAX)
    for (const one of begun) {
      arrivals.splice(arrivals.indexOf(one), 1)
      arrivedAt.set(one.client, one.at)
      now += PREPARE_US
      queue.add(one.client, now / 1_000)
    }
    send()
    const done = ended.findIndex(({ at }) => at <= now)
    if (done >= 0) {
      const { batch } = ended.splice(done, 1)[0]!
      queue.end(batch, now / 1_000)
      if (!queue.answersFirst) send()
      for (const client of batch.items) {
        now += ANSWER_US
        answered++
        waitedUs += now - arrivedAt.get(client)!
        if (!perSecond) arrivals.push({ at: now + CLIENT_US, client })
        else arrivals.push({ at: arrivedAt.get(client)! + (clients * 1e6) / perSecond, client })
      }
      if (queue.answersFirst) send()
    } else if (begun.length === 0) {
      const next = Math.min(...arrivals.map(({ at }) => at), ...ended.map(({ at }) => at))
      now = Math.max(now + 1, next)
    }
  }
  return {
    perSecond: (answered * 1e6) / now,
    meanUs: waitedUs / answered,
    recordsPerBatch: Math.round(records / batches),
  }
}

/**
 * The rule of an earlier version: a ledger has one batch at a time, and a batch waits for all requests that have
 * arrived.
 */
class ForAll implements Rule {
  readonly answersFirst: boolean = true
  readonly waiting: Client[] = []
  isInFlight = false

  add(client: Client): void {
    this.waiting.push(client)
  }

  take(nowMs: number, coming: number): Batch<Client> | null {
    if (this.isInFlight || this.waiting.length === 0 || this.isTooSoon(coming)) return null
    this.isInFlight = true
    const items = this.waiting.splice(0)
    return { items, ledgers: new Set([LEDGER]), records: items.length, startedAt: nowMs }
  }

  isTooSoon(coming: number): boolean {
    return coming > 0 && this.waiting.length < 128
  }

  end(): void {
    this.isInFlight = false
  }
}

class ForNobody extends ForAll {
  override isTooSoon(): boolean {
    return false
  }
}
