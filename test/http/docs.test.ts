import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus } from '../helpers/app.ts'
import { sharedApp } from '../helpers/shared-app.ts'

test('GET /docs', async (t) => {
  const app = await sharedApp()
  const get = (url: string, headers = {}) => app.send('GET', url, { key: null, headers })
  const page = expectStatus(200, await get('/docs'))

  await t.test('is where the address of the server leads', async () => {
    assert.equal(expectStatus(302, await get('/')).headers['location'], '/docs')
  })

  await t.test('leads to no service of a vendor', () => {
    const configuration = JSON.parse(/data-configuration='([^']*)'/.exec(page.body)![1]!)
    assert.deepEqual([configuration.agent, configuration.mcp], [{ disabled: true }, { disabled: true }])
  })

  await t.test('names nothing that another server would have to send', () => {
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    const addresses = [...page.body.matchAll(/(?:src|href|data-url)="([^"]*)"/g)].map((match) => match[1])
    assert.deepEqual(addresses, ['/openapi.json', '/docs/scalar.js'])
    assert.doesNotMatch(page.body, /https?:/)
  })

  await t.test('lets no script in but its own, and is shown in no frame', () => {
    const policy = page.headers['content-security-policy'] as string
    const directives = new Map(
      policy.split('; ').map((d) => [d.split(' ')[0], d.split(' ').slice(1).join(' ')]),
    )
    assert.equal(directives.get('default-src'), "'none'")
    assert.equal(directives.get('script-src'), "'self'")
    assert.equal(directives.get('connect-src'), "'self'")
    assert.equal(directives.get('frame-ancestors'), "'none'")
    const inline = [...page.body.matchAll(/<script[^>]*>([^<]*)<\/script>/g)].map((match) => match[1])
    assert.deepEqual(inline, ['', ''])
  })

  await t.test('has its script, and does not send it again to a client that has it', async () => {
    const script = expectStatus(200, await get('/docs/scalar.js'))
    assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.ok(script.body.length > 1_000_000)
    assert.doesNotMatch(script.body, /\beval\(|new Function\(/, 'the policy would refuse it')
    const etag = script.headers['etag'] as string
    assert.equal(expectStatus(304, await get('/docs/scalar.js', { 'if-none-match': etag })).body, '')
  })
})
