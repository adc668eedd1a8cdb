import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertProblem } from '../helpers/assert-problem.ts'
import { buildGatedApp, sharedGatedApp } from '../helpers/gated-app.ts'

const SOON_MS = 1_500
/**
 * Difference of the two clocks in ms. It is within the limit for the difference between an entry's time and the
 * database's clock.
 */
const SKEW_MS = 20_000

const after = (ms: number) => new Date(Date.now() + ms).toISOString()
async function pass(deadline: string): Promise<void> {
  await sleep(Date.parse(deadline) - Date.now() + 20)
}

test('a deadline that has passed', async (t) => {
  const app = await sharedGatedApp()
  const deadline = after(SOON_MS)
  const created = await app.create({ deadline })
  const active = await app.create({ deadline })
  const submitted = await app.create({ deadline })
  await app.take(active.id, 'activate')
  await app.take(submitted.id, 'activate')
  await app.take(submitted.id, 'completions')
  await pass(deadline)

  async function assertLate(id: string, step: 'activate' | 'completions', state: string): Promise<void> {
    const before = await app.written()
    const problem = assertProblem(await app.step(id, step), 409, 'deadline_passed')
    const next = ['record-cancelled', 'record-expired']
    assert.deepEqual([problem['state'], problem['nextEvents'], problem['retryable']], [state, next, false])
    assert.deepEqual(await app.written(), before)
  }

  await t.test('refuses an activation; the principal can still cancel', async () => {
    await assertLate(created.id, 'activate', 'CREATED')
    await app.take(created.id, 'cancel')
  })

  await t.test('refuses a completion; the worker can expire the record', async () => {
    await assertLate(active.id, 'completions', 'ACTIVE')
    const { state, version, nextEvents, entry, gated } = await app.expire(active.id)
    assert.deepEqual([state, version, nextEvents, entry.kind], ['EXPIRED', 3, [], 'record-expired'])
    assert.equal(gated.completion, null)
  })

  await t.test('does not affect a completion that was in time', async () => {
    await app.verify(submitted.id)
    assert.equal((await app.take(submitted.id, 'verdict')).state, 'ACCEPTED')
  })

  await t.test('is checked after the state: an ended record gets state_conflict', async () => {
    const problem = assertProblem(await app.step(created.id, 'completions'), 409, 'state_conflict')
    assert.equal(problem['state'], 'CANCELLED')
  })

  await t.test('refuses the completion after a late revision, and the record expires', async () => {
    const soon = after(SOON_MS)
    const { id } = await app.create({ deadline: soon })
    await app.take(id, 'activate')
    await app.take(id, 'completions')
    await app.verify(id)
    await pass(soon)
    assert.equal((await app.take(id, 'revision')).state, 'ACTIVE')
    await assertLate(id, 'completions', 'ACTIVE')
    assert.equal((await app.expire(id)).state, 'EXPIRED')
  })

  await t.test('never passes if the terms have no deadline', async () => {
    const { id, nextEvents } = await app.create()
    assert.ok(!nextEvents.includes('record-expired'))
    await app.expireOverdue()
    assert.equal((await app.get(id)).state, 'CREATED')
  })
})

test('deadlines are checked by the database’s clock, not the server’s', async (t) => {
  let skewMs = 0
  const app = await buildGatedApp(t, { now: () => Date.now() + skewMs })
  async function activeUntil(deadline: string): Promise<string> {
    const { id } = await app.create({ deadline })
    await app.take(id, 'activate')
    return id
  }

  await t.test('a server whose clock is fast accepts a completion in time', async () => {
    skewMs = 0
    const id = await activeUntil(after(SKEW_MS / 2))
    skewMs = SKEW_MS
    assert.equal((await app.take(id, 'completions')).state, 'SUBMITTED')
  })

  await t.test(
    'a server whose clock is slow refuses a late completion with 409 deadline_passed',
    async () => {
      skewMs = 0
      const deadline = after(SOON_MS)
      const id = await activeUntil(deadline)
      skewMs = -SKEW_MS
      await pass(deadline)
      assertProblem(await app.step(id, 'completions'), 409, 'deadline_passed')
    },
  )
})
