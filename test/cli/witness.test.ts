import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { WITNESS_REQUESTS_PER_LOG_BURST } from '../../cli/witness/limits.ts'
import { serve } from '../../cli/witness/serve.ts'
import { WitnessState } from '../../cli/witness/state.ts'
import { Witness } from '../../cli/witness/witness.ts'
import type { KnownLog } from '../../src/proof/tree/add-checkpoint.ts'
import { parseLogTree } from '../../src/proof/tree/checkpoint.ts'
import { verifyCosignatures } from '../../src/proof/tree/cosignature.ts'
import { parseNote, parseNoteKey, signatureLine } from '../../src/proof/tree/note.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { endsWithTests } from '../helpers/children.ts'
import { heldBytes } from '../helpers/held-bytes.ts'
import { CLI } from '../helpers/run-cli.ts'
import { runAlone } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { TestLog } from '../helpers/tlog.ts'

const { sha256 } = nativeProviders
const NAME = 'witness.example/w1'
const log = new TestLog('log.example/one')

/** Opens a witness in this process. By default the witness knows the test's log. */
async function open(
  t: TestContext,
  folder: string,
  name: string | undefined = NAME,
  others = [log],
  clock = { now: Date.now },
) {
  const warned: string[] = []
  const state = await WitnessState.open(folder, name, nativeProviders)
  const known = others.map(({ origin, vkey }): [string, KnownLog] => [
    origin,
    { origin, keys: [parseNoteKey(vkey, 'signature', sha256)] },
  ])
  const witness = new Witness({
    state,
    logs: new Map(known),
    providers: nativeProviders,
    now: clock.now,
    warn: (message) => void warned.push(message),
  })
  let isOpen = true
  const close = async () => {
    if (isOpen) await state.close()
    isOpen = false
  }
  t.after(close)
  const add = (from: number, size: number, options?: { isForked?: boolean; lines?: string }) =>
    witness.addCheckpoint(log.request(from, size, options))
  return { state, witness, warned, close, add }
}

const folderOf = (t: TestContext) => join(temporaryFiles(t).directory, 'witness')
const hash = createHash('sha256').update(log.origin).digest('hex')
const sizeIn = (folder: string) =>
  parseLogTree(parseNote(readFileSync(join(folder, `${hash}.note`), 'utf8')).text).size

test('cosigns only checkpoints that continue the log, over HTTP as specified', async (t) => {
  const folder = folderOf(t)
  const { state, witness } = await open(t, folder)
  const server = await serve({ witness, state, warn: () => {} }, { host: '127.0.0.1', port: 0 })
  t.after(server.close)
  const post = async (body: string, path = '/add-checkpoint') => {
    const response = await fetch(server.url + path, { method: 'POST', body })
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text: await response.text(),
    }
  }
  assert.equal((await fetch(`${server.url}/${hash}/checkpoint`)).status, 404)
  const first = await post(log.request(0, 5))
  assert.equal(first.status, 200)
  const [found] = verifyCosignatures(parseNote(log.note(5) + first.text), [state.key], nativeProviders)
  assert.ok(Math.abs(Number(found!.timeSeconds) - Date.now() / 1000) < 60)
  assert.deepEqual(await post(log.request(0, 7)), { status: 409, type: 'text/x.tlog.size', text: '5\n' })
  assert.equal((await post(log.request(5, 7))).status, 200)
  assert.equal((await post(log.request(7, 7))).status, 200)
  const statuses: [string, number][] = [
    ['nonsense', 400],
    [log.request(7, 5), 400],
    [new TestLog('log.example/two').request(0, 1), 404],
    [new TestLog(log.origin, { seed: 2 }).request(7, 9), 403],
    [log.request(7, 9, { isForked: true }), 422],
    [log.request(7, 7, { isForked: true }), 422],
    ['x'.repeat(200_000), 413],
  ]
  for (const [body, status] of statuses) assert.equal((await post(body)).status, status, body.slice(0, 60))
  assert.equal((await post('', '/')).status, 404)
  assert.equal((await fetch(`${server.url}/add-checkpoint`)).status, 405)
  const newest = await (await fetch(`${server.url}/${hash}/checkpoint`)).text()
  assert.equal(verifyCosignatures(parseNote(newest), [state.key], nativeProviders).length, 1)
  assert.equal(parseNote(newest).text, log.text(7))
})

