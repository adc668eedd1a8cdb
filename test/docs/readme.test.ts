import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDir } from '../helpers/postgres.ts'
import { freePort, PROJECT_DIR, startAllInOne } from '../start/installation.ts'
import { shellBlocks } from './shell-blocks.ts'

const run = promisify(execFile)

test('a newcomer who pastes the README block by block notarizes, has work judged, exports and verifies', async () => {
  const dataDir = temporaryDir()
  const started = await startAllInOne({
    env: { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() },
  })
  try {
    const { key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
    const [start, notarize, batch, makeKey, gated, find, verify, proof, ...others] = shellBlocks('README.md')
    assert.equal(start, 'npm start\n')
    assert.deepEqual(others, ['npm test\n'])

    const paste = async (block: string | undefined) => {
      // What the reader puts in: his key, and here another port and another place for the file.
      const text = block!
        .replaceAll('http://localhost:3000', started.url)
        .replaceAll('tly_…', key)
        .replaceAll('ledger.ndjson', join(dataDir, 'ledger.ndjson'))
        .replaceAll('proof.json', join(dataDir, 'proof.json'))
      const env = { ...process.env, TALLYSTICK_API_KEY: key, XDG_CONFIG_HOME: dataDir }
      return (await run('bash', ['-euc', text], { cwd: PROJECT_DIR, env })).stdout
    }
    const record = JSON.parse(await paste(notarize))
    assert.deepEqual(record.payload, { query: 'price of copper', tool: 'search' })
    assert.equal(
      JSON.parse(await paste(notarize)).id,
      record.id,
      'the same request is answered with the same record',
    )
    assert.equal(JSON.parse(await paste(batch)).records.length, 2)
    assert.match(JSON.parse(await paste(makeKey)).key, /^tly_/)
    assert.match(await paste(gated), /^\{"decision":"SETTLE","code":"accepted",.*\}$/m)
    const found = JSON.parse(await paste(find)).data
    assert.deepEqual(
      found.map(({ payload }: { payload: object }) => payload),
      [{ step: 2 }, { step: 1 }],
    )
    assert.match(
      await paste(verify),
      /^INTEGRITY_OK entries=14 records=4 keys=self-asserted checkpoint=\w+ /m,
    )
    assert.match(await paste(proof), /OK/)
  } finally {
    await started.stop('SIGTERM')
  }
})
