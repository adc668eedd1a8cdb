import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import Fastify from 'fastify'
import { z } from 'zod'
import { ERROR_CODES, type ErrorCode } from '../../src/errors.ts'
import { makeProve } from '../../src/http/connections/prove.ts'
import { collectOperations } from '../../src/http/openapi/operations.ts'
import { useAuthentication } from '../../src/http/plugins/authenticate.ts'
import { expectStatus } from '../helpers/app.ts'
import { assertDocumented } from '../helpers/conformance.ts'
import { sharedApp } from '../helpers/shared-app.ts'

test('GET /openapi.json', async (t) => {
  const app = await sharedApp()
  const response = expectStatus(200, await app.send('GET', '/openapi.json', { key: null }))
  const document = response.json()
  const operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )

  await t.test('is an OpenAPI 3.1 document', async () => {
    assert.equal(document.openapi, '3.1.0')
    const { valid, errors } = await new Validator().validate(response.json())
    assert.ok(valid, JSON.stringify(errors))
  })

  await t.test('shows this server’s address, and real answers as examples', () => {
    assert.ok(document.info.description.includes(`curl -s ${app.deps.publicUrl}/v1/records`))
    const answers = operations.flatMap(({ operationId, responses }) =>
      Object.entries(responses).flatMap(([status, { content }]) => {
        const json = content?.['application/json']
        return status.startsWith('2') && json ? [{ name: `${operationId} ${status}`, ...json }] : []
      }),
    )
    const withExample = answers.filter(({ example }) => example !== undefined)
    // Routes of peers, statements and redeliveries have no examples, because tools/example-answers.ts does not call
    // them.
    assert.ok(withExample.length >= 45, `${withExample.length}`)
    for (const name of ['postRecords 201', 'getRecords 200', 'getRecordsById 200', 'getRecordsByIdProof 200'])
      assert.ok(
        withExample.some((answer) => answer.name === name),
        name,
      )
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ $id: 'openapi', components: document.components })
    for (const { name, schema, example } of withExample) {
      const own = JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/'))
      const isValid = ajv.compile(own)
      assert.ok(isValid(example), `${name}: ${JSON.stringify(isValid.errors)}`)
    }
  })

  await t.test('describes exactly the registered routes', () => {
    const registered = app.routes
      // Excludes requests between the servers of peers. docs/formats/federation.md describes them.
      .filter(({ config }) => !['peer', 'introduction'].includes(config?.access as string))
      // Excludes MCP, which describes its tools itself (docs/integrations/mcp.md).
      .filter(({ url }) => url !== '/mcp')
      // Excludes the static files of the console (docs/guides/console.md).
      .filter(({ url }) => !/^\/console(\/|$)/.test(url))
      .map((route) =>
        `${route.method} ${route.url.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{path}')}`.toLowerCase(),
      )
    const described = operations.map(({ method, path }) => `${method} ${path}`.toLowerCase())
    assert.deepEqual(described.sort(), registered.sort())
  })

  await t.test('gives every operation its own operationId', () => {
    const ids = operations.map(({ operationId }) => operationId)
    assert.equal(new Set(ids).size, ids.length, ids.join(' '))
    for (const id of ids) assert.match(id, /^(get|post|put|patch|delete)[A-Z][A-Za-z0-9]+$/)
    assert.ok(ids.includes('postRecordsBatch') && ids.includes('getRecordsById'))
  })

  await t.test('names the error codes of every error status', () => {
    for (const { operationId, responses } of operations) {
      for (const [status, answer] of Object.entries(responses).filter(([status]) => Number(status) >= 400)) {
        // OTLP routes answer with the errors of OTLP, not with problem documents.
        if (['postTraces', 'postLogs'].includes(operationId)) continue
        const codes = answer.content['application/problem+json']!.schema.allOf[1].properties.code.enum
        assert.ok(codes.length > 0)
        for (const code of codes as ErrorCode[]) {
          assert.equal(ERROR_CODES[code][0], Number(status), `${operationId} ${code}`)
        }
      }
    }
  })

  await t.test('names the key of each operation', () => {
    const securityOf = (id: string) => operations.find(({ operationId }) => operationId === id)!.security
    assert.deepEqual(securityOf('postLedgers'), [{ operatorKey: [] }])
    assert.deepEqual(securityOf('postRecords'), [{ apiKey: ['records:write'] }])
    assert.equal(securityOf('getLivez'), undefined)
  })

  await t.test('answers 304 to a client that has the document', async () => {
    const etag = response.headers['etag'] as string
    const send = (value: string) =>
      app.send('GET', '/openapi.json', { key: null, headers: { 'if-none-match': value } })
    for (const value of [etag, `W/${etag}`, `"another", ${etag}`, '*'])
      assert.equal(expectStatus(304, await send(value)).body, '', value)
    for (const value of ['"another"', '', etag.slice(1)]) expectStatus(200, await send(value))
  })

  await t.test('is checked against every answer in tests', async () => {
    const record = await app.notarize()
    const request = { method: 'GET', url: `/v1/records/${record.id}`, headers: {} }
    const good = await app.send('GET', request.url)
    const changed = (answer: object) =>
      assertDocumented(app.app, request, { ...pick(good), ...answer } as never)
    await changed({})
    const { digest: _, ...lacking } = good.json()
    for (const [fault, answer] of [
      [/not in \/openapi.json/, { statusCode: 418 }],
      [/must have required property 'digest'/, { body: JSON.stringify(lacking) }],
      [/must NOT have additional properties/, { body: JSON.stringify({ ...good.json(), more: 1 }) }],
      [/does not know text\/html/, { headers: { 'content-type': 'text/html' } }],
      [/does not name the header Retry-After/, { headers: { ...good.headers, 'retry-after': '1' } }],
    ] as const) {
      await assert.rejects(changed(answer), fault)
    }
    const unknown = { ...request, url: '/v1/nothing' }
    await assert.rejects(assertDocumented(app.app, unknown, good), /does not know the operation/)
  })
})

test('a route without documentation is refused at registration', async () => {
  const { deps } = await sharedApp()
  const app = Fastify()
  useAuthentication(app, { ...deps, prove: makeProve(deps) })
  collectOperations(app)
  const config = { access: 'public' } as const
  const response = { 200: z.string() }
  for (const schema of [undefined, { summary: 'x' }, { response }]) {
    assert.throws(
      () => app.get('/x', { config, ...(schema && { schema }) }, async () => 'x'),
      /GET \/x does not say/,
    )
  }
  const schema = { summary: 'x', response }
  assert.throws(() => app.get('/x/:id', { config, schema }, async () => 'x'), /\/x\/\{id\} is in no group/)
})

type Operation = {
  operationId: string
  security?: object[]
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts
  responses: Record<string, { content: Record<string, any> }>
}

function pick({ statusCode, headers, body }: { statusCode: number; headers: object; body: string }) {
  return { statusCode, headers, body }
}
