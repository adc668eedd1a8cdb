import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StoredCheckpoints } from '../../src/followers/checkpoints/stored-checkpoints.ts'
import { startWorker } from '../../src/run/worker.ts'
import { testConfig } from '../helpers/app.ts'
import { lendApp } from '../helpers/lent-app.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { until } from '../helpers/wait.ts'

test('a running worker publishes a checkpoint soon after an entry, and stores it as a file', async (t) => {
  const app = await lendApp(t)
  const dataDir = await mkdtemp(join(tmpdir(), 'tallystick-worker-'))
  const worker = await startWorker({
    ...testConfig(app.database.apiUrl),
    workerUrl: app.database.workerUrl,
    dataDir,
  })
  try {
    await app.notarize()
    let note = ''
    await until(async () => {
      note = (await app.send('GET', '/v1/checkpoints/latest')).body
      return note.includes('\n4\n')
    })
    assert.equal(await readFile(join(dataDir, 'checkpoints', `${app.ledger.ledger.id}.note`), 'utf8'), note)
  } finally {
    await worker.close()
    await rm(dataDir, { recursive: true })
  }
})

test('does not start with the login of the API or of the owner', async (t) => {
  const app = await lendApp(t)
  const config = testConfig(app.database.apiUrl)
  await assert.rejects(startWorker({ ...config, workerUrl: app.database.apiUrl }), /permission denied/)
  await assert.rejects(startWorker({ ...config, workerUrl: app.database.ownerUrl }), /too many privileges/)
})

test('does not start with a data folder that is not writable, and names the variable', async (t) => {
  const app = await lendApp(t)
  const notAFolder = temporaryFiles(t).write('file', '')
  const config = { ...testConfig(app.database.apiUrl), workerUrl: app.database.workerUrl }
  await assert.rejects(
    startWorker({ ...config, dataDir: notAFolder }),
    /TALLYSTICK_DATA: EEXIST: .*: make it writable for this user, or set another persistent folder$/,
  )
})

test('removes its test file from the data folder', async (t) => {
  const dir = join(temporaryFiles(t).directory, 'checkpoints')
  await new StoredCheckpoints(dir).tryToWrite()
  assert.deepEqual(await readdir(dir), [])
})

test('does not start with a master key that did not seal the note key', async (t) => {
  const app = await lendApp(t)
  const config = { ...testConfig(app.database.apiUrl), workerUrl: app.database.workerUrl }
  await assert.rejects(startWorker({ ...config, masterKey: new Uint8Array(32) }), /TALLYSTICK_MASTER_KEY/)
})
