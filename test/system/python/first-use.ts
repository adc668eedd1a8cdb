import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryDir } from '../../helpers/postgres.ts'
import { freePort, PROJECT_DIR, startAllInOne } from '../deployment/installation.ts'

const run = promisify(execFile)
/**
 * Maximum time in ms from `npm start` to a verified record. A newcomer also needs time to read between the commands.
 */
const NEWCOMER_MS_MAX = 10 * 60_000

/** Pastes the quick start of python/README.md, block by block, into a shell and into the file that the page names. */
export async function useFirst(dir: string): Promise<void> {
  const beganAt = Date.now()
  const dataDir = temporaryDir()
  const folder = join(dir, 'my-python-agent')
  const started = await startAllInOne({
    env: { TALLYSTICK_DATA: dataDir, TALLYSTICK_PORT: await freePort() },
  })
  try {
    const { key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
    const [start, install, program, use, ...others] = quickStart()
    assert.equal(start, 'npm start\n')
    assert.deepEqual(others, [])
    const script = join(folder, 'first.py')
    // The reader inserts a key. Port and folders differ in this test, so they are replaced too.
    const text = `${install}cd ${folder}\n${use}`
      .replaceAll('http://localhost:3000', started.url)
      .replaceAll('tly_…', key)
      .replaceAll('../my-python-agent', folder)
      .replaceAll('python first.py', `python ${script}`)
    mkdirSync(folder)
    writeFileSync(script, program!)
    const { stdout } = await run('bash', ['--norc', '-euc', text], { cwd: PROJECT_DIR })
    assert.match(stdout, /^rec_\w+ RECORDED\n\{'query': 'price of copper', 'tool': 'search'\}$/m)
    assert.match(stdout, /^INTEGRITY_OK entries=5 records=1 keys=self-asserted checkpoint=\w+ /m)
    const ms = Date.now() - beganAt
    assert.ok(ms < NEWCOMER_MS_MAX)
    console.log(`from npm start to a verified record, by python/README.md: ${(ms / 1000).toFixed(1)} s`)
  } finally {
    await started.stop('SIGTERM')
  }
}

function quickStart(): string[] {
  const page = readFileSync(join(PROJECT_DIR, 'python/README.md'), 'utf8')
  const section = /^## Quick start$([\s\S]*?)^## /m.exec(page)![1]!
  return [...section.matchAll(/^```\w+\n([\s\S]*?)^```/gm)].map((match) => match[1]!)
}
