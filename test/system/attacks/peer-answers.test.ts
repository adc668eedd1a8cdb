import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BODY_BYTES_MAX } from '../../../src/load/limits.ts'
import { PEER_RETRY_AFTER_NONSENSE_MS } from '../../../src/outside/federation/limits.ts'
import { costlyTexts } from '../../helpers/costly-json.ts'
import { startOrganisations } from '../../helpers/federation.ts'
import { HELD_MS_MAX, heldWhile } from '../../helpers/held-loop.ts'
import { until } from '../../helpers/wait.ts'
import { type Heard, Mallory } from '../federation/mallory.ts'

/*
 * Finding H5: five peers of one tenant answered 200 with 8 MiB each. These answers blocked the worker for fifteen
 * seconds. In this test worker and server are in one process.
 */

const PEERS = 5

test('costly answers of peers do not block the worker', async (t) => {
  const [victim] = await startOrganisations(t, 1)
  const peers: Mallory[] = []
  for (let i = 0; i < PEERS; i++) peers.push(await Mallory.meet(t, victim!))
  const share = peers.map(({ peer }) => ({ peer, documents: 'whole' }))
  const record = await victim!.ask('POST', '/v1/records', { body: { type: 'task/1', payload: {}, share } })
  await until(async () => (await behind()).every((n) => n === 0), 20_000)

  async function drains() {
    const all = peers.map(({ peer }) => victim!.ask('GET', `/v1/peers/${peer}`))
    return (await Promise.all(all)).map(({ drain }) => drain)
  }
  async function behind() {
    return (await drains()).map((drain) => drain.behind)
  }

  // `long` has the former maximum size of an answer. `short` has the current maximum size of an answer about one entry.
  const long = costlyTexts(8 * 1024 * 1024, '"outcomes":')['nested lists, and a name with an escape']!
  const short = Object.values(costlyTexts(BODY_BYTES_MAX + 6_000, '"outcomes":'))
  for (const [what, bodyOf] of [
    ['of 8 MiB', () => long],
    ['as long as they may be', (heard: Heard, i: number) => besideOutcomes(peers[i]!, heard, short[i]!)],
  ] as const) {
    await t.test(what, { timeout: 120_000 }, async (t) => {
      let answers = 0
      const answered = new Set<number>()
      for (const [i, mallory] of peers.entries()) {
        mallory.lie = (heard) => {
          answers++
          answered.add(i)
          return { body: bodyOf(heard, i) }
        }
      }
      await victim!.sql('update tallystick.peer_cursors set resume_at = null')
      const { heldMs } = await heldWhile(async () => {
        await victim!.ask('POST', `/v1/records/${record.id}/activate`, { body: {} }).catch(() => {})
        await victim!.ask('POST', '/v1/records', { body: { type: 'task/1', payload: {}, share } })
        // On a busy machine a delivery may fail meanwhile, and its retry would come after a pause. The test skips this
        // pause.
        while (answered.size < PEERS) {
          await sleep(1_000)
          await victim!.sql('update tallystick.peer_cursors set resume_at = null')
        }
        await sleep(500)
      })
      t.diagnostic(`held for ${heldMs} ms; ${answers} answers`)
      assert.ok(heldMs < HELD_MS_MAX, `held for ${heldMs} ms`)
    })
  }

  await t.test('a peer with malformed answers is not contacted again soon', async () => {
    const nowMs = Date.now()
    for (const mallory of peers) mallory.lie = () => ({ body: '{"outcomes":7}' })
    await victim!.sql('update tallystick.peer_cursors set resume_at = null')
    await victim!.ask('POST', '/v1/records', { body: { type: 'task/1', payload: {}, share } })
    await until(
      async () =>
        (await drains()).every(({ lastError, resumeAt }) => resumeAt && /^unexpected_answer/.test(lastError)),
      20_000,
    )
    for (const { resumeAt } of await drains())
      assert.ok(Date.parse(resumeAt) > nowMs + PEER_RETRY_AFTER_NONSENSE_MS - 5_000, resumeAt)
  })
})

function besideOutcomes(mallory: Mallory, heard: Heard, costly: string): string {
  const honest = JSON.stringify(mallory.honestAnswer(heard).body)
  return `${honest.slice(0, -1)},"beside":${costly.slice(0, -honest.length - 12 - 40)}`
}
