import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LightMyRequestResponse as Response } from 'fastify'
import { startWorker } from '../../src/run/worker.ts'
import { expectStatus, testConfig } from '../helpers/app.ts'
import { buildGatedApp, type StepName } from '../helpers/gated-app.ts'
import { temporaryDir } from '../helpers/postgres.ts'

const ROUNDS = 12
/**
 * Maximum server time in ms of a gated record on an idle machine. If the machine is busy, PLAIN_RECORDS_MAX is the
 * limit. Only the best of several rounds must meet a limit.
 */
const SERVER_MS_MAX = 300
/**
 * Limit on a busy machine: a gated record may take as long as this number of plain records. It consists of four entries
 * by requests and one by the verification. The rest of the time is for notifying the worker.
 */
const PLAIN_RECORDS_MAX = 12
const POLL_MS = 2

test('the requests of a gated record take less than 300 ms, from creation to acceptance', async (t) => {
  const app = await buildGatedApp(t)
  const worker = await startWorker({
    ...testConfig(app.database.apiUrl),
    workerUrl: app.database.workerUrl,
    dataDir: temporaryDir(),
  })
  t.after(() => worker.close())

  const plainMs: number[] = []
  const rounds: { requestsMs: number; verificationMs: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const plainAt = performance.now()
    await app.notarize()
    plainMs.push(performance.now() - plainAt)
    let requestsMs = 0
    const timed = async (send: () => Promise<Response>): Promise<Response> => {
      const began = performance.now()
      const response = await send()
      requestsMs += performance.now() - began
      return response
    }
    const step = (id: string, name: StepName) => timed(() => app.step(id, name))
    const body = { type: 'delivery/1', payload: { quantity: 100 }, performer: app.agents.performer.id }
    const { id } = expectStatus(201, await timed(() => app.send('POST', '/v1/records', { body }))).json()
    expectStatus(200, await step(id, 'activate'))
    expectStatus(200, await step(id, 'completions'))
    const submitted = performance.now()
    while ((await app.get(id)).state === 'SUBMITTED')
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    const verificationMs = performance.now() - submitted
    assert.equal(expectStatus(200, await step(id, 'verdict')).json().state, 'ACCEPTED')
    rounds.push({ requestsMs, verificationMs })
  }
  const totals = rounds
    .map(({ requestsMs, verificationMs }) => requestsMs + verificationMs)
    .sort((a, b) => a - b)
  const plain = plainMs.toSorted((a, b) => a - b)[ROUNDS >> 1]!
  const shown = rounds.map(
    ({ requestsMs, verificationMs }) => `${requestsMs.toFixed(0)}+${verificationMs.toFixed(0)}`,
  )
  t.diagnostic(
    `four requests + verification, ms: ${shown.join(' ')}; median ${totals[ROUNDS >> 1]!.toFixed(0)}; a plain record ${plain.toFixed(0)}`,
  )
  const maxMs = Math.max(SERVER_MS_MAX, PLAIN_RECORDS_MAX * plain)
  assert.ok(totals[0]! < maxMs, `the best of ${ROUNDS} took ${totals[0]} ms, of at most ${maxMs}`)
})