test('accepts signature lines with any C2SP name, and refuses a request that is not UTF-8', async (t) => {
  const { state, witness } = await open(t, folderOf(t))
  const server = await serve({ witness, state, warn: () => {} }, { host: '127.0.0.1', port: 0 })
  t.after(server.close)
  const post = async (body: string | Buffer) =>
    (await fetch(`${server.url}/add-checkpoint`, { method: 'POST', body })).status
  const withLine = (name: string) => log.request(0, 5, { lines: `— ${name} AAAAAAA=\n` })
  for (const name of ['a\u0085', 'a\u00a0', 'a\u3000', 'a+', 'a\u001f'])
    assert.equal(await post(withLine(name)), 400, name)
  const [before, after] = withLine('a~').split('~') as [string, string]
  assert.equal(await post(Buffer.concat([Buffer.from(before), Buffer.of(0xff), Buffer.from(after)])), 400)
  const statuses = []
  for (const name of ['a\ufeff', 'a\u007f', 'a\u0080', '\ud83d\ude02'])
    statuses.push(await post(withLine(name)))
  assert.deepEqual(statuses, [200, 409, 409, 409])
})

test('of concurrent requests for one log, one per step is accepted, and never two roots', async (t) => {
  const { add, witness, state } = await open(t, folderOf(t))
  await add(0, 5)
  const answers = await Promise.all([add(5, 7), add(5, 7, { isForked: true }), add(5, 8), add(5, 6)])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 409, 409, 409],
  )
  assert.deepEqual(state.findCosignedTree(log.origin)?.root, log.root(7))
  const flood = await Promise.all(Array.from({ length: 40 }, () => witness.addCheckpoint(log.request(7, 7))))
  const statuses = new Set(flood.map(({ status }) => status))
  assert.deepEqual([...statuses].sort(), [200, 503])
})

test('the same newest checkpoint gets the same cosignature, and a new one after ten seconds', async (t) => {
  let nowMs = 1_700_000_000_000
  const { witness } = await open(t, folderOf(t), NAME, [log], { now: () => nowMs })
  const again = async (body: string, laterMs: number) => {
    nowMs += laterMs
    return (await witness.addCheckpoint(body)).body
  }
  const first = await again(log.request(0, 5), 0)
  assert.equal(await again(log.request(5, 5), 9_999), first)
  const second = await again(log.request(5, 5), 1)
  assert.notEqual(second, first)
  assert.equal(await again(log.request(5, 5), 1_000), second)
  assert.notEqual(await again(log.request(5, 6), 1), second)
})

test('stores only the checkpoint of a request with many other signature lines', async (t) => {
  const logs = Array.from({ length: 16 }, (_, i) => new TestLog(`log.example/${i}`))
  const { witness } = await open(t, folderOf(t), NAME, logs)
  const lines = Array.from({ length: 60 }, (_, i) =>
    signatureLine(`other.example/${i}`, new Uint8Array(4), new Uint8Array(1_500)),
  ).join('')
  const bytes = await heldBytes(async () => {
    for (const log of logs)
      for (const from of [0, 3])
        assert.equal((await witness.addCheckpoint(log.request(from, 3, { lines }))).status, 200)
    return witness
  })
  assert.ok(bytes < logs.length * 16 * 1024, `${bytes} bytes of ${logs.length} logs`)
})

test('requests without the log’s signature do not use up its rate limit', async (t) => {
  const folder = folderOf(t)
  const { state, witness } = await open(t, folder)
  const server = await serve({ witness, state, warn: () => {} }, { host: '127.0.0.1', port: 0 })
  t.after(server.close)
  const post = async (body: string) =>
    (await fetch(`${server.url}/add-checkpoint`, { method: 'POST', body })).status
  assert.equal(await post(log.request(0, 5)), 200)
  const kept = readFileSync(join(folder, `${hash}.note`))
  const stranger = new TestLog(log.origin, { seed: 2 })
  for (let i = 0; i < 30; i++) {
    assert.equal(await post(stranger.request(5, 7)), 403)
    assert.equal(await post(log.request(0, 4)), 409)
    assert.equal(await post(log.request(5, 5)), 200)
  }
  assert.deepEqual(readFileSync(join(folder, `${hash}.note`)), kept)
  assert.equal(await post(log.request(5, 7)), 200)
})

