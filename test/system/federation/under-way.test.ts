import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Test } from '../../helpers/app.ts'
import { type Organisation, peer, startOrganisations } from '../../helpers/federation.ts'
import { seededPlan, startFaultProxy } from '../../helpers/tcp-faults.ts'
import { until } from '../../helpers/wait.ts'
import { reckonPeerings } from '../faults/federation-reckoning.ts'
import { type Heard, type Lie, leafOf, type Mallory, meetMallory, type SentLine } from './mallory.ts'
import { verifyOwnExport } from './unchanged.ts'

/*
 * Two requests to a peer are in progress at the same time (src/outside/federation/peer-sender.ts). The sender must
 * handle their answers in order. It must send an entry without an outcome again, whatever the answers say about later
 * entries.
 */

/** 41 entries of this size fill a request. So the records need two full requests and a partial one. */
const PAYLOAD = { text: 'x'.repeat(59_000) }
const RECORDS = 85
const FILLING_AT_ONCE = 17

class Conversation {
  readonly mallory: Mallory
  readonly requests: number[][] = []
  peak = 0
  #underWay = 0
  readonly #receipts = new Map<string, object>()

  constructor(mallory: Mallory) {
    this.mallory = mallory
  }

  /** Receives requests one after another. A request is answered when the promise of `answer` resolves. */
  listen(answer: (request: number, heard: Heard) => Promise<Lie | null>): void {
    this.mallory.lie = async (heard) => {
      const request = this.requests.push(heard.body.entries.map(({ seq }: SentLine) => seq)) - 1
      this.#underWay++
      this.peak = Math.max(this.peak, this.#underWay)
      const lie = (await answer(request, heard)) ?? this.receive(heard)
      this.#underWay--
      return lie
    }
  }

  /** Answers as an honest peer does: an entry that comes again gets the same receipt. */
  receive({ body }: Heard): { readonly body: { readonly outcomes: object[] } } {
    const outcomes = body.entries.map((entry: SentLine) => {
      const known = this.#receipts.get(entry.envelope)
      if (known) return known
      const { envelope } = this.mallory.receive(entry)
      const outcome = { leaf: leafOf(entry.envelope), outcome: 'received', envelope }
      this.#receipts.set(entry.envelope, outcome)
      return outcome
    })
    return { body: { outcomes } }
  }

  has(requests: number): Promise<void> {
    return until(async () => this.requests.length >= requests, 20_000)
  }

  /** Returns the two requests that were sent together, in order of their entries, because either may arrive first. */
  pair(first: 0 | 2): readonly [number[], number[]] {
    const [a, b] = this.requests.slice(first, first + 2) as [number[], number[]]
    return a[0]! < b[0]! ? [a, b] : [b, a]
  }

  async outcomes(): Promise<{ readonly receipts: number; readonly dead: number; readonly behind: number }> {
    const [row] = await this.mallory.victim.sql<{ receipts: number; dead: number; behind: number }>(
      `select (select count(*)::int from tallystick.peer_receipts) as receipts,
         (select count(*)::int from tallystick.peer_dead_letters) as dead,
         (select (h.size - c.next_seq)::int from tallystick.peer_cursors c join tallystick.chain_heads h using (ledger_id)) as behind`,
    )
    return row!
  }

  hasAll(receipts: number): Promise<void> {
    return until(async () => {
      const found = await this.outcomes()
      return found.receipts === receipts && found.behind === 0
    }, 30_000)
  }
}

/** Creates records, which are sent to the peer when `resume` is called. */
async function openBacklog(
  t: Test,
): Promise<{ readonly conversation: Conversation; resume(): Promise<void> }> {
  const mallory = await meetMallory(t)
  const { victim, peer } = mallory
  const resume = await fillBacklog(victim, peer, RECORDS)
  return { conversation: new Conversation(mallory), resume }
}

/** Creates records while the peering is suspended. Returns a function that resumes it, so that the records are sent. */
async function fillBacklog(home: Organisation, peer: string, records: number): Promise<() => Promise<void>> {
  await home.ask('POST', `/v1/peers/${peer}/suspend`, { body: {} })
  const body = { type: 'task/1', payload: PAYLOAD, share: [{ peer, documents: 'whole' }] }
  for (let made = 0; made < records; made += FILLING_AT_ONCE)
    await Promise.all(
      Array.from({ length: FILLING_AT_ONCE }, () => home.ask('POST', '/v1/records', { body })),
    )
  return async () => void (await home.ask('POST', `/v1/peers/${peer}/resume`, { body: {} }))
}

test('two requests are under way at once, and their answers are taken in order', async (t) => {
  const { conversation, resume } = await openBacklog(t)
  const held = [Promise.withResolvers<null>(), Promise.withResolvers<null>()] as const
  const before = await conversation.outcomes()
  conversation.listen((request) => held[request]?.promise ?? Promise.resolve(null))
  await resume()
  await conversation.has(2)
  const isInOrder = conversation.requests[0] === conversation.pair(0)[0]
  const [first, second] = isInOrder ? held : [held[1], held[0]]
  second.resolve(null)
  await new Promise((done) => setTimeout(done, 300))
  const { receipts, dead } = await conversation.outcomes()
  assert.deepEqual({ receipts, dead }, { receipts: before.receipts, dead: 0 })
  assert.equal(conversation.requests.length, 2, 'a third one waits')
  first.resolve(null)
  await conversation.hasAll(before.receipts + RECORDS)
  assert.equal(conversation.peak, 2)
  const sent = [...conversation.pair(0), ...conversation.requests.slice(2)].flat()
  assert.deepEqual(
    sent,
    [...new Set(sent)].toSorted((a, b) => a - b),
    'each once, in order',
  )
  assert.equal(sent.length, RECORDS)
  await verifyOwnExport(conversation.mallory.victim)
})

test('if the first request fails or is refused in part, the second is sent again and stored once', async (t) => {
  const { conversation, resume } = await openBacklog(t)
  const before = await conversation.outcomes()
  const FAILURE: Lie = { status: 500, body: {} }
  conversation.listen(async (request, heard) => {
    if (request > 3) return null
    const round = request < 2 ? 0 : 2
    await conversation.has(round + 2)
    if (conversation.requests[request] !== conversation.pair(round)[0]) return null
    if (round === 0) return FAILURE
    const { outcomes } = conversation.receive(heard).body
    outcomes[3] = { ...outcomes[3], outcome: 'refused', code: 'fork', detail: 'another one is held' }
    return { body: { outcomes } }
  })
  await resume()
  await conversation.has(2)
  await until(async () => {
    await conversation.mallory.victim.sql('update tallystick.peer_cursors set resume_at = null')
    return conversation.requests.length >= 4
  }, 20_000)
  await conversation.hasAll(before.receipts + RECORDS - 1)
  assert.deepEqual(conversation.pair(2), conversation.pair(0), 'after the failure')
  assert.deepEqual(conversation.requests[4], conversation.pair(0)[1], 'after the refusal')
  assert.equal((await conversation.outcomes()).dead, 1)
  assert.equal(conversation.peak, 2)
})

test('if the worker ends with two requests under way, the next worker sends both again', async (t) => {
  const { conversation, resume } = await openBacklog(t)
  const { victim } = conversation.mallory
  const before = await conversation.outcomes()
  const never = new Promise<null>(() => {})
  conversation.listen((request) => (request < 2 ? never : Promise.resolve(null)))
  await resume()
  await conversation.has(2)
  await victim.stop('worker')
  assert.deepEqual((await conversation.outcomes()).receipts, before.receipts)
  await victim.start('worker')
  await conversation.hasAll(before.receipts + RECORDS)
  assert.deepEqual(conversation.pair(2), conversation.pair(0))
})

test('a backlog is received once, whatever happens to requests and answers on their way', async (t) => {
  let isFaulty = false
  const plan = seededPlan(7, { share: 0.6, msMax: 300 })
  const sides = (await startOrganisations(t, 2, {
    through: async (url) =>
      (
        await startFaultProxy(t, url, (request) => (isFaulty ? plan(request) : { kind: 'pass' }))
      ).url,
  })) as [Organisation, Organisation]
  const [home, guest] = sides
  const id = await peer(home, guest)
  const resume = await fillBacklog(home, id, 2 * RECORDS)
  isFaulty = true
  await resume()
  await until(async () => {
    await home.sql('update tallystick.peer_cursors set resume_at = null')
    const [row] = await home.sql<{ receipts: number }>(
      'select count(*)::int as receipts from tallystick.peer_receipts',
    )
    return row!.receipts >= 2 * RECORDS
  }, 60_000)
  isFaulty = false
  const { findings, records, ...counts } = await reckonPeerings([{ id, sides }])
  assert.deepEqual(findings, [])
  assert.equal(records, 2 * RECORDS)
  assert.deepEqual([counts.lost, counts.doubled, counts.ghosts, counts.disordered], [0, 0, 0, 0])
  for (const side of sides) await verifyOwnExport(side)
})
