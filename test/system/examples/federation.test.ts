import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { drawChains } from '../../../examples/federation/chains.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { endsWithTests } from '../../helpers/children.ts'
import { plainUser } from '../../run/postgres/holder.ts'
import { PROJECT_DIR } from '../deployment/installation.ts'

const EXCHANGE = [
  /^ {2}6 {2}record-created +\w{8} {3}──▶ +7 {2}entry-received +\w{8}$/m,
  /^ {2}7 {2}record-activated +\w{8} {3}◀── +8 {2}step-offered +\w{8}$/m,
  /^\( 7 {2}record-activated +\w{8}\) {2}──▶ +9 {2}entry-received +\w{8}$/m,
  /^ {2}8 {2}completion-submitted +\w{8} {3}◀── +10 {2}step-offered +\w{8}$/m,
  /^ {2}9 {2}completion-verified +\w{8} {3}──▶ +12 {2}entry-received +\w{8}$/m,
  /^ 10 {2}verdict-rendered +\w{8} {3}──▶ +13 {2}entry-received +\w{8}$/m,
]

test('npm run example -- federation prints the exchange, reconciles, and leaves nothing behind', async () => {
  await runDemo(undefined)
})

test('root: the example runs as a plain user as well', { skip: plainUser === null }, async () => {
  await runDemo(plainUser!)
})

test('Ctrl-C ends the example and both of its servers', async () => {
  const before = leftovers()
  const child = startDemo(undefined)
  const output = collect(child)
  while (!output().includes('accepts')) await once(child.stdout, 'data')
  const urls = [...output().matchAll(/http:\/\/127\.0\.0\.1:\d+/g)].map(([url]) => url)
  assert.equal(urls.length, 2)
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  assert.equal(code, 130)
  for (const url of urls) await assert.rejects(fetch(`${url}/livez`), TypeError)
  assert.deepEqual(leftovers(), before)
})

test('entries of chains that do not name each other are drawn in order of time', () => {
  const entry = (seq: number, second: number) => ({
    seq,
    kind: 'record-notarized',
    leaf: String(seq).repeat(64),
    recordedAt: `2026-01-01T00:00:0${second}.000Z`,
    receives: null,
  })
  const [, ...lines] = drawChains(
    { name: 'A', entries: [entry(1, 1), entry(3, 3)] },
    { name: 'B', entries: [entry(2, 2)] },
  )
  assert.deepEqual(
    lines.map((line) => line.trim().slice(0, 1)),
    ['1', '2', '3'],
  )
})

async function runDemo(uid: number | undefined): Promise<void> {
  const before = leftovers()
  const child = startDemo(uid)
  const output = collect(child)
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output())
  for (const line of EXCHANGE) assert.match(output(), line)
  assert.match(output(), /^RECONCILED records=1 entries=8 offers=2 inFlight=0 keys=given$/m)
  assert.deepEqual(leftovers(), before)
}

function startDemo(uid: number | undefined) {
  const child = spawn(process.execPath, [join(PROJECT_DIR, 'examples', 'federation', 'main.ts')], {
    cwd: uid === undefined ? PROJECT_DIR : '/',
    env: bareEnvironment(),
    ...(uid !== undefined && { uid, gid: uid }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return endsWithTests(child)
}

function collect(child: ReturnType<typeof startDemo>): () => string {
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  return () => output
}

/**
 * Returns folders of demos that were not removed. Other test files may run a demo at the same time, but the tests of
 * this file do not.
 */
function leftovers(): string[] {
  return readdirSync('/var/tmp').filter((name) => name.startsWith('tallystick-demo-'))
}
