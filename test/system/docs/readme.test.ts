import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { freePort, PROJECT_DIR, startAllInOne } from '../deployment/installation.ts'
import { shellBlocks } from './shell-blocks.ts'

const run = promisify(execFile)
/**
 * Maximum time in ms from `npm start` to the last line of the tour. A newcomer also needs time to read between the
 * commands.
 */
const NEWCOMER_MS_MAX = 10 * 60_000

test('the pasted README and tour lead a newcomer from npm start to a verified record', async (t) => {
  const startedAt = Date.now()
  const dataDir = temporaryDir()
  const env = { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() }
  let started = await startAllInOne({ env })
  tell(t, startedAt, 'npm start')
  try {
    const { key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
    const [start, notarize, verify, ...others] = shellBlocks('README.md')
    assert.equal(start, 'npm start\n')
    assert.deepEqual(others, [])
    const [proof, project, agent, curl, gated, restart, receiver, ...examples] =
      shellBlocks('docs/start/tour.md')
    // This example is not run here, because it starts its own servers. test/system/examples/federation runs it.
    assert.deepEqual(examples, ['npm run example -- federation\n'])

    const shell = openShell(t, { dataDir, url: started.url, key })
    const [record, ...listed] = lines(await shell.paste(notarize))
    assert.deepEqual(record.payload, { query: 'price of copper', tool: 'search' })
    assert.deepEqual(listed, [record])
    assert.match(
      await shell.paste(verify),
      /^INTEGRITY_OK entries=6 records=1 keys=self-asserted checkpoint=\w+ covered=\d /m,
    )
    assert.match(await shell.paste(proof), /^PROOF_OK .* entry=4 kind=record-notarized /m)

    await shell.paste(project)
    assert.match(
      await shell.paste(agent),
      /^verified: \{ step: 1000, tool: 'search' \} in entry \d+ of \d+$/m,
    )
    const [first, again] = [await shell.paste(curl), await shell.paste(curl)].map((text) => JSON.parse(text))
    assert.equal(again.id, first.id, 'the same request is answered with the same record')
    assert.match(await shell.paste(gated), /^\{"decision":"SETTLE","code":"accepted",.*\}$/m)
    const [, allow] = /^TALLYSTICK_OUTBOUND_ALLOW=(\S+) npm start\n$/.exec(restart!)!
    await started.stop('SIGTERM')
    const alone = await shell.paste('node agent.mjs').catch((error) => error)
    assert.match(
      alone.stderr,
      /^tallystick: POST .*\nafter 5000 ms: 1000 records are not recorded yet, because: .*\n$/,
    )
    tell(t, startedAt, 'an agent without a server has ended')
    started = await startAllInOne({ env: { ...env, TALLYSTICK_OUTBOUND_ALLOW: allow! } })
    tell(t, startedAt, 'npm start, again')
    assert.match(await shell.paste(receiver), /^verified: webhook\.test evt_\w+$/m)
    tell(t, startedAt, 'all of it')
    assert.ok(Date.now() - startedAt < NEWCOMER_MS_MAX)
  } finally {
    await started.stop('SIGTERM')
  }
})

function tell(t: TestContext, beganAt: number, step: string): void {
  t.diagnostic(`${new Date().toISOString()}  ${((Date.now() - beganAt) / 1000).toFixed(1)} s  ${step}`)
}

/**
 * Returns the variables by which this machine reaches its npm registry: npm's own files, certificates, proxies. A
 * reader's shell gets these from a profile.
 */
function ofNetwork(): Record<string, string> {
  const names =
    /^(npm_config_(globalconfig|userconfig|cache|registry|cafile)|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(https?|no)_proxy)$/i
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value = '']) => (names.test(name) ? [[name, value]] : [])),
  )
}

/** Opens a shell that keeps its folder and exports from block to block, like a reader's shell. */
function openShell(t: TestContext, { dataDir, url, key }: { dataDir: string; url: string; key: string }) {
  const state = join(dataDir, 'shell')
  const folder = join(dataDir, 'my-agent')
  const env = {
    ...bareEnvironment(),
    ...ofNetwork(),
    HOME: process.env['HOME'] ?? dataDir,
    XDG_CONFIG_HOME: dataDir,
    TALLYSTICK_DATA: dataDir,
    // `npm test` has set these variables for this project. The reader's shell has other values.
    npm_config_audit: 'false',
    npm_config_prefer_offline: 'true',
  }
  const go = `cd ${PROJECT_DIR}; [ ! -e ${state} ] || . ${state}`
  const keep = `{ export -p; printf 'cd %q\\n' "$PWD"; } > ${state}`
  return {
    async paste(block: string | undefined): Promise<string> {
      // A reader of the page replaces the placeholder of the key. So the test replaces it too. It also replaces the
      // port and the folders, because they differ in this test.
      const text = block!
        .replaceAll('http://localhost:3000', url)
        .replaceAll('tly_…', `${key} TALLYSTICK_URL=${url}`)
        .replaceAll('../my-agent', folder)
        .replaceAll(/\b(ledger\.ndjson|proof\.json)/g, join(dataDir, '$1'))
      const beganAt = Date.now()
      const { stdout } = await run('bash', ['--norc', '-euc', `${go}\n${text}\n${keep}`], { env })
      tell(t, beganAt, block!.split('\n')[0]!)
      return stdout
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts
function lines(text: string): any[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}
