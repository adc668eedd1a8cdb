import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ENTRY_KINDS, type EntryKind, predicateTypeOf } from '../../src/proof/statement/kinds.ts'
import { expectStatus } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { openEnvelope } from '../helpers/open-envelope.ts'
import { sharedApp } from '../helpers/shared-app.ts'

test('GET /predicates/{kind}/v1', async (t) => {
  const app = await sharedApp()
  const get = (kind: string) => app.send('GET', `/predicates/${kind}/v1`, { key: null })

  await t.test('has a JSON Schema for every kind, with its predicateType as $id', async () => {
    for (const kind of Object.keys(ENTRY_KINDS)) {
      const response = expectStatus(200, await get(kind))
      assert.match(response.headers['content-type'] as string, /^application\/schema\+json/)
      assert.equal(response.json().$id, predicateTypeOf(kind as EntryKind))
    }
  })

  await t.test('the schema accepts every predicate that the server signs', async () => {
    await app.notarize()
    const { keys } = (await app.send('GET', '/.well-known/tallystick-keys.json', { key: null })).json()
    const entries = await app.entries()
    assert.ok(entries.length >= 4)
    for (const { kind, envelope } of entries) {
      const { predicateType, predicate } = openEnvelope(envelope, keys).statement
      const schema = (await get(kind)).json()
      assert.equal(schema.$id, predicateType)
      const validate = new Ajv2020().compile(schema)
      assert.ok(validate(predicate), JSON.stringify(validate.errors))
    }
  })

  await t.test('answers 404 for an unknown kind', async () => {
    for (const kind of ['nothing', 'constructor', '__proto__'])
      assertProblem(await get(kind), 404, 'not_found')
  })
})
