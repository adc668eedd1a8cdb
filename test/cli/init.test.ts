import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { askSecret } from '../../cli/ask-secret.ts'
import { diagnose as diagnosis } from '../../cli/doctor/diagnose.ts'
import type { Finding } from '../../cli/preflight/finding.ts'
import { API_VERSION } from '../../sdk/generated/operations.ts'
import { formatVerifierKey } from '../../src/proof/tree/checkpoint.ts'
import { OPERATOR_KEY, parseLines } from '../helpers/app.ts'
import { capture } from '../helpers/capture.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { buildCliApp } from '../helpers/cli-app.ts'
import { addKey } from '../helpers/more-keys.ts'
import { runCommand } from '../helpers/run-command.ts'
import { makeChain, sha256 } from '../helpers/test-chain.ts'

type Statuses = Record<string, { status: string; detail: string; advice: string | null }>

async function diagnose(args: string[] = []): Promise<{ code: number; found: Statuses }> {
  const { code, stdout } = await runCommand(['doctor', ...args])
  return { code, found: Object.fromEntries(parseLines(stdout).map(({ check, ...rest }) => [check, rest])) }
}

test('init and doctor', async (t) => {
  const app = await buildCliApp(t)
  const publish = await makePublish(t, app)
  await publish()
  const folder = join(app.files.directory, 'tallystick')
  const file = join(folder, 'credentials.json')
  const known = join(folder, 'known-ledgers.json')
  const { ledger, key, agent } = app.ledger
  const forget = () => rmSync(folder, { recursive: true, force: true })
  /** Removes the variables of the connection. There are no credentials in the working folder either. */
  const bare = () => {
    for (const name of ['TALLYSTICK_URL', 'TALLYSTICK_API_KEY']) delete process.env[name]
  }
  const before = process.cwd()
  process.chdir(app.files.directory)
  t.after(() => process.chdir(before))

  await t.test(
    'init keeps server and key for this user alone, and pins the first key of the ledger',
    async () => {
      bare()
      const { code, stdout, stderr } = await runCommand(['init', '--server', app.url], {
        input: `${key.key}\n`,
      })
      assert.deepEqual([code, stderr], [0, ''])
      const kept = { url: app.url, ledger: ledger.id, agent: agent.id, key: key.key }
      assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), kept)
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.equal(statSync(folder).mode & 0o777, 0o700)
      assert.deepEqual(readdirSync(folder).sort(), ['credentials.json', 'known-ledgers.json'])
      const said = JSON.parse(stdout)
      assert.deepEqual(
        [said.ledger, said.keyId, said.scopes, said.file],
        [ledger.id, key.id, key.scopes, file],
      )
      assert.ok(!stdout.includes(key.key))
      assert.deepEqual(JSON.parse(readFileSync(known, 'utf8')), { ledgers: { [ledger.id]: said.firstKey } })
      const verified = await runCommand(['verify', '--server', app.url, '--json'])
      assert.equal(JSON.parse(verified.stdout).keys, 'pinned')
      // After `init`, other commands need no options.
      assert.equal((await runCommand(['notarize', '--payload', '{}'])).code, 0)
      await publish()
    },
  )

  await t.test('on a terminal, init prints example code without the key', async () => {
    const { stdout } = await runCommand(['init'], { isTTY: true })
    assert.match(
      stdout,
      /new Tallystick\(\{ baseUrl: "http:\/\/127\.0\.0\.1:\d+", apiKey: process\.env\.TALLYSTICK_API_KEY \}\)/,
    )
    assert.match(stdout, /await tallystick\.records\.notarize\(/)
    assert.match(stdout, /export TALLYSTICK_API_KEY="\$\(node -p '.*' '.*credentials\.json'\)"/)
    assert.ok(!stdout.includes(key.key))
  })

  await t.test('doctor finds no problem, and names the source of each value', async () => {
    const { code, found } = await diagnose()
    assert.equal(code, 0)
    assert.deepEqual([...new Set(Object.values(found).map(({ status }) => status))], ['ok'])
    assert.equal(found['credentials']!.detail, `from ${file}`)
    assert.match(found['checkpoint']!.detail, /it verifies, and covers 4 entries/)
    assert.match(found['key']!.detail, new RegExp(`^${key.id} .* of ${agent.id}$`))
    const shown = await runCommand(['doctor'], { isTTY: true })
    assert.match(shown.stdout, /^ok {4}node +\d+/)
  })

  await t.test('init --agent stores a key of that agent with fewer scopes', async () => {
    const { code, stdout } = await runCommand(['init', '--agent', 'researcher'])
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(stdout).scopes, ['records:read:own', 'records:write'])
    const kept = JSON.parse(readFileSync(file, 'utf8'))
    assert.ok(kept.key !== key.key && kept.agent !== agent.id)
    const { code: diagnosed, found } = await diagnose()
    assert.equal(diagnosed, 0)
    assert.equal(found['checkpoint']!.status, 'skip')
    assert.equal(found['scopes']!.detail, 'records:read:own, records:write')
    // The stored key of `init` has fewer scopes than the key that made it, and cannot create another key.
    const refused = await runCommand(['init', '--agent', 'other'])
    assert.equal(refused.code, 77)
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), kept)
    const scopes = await runCommand([
      'init',
      '--agent',
      'auditor',
      '--scopes',
      'audit:read',
      '--api-key',
      key.key,
    ])
    assert.deepEqual(JSON.parse(scopes.stdout).scopes, ['audit:read'])
    assert.equal((await runCommand(['init', '--scopes', 'audit:read'])).code, 64)
  })

  await t.test(
    'init overwrites another ledger’s key only with --force, and never a different pinned first key',
    async () => {
      forget()
      mkdirSync(folder)
      const other = JSON.stringify({
        url: 'http://127.0.0.1:1',
        ledger: 'led_other',
        agent: 'a',
        key: 'tly_other',
      })
      writeFileSync(file, other, { mode: 0o600 })
      const args = ['init', '--server', app.url, '--api-key', key.key]
      const refused = await runCommand(args)
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, /has a key of led_other at http:\/\/127\.0\.0\.1:1: --force overwrites it/)
      assert.equal(readFileSync(file, 'utf8'), other)
      assert.equal((await runCommand([...args, '--force'])).code, 0)
      assert.equal(JSON.parse(readFileSync(file, 'utf8')).ledger, ledger.id)

      await publish()
      writeFileSync(known, JSON.stringify({ ledgers: { [ledger.id]: '0'.repeat(64) } }))
      for (const more of [[], ['--force']]) {
        const foreign = await runCommand([...args, ...more])
        assert.equal(foreign.code, 1)
        assert.match(foreign.stderr, /is 0{64}, and the server shows [0-9a-f]{64}: this is another ledger/)
      }
      const { code, found } = await diagnose()
      assert.deepEqual([code, found['first key']!.status], [1, 'fail'])
      rmSync(known)
      assert.equal((await diagnose()).found['first key']!.status, 'warn')
    },
  )

  await t.test('init uses the credentials of `npm start`, and stores no key that does not work', async () => {
    forget()
    const data = join(app.files.directory, '.tallystick')
    mkdirSync(data)
    const credentials = { url: app.url, ledger: ledger.id, agent: agent.id, key: key.key }
    writeFileSync(join(data, 'credentials.json'), JSON.stringify(credentials), { mode: 0o600 })
    assert.equal((await runCommand(['init'])).code, 0)
    rmSync(data, { recursive: true })
    forget()
    const wrong = await runCommand(['init', '--server', app.url], { input: 'tly_wrong\n' })
    assert.equal(wrong.code, 77)
    assert.equal((await runCommand(['init', '--server', app.url])).code, 64)
    assert.throws(() => statSync(file), { code: 'ENOENT' })
  })

  await t.test('doctor warns of a failed audit, and fails if an audit found a fault', async () => {
    const end = (set: string) =>
      app.sql(
        `update tallystick.audits set finished_at = now(), ${set} where ledger_id = $1 and state = 'queued'`,
        [app.ledgerId],
      )
    const doctor = async () => (await diagnose(['--server', app.url, '--api-key', key.key])).found['audit']!
    const ask = () => app.send('POST', '/v1/audits', { body: {} })
    assert.deepEqual([(await doctor()).status, (await doctor()).detail], ['ok', 'there was no audit yet'])
    await ask()
    assert.match((await doctor()).detail, /^aud_\w+ is queued$/)
    await end(`state = 'failed', error = '{"code":"io","reason":"a disk of the worker failed"}'`)
    const failed = await doctor()
    assert.equal(failed.status, 'warn')
    assert.match(failed.detail, /^aud_\w+ failed at .*: a disk of the worker failed$/)
    assert.match(failed.advice!, /no-audit/)
    for (const [failure, status, detail] of [
      ['{"seq":2,"code":"chain_hash","reason":"x"}', 'fail', /found a fault at entry 2: chain_hash$/],
      ['null', 'ok', /found no fault in 4 entries/],
    ] as const) {
      await ask()
      await end(
        `state = 'done', ok = ${failure === 'null'}, report = '{"entries":4,"records":0,"keys":"pinned","firstKid":null,
         "checkpoint":"own","covered":4,"notices":[],"failure":${failure}}'`,
      )
      const found = await doctor()
      assert.equal(found.status, status)
      assert.match(found.detail, detail)
    }
  })

  await t.test('doctor fails if entries are not covered by a checkpoint in time', async () => {
    await app.notarize()
    const found: Finding[] = []
    for await (const finding of diagnosis({ server: app.url, 'api-key': key.key }, 0)) found.push(finding)
    const { status, detail } = found.find(({ check }) => check === 'checkpoint')!
    assert.equal(status, 'fail')
    assert.match(detail, /^\d of \d+ entries are not covered after 0 s$/)
    await publish()
  })

  await t.test(
    'doctor fails at a ledger that takes no entries, and warns of a key that ends soon',
    async () => {
      const ending = await addKey(app, { scopes: ['audit:read'], expiresAtMs: Date.now() + 86_400_000 })
      await publish()
      const args = ['--server', app.url, '--api-key', ending]
      const { code, found } = await diagnose(args)
      assert.deepEqual([code, found['expiry']!.status], [0, 'warn'])
      const url = `/v1/ledgers/${ledger.id}`
      await app.send('POST', `${url}/freeze`, { key: OPERATOR_KEY })
      const frozen = await diagnose(args)
      assert.deepEqual([frozen.code, frozen.found['ledger']!.status], [1, 'fail'])
      assert.match(frozen.found['ledger']!.detail, /is closed: frozen/)
      await app.send('POST', `${url}/unfreeze`, { key: OPERATOR_KEY })
      const revoked = await diagnose(['--server', app.url, '--api-key', 'tly_wrong'])
      assert.deepEqual([revoked.code, revoked.found['key']!.status], [1, 'fail'])
    },
  )
})

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('doctor reports an unreachable, foreign or unready server, a wrong clock and another version', async (t) => {
  const seen: unknown[] = []
  const health =
    (version: string, headers: object): RequestListener =>
    (request, response) => {
      seen.push(request.headers.authorization)
      response.sendDate = false
      const status = request.url === '/readyz' ? 503 : request.url === '/livez' ? 200 : 401
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify({ version }))
    }
  const late = new Date(Date.now() - 45_000).toUTCString()
  const cases: [RequestListener | null, string, string, RegExp][] = [
    [null, 'address', 'fail', /does not answer \(ECONNREFUSED\)/],
    [
      (_, response) => response.writeHead(200).end('<html>'),
      'address',
      'fail',
      /answers 200, but not like a Tallystick/,
    ],
    [
      (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      'address',
      'fail',
      /answers 302/,
    ],
    [health('9.9.9', { date: late }), 'clock', 'warn', /the server's clock is 4[456] s behind this one/],
    [health('9.9.9', {}), 'clock', 'warn', /has no time$/],
    [health('9.9.9', {}), 'version', 'warn', new RegExp(`the server has 9.9.9, this tool ${API_VERSION}`)],
    [health(API_VERSION, {}), 'ready', 'fail', /the server answers 503/],
  ]
  for (const [listener, check, status, pattern] of cases) {
    const url = listener ? await serve(t, listener) : 'http://127.0.0.1:2'
    const { code, found } = await diagnose(['--server', url, '--api-key', 'tly_x'])
    assert.deepEqual([code, found[check]?.status], [1, status], check)
    assert.match(found[check]!.detail, pattern)
  }
  // A key is sent only to a server that may be a Tallystick server.
  assert.ok(seen.includes('Bearer tly_x') && seen.includes(undefined))
  const unusable = await diagnose(['--server', 'nowhere', '--api-key', 'tly_x'])
  assert.deepEqual([unusable.code, unusable.found['credentials']!.status], [1, 'fail'])
  const open = await diagnose(['--server', 'http://tallystick.invalid', '--api-key', 'tly_x'])
  assert.deepEqual([open.found['encryption']!.status, open.found['address']!.status], ['warn', 'fail'])
})

test('doctor fails for a checkpoint that the ledger did not sign, and pins no foreign first entry', async (t) => {
  const [chain, other] = [makeChain(), makeChain()]
  const noteVerifierKey = formatVerifierKey(chain.origin, chain.noteSigner.key.raw, sha256)
  const key = { id: 'key_x', name: 'x', agent: 'agt_x', scopes: ['audit:read'], expiresAt: null }
  const about = { id: 'led_x', name: 'x', origin: chain.origin, noteVerifierKey, size: 1, closed: null, key }
  const [first, entry] = other.exportLines()
  const url = await serve(t, (request, response) => {
    const answers: Record<string, [string, string]> = {
      '/livez': ['application/json', JSON.stringify({ version: API_VERSION })],
      '/readyz': ['application/json', JSON.stringify({ version: API_VERSION })],
      '/v1/ledger': ['application/json', JSON.stringify(about)],
      '/v1/checkpoints/latest': [
        'text/plain',
        chain
          .checkpoint()
          .replace('chain A', 'chain B')
          .replace(/^(.*\n)\d+/, '$17'),
      ],
      '/.well-known/tallystick-keys.json': [
        'application/json',
        JSON.stringify({ keys: JSON.parse(first!).keys }),
      ],
      '/v1/entries': ['application/x-ndjson', `${entry}\n`],
      '/v1/audits': ['application/json', JSON.stringify({ data: [], nextCursor: null })],
    }
    const [type, body] = answers[request.url!.split('?')[0]!]!
    response.writeHead(200, { 'content-type': type }).end(body)
  })
  const { code, found } = await diagnose(['--server', url, '--api-key', 'tly_x'])
  assert.equal(code, 1)
  assert.deepEqual([found['checkpoint']!.status, found['first key']!.status], ['fail', 'fail'])
  assert.match(found['checkpoint']!.detail, /the newest checkpoint does not verify: signature_invalid/)
  assert.match(found['first key']!.detail, /is not that of the ledger led_x/)
})

const ASKED = { what: 'API key', remedy: 'pipe it' }

test('a secret is read without echo from a terminal, or from the first line of a pipe', async () => {
  const typed = Object.assign(new PassThrough(), { isTTY: true })
  const [stdout, stderr] = [capture(true), capture(true)]
  const asked = askSecret('API key: ', { stdin: typed, stdout, stderr }, ASKED)
  typed.write('tly_se')
  typed.write('cret\r')
  assert.equal(await asked, 'tly_secret')
  assert.deepEqual([stdout.text(), stderr.text()], ['', 'API key: \n'])
  const piped = new PassThrough()
  piped.end('tly_piped\nmore\n')
  assert.equal(await askSecret('API key: ', { stdin: piped, stdout, stderr: capture() }, ASKED), 'tly_piped')
  for (const nothing of ['', '\n']) {
    const empty = new PassThrough()
    empty.end(nothing)
    await assert.rejects(
      askSecret('', { stdin: empty, stdout, stderr }, ASKED),
      /^Error: no API key was given: pipe it$/,
    )
  }
})