test('a log above its rate limit is answered 429', async (t) => {
  const { add } = await open(t, folderOf(t))
  // The clock is stopped, because on a busy machine the rate limit would recover as fast as this log sends.
  t.mock.method(performance, 'now', () => 0)
  const statuses = new Set<number>()
  for (let size = 1; size <= WITNESS_REQUESTS_PER_LOG_BURST + 50; size++)
    statuses.add((await add(size - 1, size)).status)
  assert.ok(statuses.has(429))
})

test('concurrent first checkpoints of many logs are all listed', async (t) => {
  const folder = folderOf(t)
  const logs = Array.from({ length: 8 }, (_, i) => new TestLog(`log.example/${i}`))
  const first = await open(t, folder, NAME, logs)
  const answers = await Promise.all(logs.map((each) => first.witness.addCheckpoint(each.request(0, 3))))
  assert.deepEqual(
    answers.map(({ status }) => status),
    logs.map(() => 200),
  )
  await first.close()
  const { cosigned } = JSON.parse(readFileSync(join(folder, 'witness.json'), 'utf8'))
  assert.equal(cosigned.length, logs.length)
})

test('stores both notes of a forked log, and only a few per log', async (t) => {
  const folder = folderOf(t)
  const { add, warned } = await open(t, folder)
  await add(0, 6)
  for (let i = 0; i < 20; i++) await add(6, 6, { isForked: true })
  assert.match(warned[0]!, /log.example\/one has signed two trees of 6 entries/)
  const [fork, ...others] = readdirSync(folder).filter((name) => name.includes('.fork-'))
  assert.deepEqual(others, [])
  assert.equal(parseNote(readFileSync(join(folder, fork!), 'utf8')).text, log.text(6, true))
})

test('the key is created once, readable by its owner only, and reused at each start', async (t) => {
  const folder = folderOf(t)
  const first = await open(t, folder)
  assert.equal(statSync(join(folder, 'witness.json')).mode & 0o777, 0o600)
  const { raw } = first.state.key.key
  await assert.rejects(open(t, folder), /only one witness can use a folder: .* is in use by this process/)
  await first.close()
  await assert.rejects(open(t, folder, 'other.example'), /belongs to the witness witness.example\/w1/)
  const second = await open(t, folder, undefined)
  assert.deepEqual(second.state.key.key.raw, raw)
})

test('a checkpoint written before the answer was lost still counts after a restart', async (t) => {
  const folder = folderOf(t)
  const { add, close, state } = await open(t, folder)
  await add(0, 5)
  const keep = state.storeCosigned.bind(state)
  state.storeCosigned = async (...args) => {
    await keep(...args)
    throw new Error('killed')
  }
  await assert.rejects(add(5, 7), /killed/)
  await close()
  const again = await open(t, folder)
  assert.deepEqual(await again.add(5, 7), { status: 409, body: '7\n', isSize: true })
  assert.equal((await again.add(7, 7)).status, 200)
})

test('a first checkpoint whose log is not in the list yet counts after a restart too', async (t) => {
  const folder = folderOf(t)
  const { add, close } = await open(t, folder)
  await add(0, 5)
  await close()
  const identity = JSON.parse(readFileSync(join(folder, 'witness.json'), 'utf8'))
  writeFileSync(join(folder, 'witness.json'), JSON.stringify({ ...identity, cosigned: [] }))
  const again = await open(t, folder)
  assert.equal((await again.add(0, 5)).status, 409)
})

