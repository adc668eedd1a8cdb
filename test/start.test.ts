import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirInMemory } from './helpers/postgres.ts'
import { runCli } from './helpers/run-cli.ts'
import { freePort, paste, startAllInOne } from './system/deployment/installation.ts'

/* This is the only deployment that `npm test` starts. Other tests of the start are in test/system/start. */

test('a first start notarizes by its printed line, verifies from outside, and ends with Ctrl-C', async () => {
  const dataDir = temporaryDirInMemory()
  const started = await startAllInOne({
    env: { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() },
  })
  const { status, body } = await paste(started.curl)
  assert.deepEqual([status, body.type], [201, 'generic/1'])
  const { key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  const verified = await runCli(['verify'], { env: { TALLYSTICK_URL: started.url, TALLYSTICK_API_KEY: key } })
  assert.match(verified.stdout, /^INTEGRITY_OK entries=5 records=1 /m, verified.stderr)
  assert.equal(await started.stop('SIGINT'), 0)
})
