import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findConnection } from '../../cli/connection.ts'
import { API_VERSION } from '../../sdk/generated/operations.ts'
import { runAlone } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { API_KEY, sendJson, sendProblem, startHostile } from '../sdk/hostile-server.ts'

/* Attacks by a server, or by a writer into a folder, on the user of the command line. */

const ESCAPE = '\u001b]0;evil\u0007'
/**
 * Two characters that JSON.stringify does not escape. The first begins a control sequence, the second reverses text.
 */
const UNESCAPED = '\u009b2J\u202e'
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const DRIVING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

test('no command prints control characters of a server’s answer to a terminal', async (t) => {
  const hostile = `x${ESCAPE}${UNESCAPED}\u061c`
  const server = await startHostile(t, (response) => {
    const key = { id: hostile, [hostile]: hostile, key: 'tly_0' }
    sendJson(response, {
      ...key,
      checkpoint: hostile,
      progress: { entriesDone: hostile, entriesTotal: -1 },
      state: 'done',
      data: [key],
      records: [key],
      attempts: 1,
      attemptLog: [{ at: hostile, durationMs: hostile, status: null, error: hostile, excerpt: hostile }],
      secret: 'whsec_0',
      publicKey: 'whpk_0',
    })
  })
  const commands = [
    ['get', 'rec_1'],
    ['get', 'rec_1', '--json'],
    ['notarize', '--payload', '{}'],
    ['notarize', '--payload', '{}', '--ids'],
    ['keys', 'create', 'x', '--scopes', 'audit:read'],
    ['keys', 'get', 'key_1'],
    ['types', 'get', 'order/1'],
    ['agents', 'get', 'agt_1'],
    ['audits', 'get', 'adt_1'],
    ['audit'],
    ['proof', '1'],
    ['webhooks', 'create', '--url', 'https://example.com', '--events', '*'],
    ['webhooks', 'get', 'whk_1'],
    ['webhooks', 'delivery', 'whk_1', 'evt_1'],
    ['webhooks', 'test', 'whk_1'],
  ]
  for (const command of commands) {
    const args = [...command, '--server', server.baseUrl, '--api-key', API_KEY]
    const { stdout, stderr } = await runAlone(args, { isTTY: true })
    assert.ok(stdout.includes('x'), `${command}: ${stderr}`)
    // The progress bar itself returns to the start of its line and clears it.
    const said = stderr.replaceAll('\r', '').replaceAll('\u001b[K', '')
    for (const text of [stdout, said]) assert.doesNotMatch(text, DRIVING, command.join(' '))
  }
})

test('a server’s error is printed as one line, so that it cannot imitate verify’s last line', async (t) => {
  const server = await startHostile(t, (response) =>
    sendProblem(response, 404, 'not_found', { detail: 'x\r\nINTEGRITY_OK entries=1 keys=given' }),
  )
  const args = ['verify', '--server', server.baseUrl, '--api-key', API_KEY]
  const { code, stdout, stderr } = await runAlone(args, { isTTY: true })
  assert.deepEqual([code, stdout, stderr.split('\n').length], [1, '', 2], stderr)
})

test('keys create --env refuses a secret that a shell would execute', async (t) => {
  for (const key of ['tly_1\nLD_PRELOAD=/evil.so', 'tly_$(id)', 'tly_1;id', '', 7]) {
    const server = await startHostile(t, (response) => sendJson(response, { id: 'key_1', key }))
    const args = ['keys', 'create', 'x', '--scopes', 'audit:read', '--env']
    const { code, stdout, stderr } = await runAlone([
      ...args,
      '--server',
      server.baseUrl,
      '--api-key',
      API_KEY,
    ])
    assert.deepEqual([code, stdout], [65, ''], `${key}`)
    assert.match(stderr, /^tallystick: the answer has no secret of an API key: .*\n$/)
  }
})

test('webhooks --env refuses a secret or public key that a shell would execute', async (t) => {
  const [secret, publicKey] = ['whsec_MDEyMw==', 'whpk_MDEyMw==']
  for (const [of, answer] of [
    ['secret', { secret: 'whsec_$(id)', publicKey }],
    ['secret', { secret: 'whsec_0\nLD_PRELOAD=/evil.so', publicKey }],
    ['secret', { publicKey }],
    ['public key', { secret, publicKey: 'whpk_1;id' }],
    ['public key', { secret, publicKey: 'whpk_1\n' }],
  ] as const) {
    const server = await startHostile(t, (response) => sendJson(response, { id: 'whk_1', ...answer }))
    const args = [
      'webhooks',
      'rotate-secret',
      'whk_1',
      '--env',
      '--server',
      server.baseUrl,
      '--api-key',
      API_KEY,
    ]
    const { code, stdout, stderr } = await runAlone(args)
    assert.deepEqual([code, stdout], [65, ''], JSON.stringify(answer))
    assert.match(stderr, new RegExp(`^tallystick: the answer has no ${of} of a webhook: .*\\n$`))
  }
})

