import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPERATOR_KEY } from '../helpers/app.ts'
import { sharedApp } from '../helpers/shared-app.ts'

test('every answer has nosniff, and answers that need a key have Cache-Control: no-store', async () => {
  const app = await sharedApp()
  const { id } = await app.notarize()
  const answers = [
    ['GET', `/v1/records/${id}`, {}, 'no-store'],
    ['GET', '/v1/records', {}, 'no-store'],
    ['GET', '/v1/export', {}, 'no-store'],
    ['GET', '/v1/ledgers', { key: OPERATOR_KEY }, 'no-store'],
    ['POST', '/v1/records', { body: {} }, 'no-store'],
    ['GET', '/v1/records', { key: null }, 'no-store'],
    ['GET', '/nowhere', {}, 'no-store'],
    ['GET', '/v1/records/%ff', {}, 'no-store'],
    ['GET', '/openapi.json', { key: null }, 'no-cache'],
    ['GET', '/docs', { key: null }, undefined],
    ['GET', '/.well-known/tallystick-keys.json', { key: null }, undefined],
  ] as const
  for (const [method, url, options, cache] of answers) {
    const { headers } = await app.send(method, url, options)
    assert.equal(headers['x-content-type-options'], 'nosniff', `${method} ${url}`)
    assert.equal(headers['cache-control'], cache, `${method} ${url}`)
  }
})
