import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseCheckpoint, signCheckpoint } from '../../../src/proof/tree/checkpoint.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { buildSdk } from '../../../tools/build-sdk.ts'
import type { TestApp } from '../../helpers/app.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { addKey } from '../../helpers/more-keys.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { makePublisher } from '../../helpers/publisher.ts'
import { assertVerifies } from '../../helpers/verify-app.ts'
import { until } from '../../helpers/wait.ts'
import { compile, runAll, writeCodeBlocks } from './code-blocks.ts'
import { openProject, type Project } from './project.ts'

const FLEET_MS_MAX = 45_000

test('the examples', async (t) => {
  await buildSdk()
  const project = await openProject(t)
  let disputed = ''

  await t.test(
    'the fleet example delegates, delivers and is judged on a fresh server, and its ledger verifies',
    async () => {
      const startedAt = performance.now()
      const { code, output } = await project.run('fleet')
      assert.equal(code, 0, output)
      const told = withoutIds(output)
      assert.deepEqual(told.slice(0, -1), FLEET_STORY)
      assert.match(told.at(-1)!, /^auditor {4}verified all \d+ entries, \d+ records, offline$/)
      disputed = /prices of tin .*\((rec_\w+)\)/.exec(output)![1]!
      const revoked = await project.app.sql('select 1 from tallystick.api_keys where revoked_seq is not null')
      assert.equal(revoked.length, 5, 'no key of the fleet is left')
      assert.ok(performance.now() - startedAt < FLEET_MS_MAX)
    },
  )

  await t.test(
    'the auditor example, with an audit key, stores checkpoints, verifies and proves settlements',
    () => auditorFinds(t, project, disputed),
  )
  await t.test('the code in the SDK’s README compiles strictly, and runs', async () => {
    const blocks = writeCodeBlocks(['sdk/README.md'])
    await compile(blocks)
    const { url, apiKey } = project
    const env = { ...bareEnvironment(), TALLYSTICK_URL: url, TALLYSTICK_API_KEY: apiKey }
    await runAll(blocks.folder, blocks.files['sdk/README.md']!, env)
  })
  await assertVerifies(project.app)
})

const FLEET_STORY = [
  'gateway    registered planner, researcher, scraper, arbiter, auditor: each has a key of its own',
  'planner    wants 20 prices of copper for at most 1.00 EUR',
  'researcher takes the order on, and passes 12 of them on to the scraper',
  'rules      ACCEPTED: SETTLE, rules_passed',
  'researcher delivers 18 prices: DISCREPANT, rule enough says below_minimum',
  'planner    asks for a revision: two prices are missing',
  'researcher delivers 20 prices: VERIFIED',
  'planner    ACCEPTED: SETTLE, accepted',
  'planner    wants 10 prices of tin for at most 0.10 EUR',
  'researcher delivers 10 prices for 0.20 EUR: DISCREPANT, rule in-budget says above_maximum',
  'planner    REJECTED: HOLD, rejected; failing: in-budget',
  'arbiter    ACCEPTED: RELEASE, overturned; failing: in-budget',
  'researcher notarized 48 tool calls',
  'scraper    notarized 12 tool calls',
]

function withoutIds(output: string): string[] {
  return output
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/ \(rec_\w+\)$/, ''))
}

async function auditorFinds(t: TestContext, project: Project, disputed: string): Promise<void> {
  const { app, url, folder } = project
  const apiKey = await addKey(app, { scopes: ['audit:read'] })
  const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json')).json()
  const { noteVerifierKey } = (await app.send('GET', '/v1/ledger')).json()
  const known = ['--kid', keys[0].kid, '--note-key', noteVerifierKey]
  const audit = (key = apiKey) =>
    project.run('auditor', ['--record', disputed, ...known], { TALLYSTICK_URL: url, TALLYSTICK_API_KEY: key })

  const { code, output } = await audit()
  assert.equal(code, 0, output)
  assert.match(output, /^INTEGRITY_OK entries=\d+ records=\d+ keys=given checkpoint=given$/m)
  assert.match(output, new RegExp(`^${disputed} version=6 signal=\\{"decision":"RELEASE",`, 'm'))

  const { id } = await app.notarize()
  await until(async () => (await app.send('GET', `/v1/records/${id}/proof`)).statusCode === 200)
  const again = await audit()
  assert.equal(again.code, 0, again.output)
  const kept = join(folder, 'audit', 'checkpoints.ndjson')
  const notes = readFileSync(kept, 'utf8').trimEnd().split('\n')
  assert.ok(notes.length > 1, 'the second run keeps a checkpoint that extends the first')

  writeFileSync(
    kept,
    `${JSON.stringify({ checkpoint: await forgeCheckpoint(t, app, JSON.parse(notes[0]!).checkpoint) })}\n`,
  )
  const contradicted = await audit()
  assert.equal(contradicted.code, 1, contradicted.output)
  assert.match(contradicted.output, /^CONTRADICTION merkle_path: /m)
  assert.equal((await audit('tly_of_nobody')).code, 2, 'what could not be checked is another thing')
}

/**
 * Returns a forged checkpoint. It has the name and size of `note` but another root, and the server's own key signs it.
 * It stands for a checkpoint that the operator showed before the ledger was rewritten.
 */
async function forgeCheckpoint(t: TestContext, app: TestApp, note: string): Promise<string> {
  const pool = openTestPool(app.database.workerUrl, { max: 1 })
  t.after(() => pool.end())
  const { noteSigner } = await makePublisher(pool, temporaryDir())
  const { checkpoint } = parseCheckpoint(note)
  return signCheckpoint({ ...checkpoint, root: new Uint8Array(32) }, noteSigner, nativeProviders.sha256)
}