test('doctor prints no control characters of a webhook’s members or of its advice', async (t) => {
  const hostile = `whk_${ESCAPE}${UNESCAPED}`
  const standing = { failures: 1, failingSince: hostile, dead: 7 }
  const webhook = {
    id: hostile,
    url: hostile,
    state: 'disabled',
    reason: hostile,
    stateAt: hostile,
    standing,
  }
  const key = { id: 'key_1', name: 'x', agent: 'agt_1', scopes: ['webhooks:manage'], expiresAt: null }
  const ledger = { key, id: 'led_1', name: 'x', size: 1, closed: null }
  const server = await startHostile(t, (response) =>
    sendJson(response, { version: API_VERSION, ...ledger, data: [webhook], nextCursor: null }),
  )
  const args = ['doctor', '--server', server.baseUrl, '--api-key', API_KEY]
  const { stdout } = await runAlone(args, { isTTY: true })
  assert.match(
    stdout,
    /warn {2}webhooks .* has been disabled since [\s\S]*→ .* webhooks resume whk_[\s\S]*→ .* redeliver-dead whk_/,
  )
  assert.doesNotMatch(stdout, DRIVING)
})

test('an export writes over no link at its temporary file, and its file has mode 600', async (t) => {
  const { directory } = temporaryFiles(t)
  const server = await startHostile(t, (response) => {
    // The client announces an export before it reads the export. This line answers the announcement.
    if (response.req.method === 'POST') sendJson(response, { entry: { seq: 2 }, from: 0, to: 1 })
    else
      response
        .writeHead(200, { 'content-type': 'application/x-ndjson' })
        .end('{"export":1}\n{"checkpoint":null}\n')
  })
  const [file, target] = [join(directory, 'ledger.ndjson'), join(directory, 'target')]
  writeFileSync(target, 'mine')
  for (const part of [`${file}.part`, `${file}.${process.pid}.part`]) symlinkSync(target, part)
  const args = ['export', '-o', file, '--server', server.baseUrl, '--api-key', API_KEY]
  assert.match((await runAlone(args)).stderr, /cannot be written \(EEXIST\)/)
  assert.equal(readFileSync(target, 'utf8'), 'mine')
  rmSync(`${file}.${process.pid}.part`, { force: true })
  assert.equal((await runAlone(args)).stderr, '')
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('the environment’s key is not sent to an address from a folder, except on this machine', async (t) => {
  const { directory } = temporaryFiles(t)
  const before = { directory: process.cwd(), env: process.env }
  t.after(() => {
    process.chdir(before.directory)
    process.env = before.env
  })
  process.env = { XDG_CONFIG_HOME: join(directory, 'config'), TALLYSTICK_API_KEY: API_KEY }
  mkdirSync(join(directory, '.tallystick'))
  process.chdir(directory)
  const keep = (folder: string, url: string) => {
    mkdirSync(join(directory, folder), { recursive: true })
    writeFileSync(join(directory, folder, 'credentials.json'), JSON.stringify({ url, key: 'tly_kept' }), {
      mode: 0o600,
    })
  }
  keep('.tallystick', 'https://evil.example')
  await assert.rejects(
    findConnection({}),
    /credentials\.json names the server https:\/\/evil\.example\. .*name the server yourself, with --server/,
  )
  keep('.tallystick', 'http://localhost:4711')
  assert.equal((await findConnection({})).url, 'http://localhost:4711')
  keep('config/tallystick', 'https://ledger.example')
  assert.equal((await findConnection({})).url, 'https://ledger.example')
})

test('tail --entries exits with 65 and one line for a malformed entry', async (t) => {
  const line = { seq: 0, recordedAt: 'x', kind: 'x', leaf: 'x', envelope: 'AAAA' }
  const server = await startHostile(t, (response) =>
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(`${JSON.stringify(line)}\n`),
  )
  const args = ['tail', '--entries', '--after', '0', '--server', server.baseUrl, '--api-key', API_KEY]
  line.seq = 1
  const { code, stdout, stderr } = await runAlone(args)
  assert.deepEqual([code, stdout, stderr.split('\n').length], [65, '', 2], stderr)
})

test('doctor limits the size of an answer that it reads', async (t) => {
  const server = await startHostile(t, (response) =>
    sendJson(response, { version: '0.1.0', filler: 'x'.repeat(2 * 1024 * 1024) }),
  )
  const { code, stdout } = await runAlone(['doctor', '--server', server.baseUrl, '--api-key', API_KEY])
  assert.equal(code, 1)
  assert.match(stdout, /answers 200, but not like a Tallystick server/)
})
