import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { buildApp } from '../../src/http/app.ts'
import { Metrics } from '../../src/observe/metrics/metrics.ts'
import { buildConsole } from '../../tools/build-console.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { sharedApp } from '../helpers/shared-app.ts'

/**
 * Maximum size in bytes of everything that a browser loads before verification starts: page, styles, script and its
 * chunks. The current size is 49 KB.
 */
const FIRST_PAGE_GZIP_BYTES_MAX = 60_000

test('the console', async (t) => {
  const dir = join(temporaryDir(), 'dist')
  const [{ deps }] = await Promise.all([sharedApp(), buildConsole(dir)])
  const open = (consoleDir: string | null) => {
    const app = buildApp({ ...deps, consoleDir, metrics: new Metrics() })
    t.after(() => app.close())
    return (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
  }
  const get = open(dir)
  const names = readdirSync(dir)
  const script = names.find((name) => /^console-.*\.js$/.test(name))!
  const textOf = (name: string) => readFileSync(join(dir, name), 'utf8')

  await t.test('is one page that is not cached and has a strict content security policy', async () => {
    const { statusCode, headers, body } = await get('/console/')
    assert.equal(statusCode, 200)
    assert.equal(body, textOf('index.html'))
    assert.equal(headers['cache-control'], 'no-cache')
    assert.equal(
      headers['content-security-policy'],
      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    )
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.doesNotMatch(body, /<style|style=|<script(?![^>]*src=)|\son\w+=|https?:/)
    const again = await get('/console/', { 'if-none-match': String(headers['etag']) })
    assert.equal(again.statusCode, 304)
  })

  await t.test('redirects to the relative path with the slash, below any proxy path', async () => {
    const { statusCode, headers } = await get('/console')
    assert.deepEqual([statusCode, headers['location']], [302, 'console/'])
  })

  await t.test('serves its files compressed and immutable for caches', async () => {
    const { statusCode, headers, rawPayload } = await get(`/console/${script}`, { 'accept-encoding': 'gzip' })
    assert.equal(statusCode, 200)
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.match(String(headers['content-type']), /^application\/javascript/)
    assert.equal(headers['content-encoding'], 'gzip')
    assert.equal(gunzipSync(rawPayload).toString(), textOf(script))
  })

  await t.test('serves the offline verifier as a download', async () => {
    const { statusCode, headers } = await get('/console/verify.html')
    assert.equal(statusCode, 200)
    assert.equal(headers['content-disposition'], 'attachment; filename="tallystick-verify.html"')
  })

  await t.test('answers 404 for all other files', async () => {
    const nowhere = [
      'nothing.js',
      '../package.json',
      '..%2fpackage.json',
      'a/b.js',
      '.env',
      'console',
      '%00.js',
      'a%5cb.js',
    ]
    for (const name of nowhere) assertProblem(await get(`/console/${name}`), 404, 'not_found', name)
  })

  await t.test('can be turned off', async () => {
    const off = open(null)
    for (const url of ['/console', '/console/', `/console/${script}`])
      assert.equal((await off(url)).statusCode, 404)
  })

  await t.test('answers 404 with a reason if the console was not built', async () => {
    const { detail } = assertProblem(await open(join(dir, 'nowhere'))('/console/'), 404, 'not_found')
    assert.equal(detail, 'the console was not built')
  })

  await t.test('loads less than 60 KB at first, and the verifier only when needed', () => {
    const first = new Set(['index.html', names.find((name) => name.endsWith('.css'))!])
    const load = (name: string) => {
      if (first.has(name)) return
      first.add(name)
      for (const [, imported] of textOf(name).matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) load(imported!)
    }
    load(script)
    const bytes = [...first].reduce((sum, name) => sum + gzipSync(textOf(name)).length, 0)
    assert.ok(first.size >= 4, `${[...first]}`)
    assert.ok(bytes < FIRST_PAGE_GZIP_BYTES_MAX, `${bytes} bytes`)
    const verifier = names.find((name) => /^verifier-.*\.js$/.test(name))!
    assert.ok(!first.has(verifier))
    assert.ok(names.some((name) => name.endsWith('.js') && textOf(name).includes(verifier)))
  })

  await t.test('uses no function that turns text into markup or code', () => {
    for (const name of names.filter((one) => one.startsWith('console-')))
      assert.doesNotMatch(textOf(name), /insertAdjacentHTML|document\.write|outerHTML|\beval\(|new Function/)
  })
})
