import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { expectStatus, genericBody } from '../helpers/app.ts'
import { addKey } from '../helpers/more-keys.ts'
import { runAlone } from '../helpers/run-command.ts'
import { addressOf, sharedApp } from '../helpers/shared-app.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain } from '../helpers/test-chain.ts'

const KEY = 'tly_0123456789abcdef'
const env = { TALLYSTICK_API_KEY: KEY }

/**
 * Answer of the fake server to the announcement of an export. Without `answersAnnouncements`, the test's own listener
 * answers announcements.
 */
const ANNOUNCED = JSON.stringify({ entry: { seq: 4 }, from: 0, to: 3 })

async function serve(
  t: TestContext,
  listener: RequestListener,
  answersAnnouncements = true,
): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url !== '/v1/exports' || !answersAnnouncements) return listener(request, response)
    response.writeHead(201, { 'content-type': 'application/json' }).end(ANNOUNCED)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function makeExport(): string {
  const chain = makeChain()
  chain.notarizeBatch(3)
  return `${chain.exportLines().join('\n')}\n`
}

const NDJSON = { 'content-type': 'application/x-ndjson' }
const at = (url: string) => ['--server', url, '--api-key', KEY]

test('verifies the export of the key’s own ledger from a running server', async () => {
  const app = await sharedApp()
  const url = await addressOf(app)
  const verify = (key: string) => runAlone(['verify', '--server', url, '--api-key', key])
  await app.notarize({ ...genericBody(), occurredAt: '2026-01-02T03:04:05.678Z' })
  const body = { records: [genericBody({ n: 1 }), genericBody({ n: 2.5, text: '\u00fc\u2028"' })] }
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body }))
  assert.deepEqual(await verify(app.ledger.key.key), {
    code: 0,
    stdout: 'INTEGRITY_OK entries=5 records=3 keys=self-asserted checkpoint=none covered=0 own=0 of 5\n',
    stderr: '',
  })

  const auditor = await verify(await addKey(app, { scopes: ['audit:read'] }))
  assert.match(auditor.stdout, /^INTEGRITY_OK entries=6 records=3 .* documents=withheld$/m)
  assert.match(auditor.stderr, /has no documents, because the API key/)

  const writer = await verify(await addKey(app, { scopes: ['records:write'] }))
  assert.deepEqual([writer.code, writer.stdout], [77, ''])
  assert.match(writer.stderr, /403 forbidden.*audit:read/)
  const nobody = await verify('tly_nobody')
  assert.equal(nobody.code, 77)
  assert.match(nobody.stderr, /401 unauthenticated/)
})

test('verify and export use the server of the environment, the options, or the stored credentials', async (t) => {
  const text = makeExport()
  const seen: (string | undefined)[] = []
  const url = await serve(t, (request, response) => {
    seen.push(request.url, request.headers.authorization)
    response.writeHead(200, NDJSON).end(text)
  })
  const files = temporaryFiles(t)
  const verified = await runAlone(['verify', '--server', url], { env })
  assert.deepEqual([verified.code, verified.stderr], [0, ''])
  assert.match(verified.stdout, /^INTEGRITY_OK entries=4 records=3/)

  const path = join(files.directory, 'ledger.ndjson')
  const exported = await runAlone(['export', '--server', `${url}/`, '-o', path, '--api-key', 'tly_other'])
  assert.deepEqual(exported, { code: 0, stdout: '', stderr: '' })
  assert.equal(readFileSync(path, 'utf8'), text)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal((await runAlone(['export'], { env: { ...env, TALLYSTICK_URL: url } })).stdout, text)
  const auth = ['/v1/export', `Bearer ${KEY}`]
  assert.deepEqual(seen, [...auth, '/v1/export', 'Bearer tly_other', ...auth])

  // The user did not name the ledger, so the output must name the ledger.
  const kept = await runAlone(['verify'], { env: { TALLYSTICK_URL: url, ...env } })
  assert.match(kept.stdout, /^INTEGRITY_OK entries=4/)
  assert.equal(kept.stderr, `tallystick: reading the ledger at ${url} (API key: options and environment)\n`)
})

test('prints a server’s refusal, and never the key', async (t) => {
  const problem = { status: 0, title: 'x', detail: 'y', type: 'z', requestId: 'r', retryable: false }
  const answers: [number, object | null, number, RegExp][] = [
    [401, { code: 'unauthenticated' }, 77, /401 unauthenticated/],
    [403, { code: 'forbidden' }, 77, /403 forbidden/],
    [404, null, 65, /check that the address is that of a Tallystick server/],
    [503, { code: 'overloaded' }, 69, /503 overloaded/],
    [302, null, 65, /redirects/],
  ]
  for (const [status, said, exit, pattern] of answers) {
    const url = await serve(
      t,
      (_, response) => {
        response.writeHead(status, {
          'content-type': 'application/problem+json',
          location: 'http://127.0.0.1:1/',
        })
        response.end(said ? JSON.stringify({ ...problem, ...said, status }) : '')
      },
      false,
    )
    for (const command of ['verify', 'export']) {
      const { code, stdout, stderr } = await runAlone([command, ...at(url)])
      assert.deepEqual([code, stdout], [exit, ''], stderr)
      assert.match(stderr, pattern)
      assert.ok(!stderr.includes(KEY))
    }
  }
  const page = await serve(t, (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  )
  assert.equal((await runAlone(['verify', ...at(page)])).code, 65)
})

test('reports a broken stream, and leaves no partial file under the final name', async (t) => {
  const text = makeExport()
  const broken = await serve(t, (_, response) => {
    response.writeHead(200, { ...NDJSON, 'content-length': text.length })
    response.write(text.slice(0, 500))
    setTimeout(() => response.destroy(), 50)
  })
  const short = await serve(t, (_, response) => response.writeHead(200, NDJSON).end(text.slice(0, -100)))
  const { directory } = temporaryFiles(t)
  const path = join(directory, 'ledger.ndjson')
  for (const url of [broken, short]) {
    const verified = await runAlone(['verify', ...at(url)])
    assert.deepEqual([verified.code, verified.stdout], [69, ''], verified.stderr)
    const exported = await runAlone(['export', ...at(url), '-o', path])
    assert.equal(exported.code, 69, exported.stderr)
    assert.match(exported.stderr, /GET .*\/v1\/export/)
    assert.ok(readdirSync(directory).length === 0)
  }
})

test('reports a file that cannot be written', async (t) => {
  const text = makeExport()
  const url = await serve(t, (_, response) => response.writeHead(200, NDJSON).end(text))
  const { directory } = temporaryFiles(t)
  const { code, stderr } = await runAlone(['export', ...at(url), '-o', join(directory, 'no/dir')])
  assert.equal(code, 74)
  assert.match(stderr, /no\/dir cannot be written \(there is no folder [^)]+no\)/)
})
