import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startWorker } from '../../src/run/worker.ts'
import { buildTestApp, testConfig } from '../helpers/app.ts'

test('a running worker publishes a checkpoint soon after an entry, and keeps it outside', async (t) => {
  const app = await buildTestApp(t)
  const dataDir = await mkdtemp(join(tmpdir(), 'tallystick-worker-'))
  const worker = await startWorker({
    ...testConfig(app.database.apiUrl),
    workerUrl: app.database.workerUrl,
    dataDir,
  })
  try {
    await app.notarize()
    const deadline = Date.now() + 5_000
    let note = ''
    while (!note.includes('\n4\n')) {
      assert.ok(Date.now() < deadline, 'no checkpoint of 4 entries came')
      await sleep(50)
      note = (await app.send('GET', '/v1/checkpoints/latest')).body
    }
    assert.equal(await readFile(join(dataDir, 'checkpoints', `${app.ledger.ledger.id}.note`), 'utf8'), note)
  } finally {
    await worker.close()
    await rm(dataDir, { recursive: true })
  }
})

test('does not start with the API’s login, which must not read the note key, nor with the owner’s', async (t) => {
  const app = await buildTestApp(t)
  const config = testConfig(app.database.apiUrl)
  await assert.rejects(startWorker({ ...config, workerUrl: app.database.apiUrl }), /permission denied/)
  await assert.rejects(startWorker({ ...config, workerUrl: app.database.ownerUrl }), /too powerful/)
})

test('does not start with a master key that did not seal the note key', async (t) => {
  const app = await buildTestApp(t)
  const config = { ...testConfig(app.database.apiUrl), workerUrl: app.database.workerUrl }
  await assert.rejects(startWorker({ ...config, masterKey: new Uint8Array(32) }), /TALLYSTICK_MASTER_KEY/)
})
