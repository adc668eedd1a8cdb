import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type pg from 'pg'
import { type Progress, writeProgress } from '../../src/db/events/webhook-work.ts'
import { parseId } from '../../src/proof/ids.ts'
import { buildTestApp } from '../helpers/app.ts'
import { connect } from '../helpers/connect.ts'
import { makeWebhook } from '../helpers/webhooks.ts'

const NOTHING: Omit<Progress, 'mayBeLost'> = {
  nextSeq: 3,
  checkpointSize: 0,
  health: {
    failures: 0,
    failingSinceMs: null,
    failingDays: 0,
    resumeInMs: null,
    lastSuccessMs: null,
    lastFailureMs: null,
  },
  rows: [],
}

test('only progress that may be lost is written without synchronous_commit, and only by the lease’s holder', async (t) => {
  const app = await buildTestApp(t)
  const { id } = await makeWebhook(app)
  const jobId = randomUUID()
  await app.sql(`update tallystick.webhook_cursors set job_id = '${jobId}'`)
  const turn = { ledgerId: parseId('led', app.ledger.ledger.id), webhookId: parseId('whk', id), jobId }
  const client = await connect(t, app.database.workerUrl)
  await client.query('set synchronous_commit = on')
  for (const mayBeLost of [true, false]) {
    await client.query('begin')
    assert.equal(await writeProgress(client, turn, { ...NOTHING, mayBeLost }), true)
    assert.equal(await readCommit(client), mayBeLost ? 'off' : 'on')
    await client.query('commit')
    assert.equal(await readCommit(client), 'on', 'of one transaction only')
  }
  const another = { ...turn, jobId: randomUUID() }
  assert.equal(await writeProgress(client, another, { ...NOTHING, mayBeLost: true }), false)
})

async function readCommit(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query('show synchronous_commit')
  return rows[0].synchronousCommit
}
