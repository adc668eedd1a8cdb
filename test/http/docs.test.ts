import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { expectStatus } from '../helpers/app.ts'
import { addressOf, sharedApp } from '../helpers/shared-app.ts'

const ADDRESSES = /(?:src|href|data-url)="([^"]*)"/g
const CONFIGURATION = /data-configuration='([^']*)'/

test('GET /docs', async (t) => {
  const app = await sharedApp()
  const get = (url: string, headers = {}) => app.send('GET', url, { key: null, headers })
  const page = expectStatus(200, await get('/docs'))

  await t.test('is where / redirects, also below a path', async () => {
    for (const at of ['http://localhost/', 'https://ledger.example/some/path/']) {
      const { location } = expectStatus(302, await get('/')).headers
      assert.equal(new URL(location as string, at).href, `${at}docs`)
    }
  })

  await t.test('works below a proxy path, and sends tried requests to that path', async (t) => {
    const target = await addressOf(app)
    const proxy = createServer((request, response) => {
      assert.ok(request.url!.startsWith('/some/path/'), request.url)
      // Removes the prefix as nginx does with `location /some/path/ { proxy_pass …/; }`.
      const onward = new URL(request.url!.slice('/some/path'.length), target)
      ask(onward, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      })
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    t.after(() => void proxy.close().closeAllConnections())
    const start = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/some/path/`

    const shown = await fetch(start)
    assert.deepEqual([shown.status, shown.url], [200, `${start}docs`])
    const html = await shown.text()
    for (const [, address] of html.matchAll(ADDRESSES)) {
      const answer = await fetch(new URL(address!, shown.url))
      await answer.arrayBuffer()
      assert.equal(answer.status, 200, address)
    }
    const dataset = { configuration: CONFIGURATION.exec(html)![1]! }
    const document = { baseURI: shown.url, getElementById: () => ({ dataset }) }
    runInNewContext(await (await fetch(`${start}docs/base.js`)).text(), { document, URL })
    assert.equal(JSON.parse(dataset.configuration).baseServerURL, start)
  })

  await t.test('disables the vendor’s services', () => {
    const configuration = JSON.parse(CONFIGURATION.exec(page.body)![1]!)
    assert.deepEqual([configuration.agent, configuration.mcp], [{ disabled: true }, { disabled: true }])
  })

  await t.test('loads nothing from another server', () => {
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    const addresses = [...page.body.matchAll(ADDRESSES)].map((match) => match[1])
    assert.deepEqual(addresses, ['data:,', 'openapi.json', 'docs/base.js', 'docs/scalar.js'])
    assert.doesNotMatch(page.body, /https?:/)
  })

  await t.test('allows only its own scripts, and no frames', () => {
    const policy = page.headers['content-security-policy'] as string
    const directives = new Map(
      policy.split('; ').map((d) => [d.split(' ')[0], d.split(' ').slice(1).join(' ')]),
    )
    assert.equal(directives.get('default-src'), "'none'")
    assert.equal(directives.get('script-src'), "'self'")
    assert.equal(directives.get('connect-src'), "'self'")
    assert.equal(directives.get('frame-ancestors'), "'none'")
    const inline = [...page.body.matchAll(/<script[^>]*>([^<]*)<\/script>/g)].map((match) => match[1])
    assert.deepEqual(inline, ['', '', ''])
  })

  await t.test('serves its script with an ETag, and answers 304 to a client that has it', async () => {
    const script = expectStatus(200, await get('/docs/scalar.js'))
    assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.ok(script.body.length > 1_000_000)
    assert.doesNotMatch(script.body, /\beval\(|new Function\(/, 'the policy would refuse it')
    const etag = script.headers['etag'] as string
    assert.equal(expectStatus(304, await get('/docs/scalar.js', { 'if-none-match': etag })).body, '')
  })
})