test('a folder that lacks a note or the key, or has another note, is refused with advice', async (t) => {
  const damages: ((folder: string) => void)[] = [
    (folder) => rmSync(join(folder, `${hash}.note`)),
    (folder) => rmSync(join(folder, 'witness.json')),
    (folder) => writeFileSync(join(folder, `${hash}.note`), log.note(3)),
    (folder) => writeFileSync(join(folder, `${hash}.note`), ''),
    (folder) => writeFileSync(join(folder, 'witness.json'), '{}'),
  ]
  for (const [i, damage] of damages.entries()) {
    const folder = folderOf(t)
    const { add, close } = await open(t, folder)
    await add(0, 5)
    await close()
    damage(folder)
    await assert.rejects(open(t, folder), i < 4 ? /start with an empty folder/ : /was changed/)
  }
})

test('detects a restored older state by its own later cosignature, and stops cosigning', async (t) => {
  const folder = folderOf(t)
  const first = await open(t, folder)
  await first.add(0, 5)
  const older = readFileSync(join(folder, `${hash}.note`))
  const lines = (await first.add(5, 7)).body
  await first.close()
  writeFileSync(join(folder, `${hash}.note`), older)
  const second = await open(t, folder)
  // A forged signature is refused with 409, because it does not prove that the log signed two trees.
  const forged = lines.replace(/....\n$/, 'AAA=\n')
  assert.equal((await second.add(7, 7, { lines: forged })).status, 409)
  assert.equal((await second.add(7, 7, { lines })).status, 500)
  assert.match(
    second.warned.at(-1)!,
    /older than the last checkpoint that this key cosigned of log.example\/one/,
  )
  await second.close()
  const third = await open(t, folder)
  assert.equal((await third.add(5, 6)).status, 500)
  assert.equal(sizeIn(folder), 5)
})

test('its own cosignature of a known checkpoint is not a rollback', async (t) => {
  const { add } = await open(t, folderOf(t))
  const lines = (await add(0, 5)).body
  assert.equal((await add(5, 5, { lines })).status, 200)
  await add(5, 7)
  assert.equal((await add(0, 5, { lines })).status, 409)
})

test('invalid arguments are refused with advice', async (t) => {
  const folder = folderOf(t)
  const wrong: [string[], RegExp][] = [
    [['--log', log.vkey], /add --state DIR/],
    [['--state', folder], /add --log VKEY/],
    [['--state', folder, '--log', 'x'], /--log x is not the verifier key of a log/],
    [['--state', folder, '--log', log.vkey], /a new folder needs --name/],
    [['--state', folder, '--log', log.vkey, '--name', 'a b'], /without spaces and plus/],
    [['--state', folder, '--log', log.vkey, '--name', NAME, '--listen', '99999'], /--listen takes/],
  ]
  for (const [args, pattern] of wrong) {
    const { code, stderr } = await runAlone(['witness', ...args])
    assert.equal(code, 64, stderr)
    assert.match(stderr, pattern)
  }
})

test('killed while answering, it never forgets a checkpoint that it cosigned', async (t) => {
  const folder = folderOf(t)
  let answered = 0
  for (let round = 0; round < 4; round++) {
    const { child, url } = await start(folder)
    if (round === 0) await ask(url, log.request(0, 1))
    let size = sizeIn(folder)
    assert.ok(size >= answered, `${size} after ${answered}`)
    for (let step = 0; step < 5; step++, size++)
      assert.equal((await ask(url, log.request(size, size + 1))).status, 200)
    answered = size
    const last = ask(url, log.request(size, size + 1)).catch(() => null)
    await sleep(2 * round)
    child.kill('SIGKILL')
    if ((await last)?.status === 200) answered++
    assert.ok(sizeIn(folder) >= answered, `${sizeIn(folder)} after ${answered}`)
  }
})

async function start(folder: string): Promise<{ child: ChildProcess; url: string }> {
  const args = ['witness', '--state', folder, '--log', log.vkey, '--name', NAME, '--listen', '127.0.0.1:0']
  const child = endsWithTests(
    spawn(process.execPath, [CLI, ...args], {
      env: bareEnvironment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )
  for await (const chunk of child.stdout!) {
    const url = / url=(\S+) /.exec(String(chunk))?.[1]
    if (url !== undefined) return { child, url }
  }
  throw new Error('the witness did not start')
}

async function ask(url: string, body: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body })
  return { status: response.status, text: await response.text() }
}
