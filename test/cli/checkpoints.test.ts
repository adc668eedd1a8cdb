import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { formatVerifierKey } from '../../src/proof/tree/checkpoint.ts'
import { makeCosigners } from '../helpers/cosigners.ts'
import { runAlone } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain, sha256, type TestChain } from '../helpers/test-chain.ts'
import { consistencyOf } from '../helpers/test-proof.ts'

const KEY = ['--api-key', 'tly_test']

function problem(status: number, code: string): string {
  return JSON.stringify({ type: 'x', title: 'x', detail: 'x', status, code, requestId: 'r', retryable: true })
}

/** Starts a server. Its latest checkpoint is the current result of `note`, or null if there is no checkpoint yet. */
async function serve(t: TestContext, chain: TestChain, note: () => string | null): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/v1/ledger') {
      const noteVerifierKey = formatVerifierKey(chain.origin, chain.noteSigner.key.raw, sha256)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ origin: chain.origin, noteVerifierKey }))
      return
    }
    const { pathname, searchParams } = new URL(request.url!, 'http://x')
    if (pathname === '/v1/checkpoints/consistency') {
      const [from, to] = ['from', 'to'].map((name) => Number(searchParams.get(name))) as [number, number]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(consistencyOf(chain, from, to)))
      return
    }
    const latest = note()
    const refused = { 'content-type': 'application/problem+json', 'retry-after': '600' }
    if (latest === null) response.writeHead(409, refused).end(problem(409, 'checkpoint_pending'))
    else if (latest === 'overloaded') response.writeHead(503, refused).end(problem(503, latest))
    else response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(latest)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('stores each new checkpoint once, in a form that verify accepts', async (t) => {
  const chain = makeChain()
  let note: string | null = null
  const url = await serve(t, chain, () => note)
  const files = temporaryFiles(t)
  const path = join(files.directory, 'kept.ndjson')
  const watch = () => runAlone(['checkpoints', 'watch', path, '--server', url, '--once', ...KEY])
  assert.deepEqual(await watch(), { code: 0, stdout: '', stderr: '' })
  for (let i = 0; i < 2; i++) {
    chain.notarize()
    note = chain.checkpoint()
    await watch()
    assert.equal((await watch()).code, 0)
  }
  assert.equal(readFileSync(path, 'utf8').trimEnd().split('\n').length, 2)
  const ledger = files.write('ledger.ndjson', `${chain.exportLines().join('\n')}\n`)
  const { stdout } = await runAlone(['verify', ledger, '--checkpoint', path])
  assert.match(stdout, /checkpoint=given covered=5 own=5 of 5/)
})

test('a line truncated by a crash does not corrupt the next line', async (t) => {
  const chain = makeChain()
  chain.notarize()
  const note = chain.checkpoint()
  const url = await serve(t, chain, () => note)
  const path = temporaryFiles(t).write('kept.ndjson', '{"checkpoint":"led')
  assert.equal((await runAlone(['checkpoints', 'watch', path, '--server', url, '--once', ...KEY])).code, 0)
  const [cut, kept] = readFileSync(path, 'utf8').split('\n')
  assert.deepEqual([cut, JSON.parse(kept!)], ['{"checkpoint":"led', { checkpoint: note }])
})

test('exits with 1 at a checkpoint that contradicts a stored one', async (t) => {
  const chain = makeChain()
  chain.notarize()
  let note = chain.checkpoint()
  const url = await serve(t, chain, () => note)
  const path = join(temporaryFiles(t).directory, 'kept.ndjson')
  const watch = () => runAlone(['checkpoints', 'watch', path, '--server', url, '--once', ...KEY])
  assert.equal((await watch()).code, 0)
  const contradictions: [string, RegExp][] = [
    [chain.checkpoint(3), /has 3 entries now, and had 4/],
    [chain.checkpoint(4, { root: new Uint8Array(32) }), /two different ledgers of 4 entries/],
    [makeChain().checkpoint(), /checkpoint_foreign/],
  ]
  for (const [contradiction, pattern] of contradictions) {
    note = contradiction
    const { code, stdout } = await watch()
    assert.equal(code, 1)
    assert.match(stdout, pattern)
    for (const name of readdirSync(dirname(path)))
      if (name.includes('contradiction')) rmSync(join(dirname(path), name))
  }
  assert.equal(readFileSync(path, 'utf8').trimEnd().split('\n').length, 1)
})

test('does not mix the checkpoints of two ledgers in a file', async (t) => {
  const chain = makeChain()
  const url = await serve(t, chain, () => chain.checkpoint())
  const path = temporaryFiles(t).write(
    'kept',
    `${JSON.stringify({ checkpoint: makeChain().checkpoint() })}\n`,
  )
  const { code, stderr } = await runAlone(['checkpoints', 'watch', path, '--server', url, '--once', ...KEY])
  assert.equal(code, 65)
  assert.match(stderr, /checkpoints of another ledger/)
})

test('continues after a 503 of the server, except with --once', async (t) => {
  const chain = makeChain()
  chain.notarize()
  const notes = [chain.checkpoint(), 'overloaded', chain.checkpoint(3)]
  const url = await serve(t, chain, () => notes.shift()!)
  const path = join(temporaryFiles(t).directory, 'kept.ndjson')
  const watch = ['checkpoints', 'watch', path, '--server', url, ...KEY]
  const { code, stdout, stderr } = await runAlone([...watch, '--every', '1'])
  assert.deepEqual([code, notes.length], [1, 0])
  assert.match(stderr, /^tallystick: 503 overloaded: .*\n$/)
  assert.match(
    stdout,
    /^CHECKPOINT_CONTRADICTION the ledger has 3 entries now, and had 4; both notes are stored: .*\n$/,
  )
  for (const name of readdirSync(dirname(path)))
    if (name.includes('contradiction')) rmSync(join(dirname(path), name))
  notes.push('overloaded')
  assert.equal((await runAlone([...watch, '--once'])).code, 69)
})

test('refuses invalid arguments', async () => {
  const wrong = [[], ['watch'], ['watch', 'a', 'b', '--server', 'http://x', ...KEY], ['look', 'a']]
  for (const args of wrong) assert.equal((await runAlone(['checkpoints', ...args])).code, 64)
  const every = ['checkpoints', 'watch', 'a', '--server', 'http://x', '--every', '0', ...KEY]
  assert.match((await runAlone(every)).stderr, /from 1 to 86400/)
})

test('keeps only checkpoints that enough of the witnesses cosigned', async (t) => {
  const chain = makeChain()
  chain.notarize()
  const { vkeys, cosigned } = makeCosigners(2)
  let note = chain.checkpoint()
  const url = await serve(t, chain, () => note)
  const path = join(temporaryFiles(t).directory, 'kept.ndjson')
  const witnesses = vkeys.flatMap((vkey) => ['--witness', vkey])
  const watch = () =>
    runAlone(['checkpoints', 'watch', path, '--server', url, '--once', ...witnesses, ...KEY])
  for (const by of [[], [1]]) {
    note = cosigned(chain.checkpoint(), ...by)
    const { code, stderr } = await watch()
    assert.equal(code, 69)
    assert.match(stderr, new RegExp(`not stored: ${by.length} of the 2 witnesses cosigned it`))
  }
  note = cosigned(chain.checkpoint(), 0, 1)
  assert.deepEqual(await watch(), { code: 0, stdout: '', stderr: '' })
  assert.equal(JSON.parse(readFileSync(path, 'utf8')).checkpoint, note)
})
