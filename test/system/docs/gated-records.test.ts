import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDir } from '../../helpers/postgres.ts'
import { freePort, PROJECT_DIR, startAllInOne } from '../deployment/installation.ts'
import { shellBlocks } from './shell-blocks.ts'

const run = promisify(execFile)
const BETWEEN_BLOCKS = '\u001e'

test('the pasted guide to gated records gives the output on the page', async () => {
  const dataDir = temporaryDir()
  const started = await startAllInOne({
    env: { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() },
  })
  try {
    const { key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
    const outputs = await pasteAll(shellBlocks('docs/guides/gated-records.md'), (text) =>
      text
        .replaceAll('http://localhost:3000', started.url)
        .replaceAll('tly_…', key)
        .replaceAll('verdict.json', join(dataDir, 'verdict.json')),
    )
    const [
      ,
      type,
      ,
      delivery,
      verification,
      signal,
      auto,
      overturn,
      revision,
      cancel,
      ,
      tree,
      refusals,
      verdict,
    ] = outputs
    assert.equal(JSON.parse(type!).type, 'delivery/1')
    const answers = delivery!.split('\n').map((answer) => JSON.parse(answer))
    assert.deepEqual(
      answers.map(({ state }) => state),
      ['ACTIVE', 'SUBMITTED'],
    )
    const { outcome, values } = JSON.parse(verification!)
    assert.equal(outcome, 'pass')
    assert.deepEqual(values[0], { id: 'quantity', expected: 100, actual: 92, tolerance: { percent: '10' } })
    assert.equal(signal, isOnPage('{"decision":"SETTLE"', signal))
    assert.equal(lastLine(auto), isOnPage('{"decision":"HOLD"', lastLine(auto)))
    assert.match(overturn!, /^\{"decision":"RELEASE","code":"overturned"/)
    assert.equal(lastLine(revision), '["verdict-rendered"]')
    assert.equal(cancel, 'CANCELLED')
    assert.match(tree!, /^rec_/)
    const codes = [...refusals!.matchAll(/"code":"(\w+)"/g)].map(([, code]) => code)
    assert.deepEqual(codes, ['state_conflict', 'version_mismatch', 'not_entitled'])
    assert.match(verdict!, /^verdict-rendered$/m)
    assert.match(verdict!, /^PROOF_OK .* kind=verdict-rendered /m)
    assert.match(lastLine(verdict), /^\{"record":"rec_.*"version":5,"signal":\{"decision":"SETTLE"/)
  } finally {
    await started.stop('SIGTERM')
  }
})

/** Runs the blocks in one shell, because variables are used across blocks. Returns the output of each. */
async function pasteAll(blocks: readonly string[], fill: (text: string) => string): Promise<string[]> {
  const script = blocks.map(fill).join(`\nprintf '${BETWEEN_BLOCKS}'\n`)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: PROJECT_DIR,
    timeout: 60_000,
  })
  return stdout.split(BETWEEN_BLOCKS).map((output) => output.trim())
}

const lastLine = (output: string | undefined) => output!.split('\n').at(-1)!

/**
 * Returns the text on the page that starts with `start`, if it equals `wanted`. Otherwise returns a message about the
 * difference.
 */
function isOnPage(start: string, wanted: string | undefined): string {
  const page = readFileSync(join(PROJECT_DIR, 'docs', 'guides', 'gated-records.md'), 'utf8')
  const found = page.split('`').find((text) => text.startsWith(start) && text === wanted)
  return found ?? `no \`${start}…\` on the page is ${wanted}`
}
