import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { activateBody, completionBody, reasonBody, verdictBody } from '../../src/http/schemas/gated.ts'
import { notarizeBody } from '../../src/http/schemas/records.ts'
import { lenientSchema, noteOf } from '../../src/mcp/arguments.ts'
import { notarize } from '../../src/mcp/record-tools.ts'
import { activate, cancel, complete, requestRevision, verdict } from '../../src/mcp/work-tools.ts'

const INPUT = z.object({
  payload: z.looseObject({}),
  references: z.array(z.string()).optional(),
  type: z.string().optional(),
  limit: z.int().min(1).max(10).optional(),
  isFinal: z.boolean().optional(),
  idempotencyKey: z.string().optional(),
})

async function read(args: unknown) {
  const result = await lenientSchema(INPUT)['~standard'].validate(args)
  return result.issues === undefined
    ? result.value
    : result.issues.map(({ path, message }) => `${path?.join('.')}: ${message}`).join('; ')
}

const taken = async (args: object) => {
  const found = await read(args)
  assert.ok(typeof found === 'object', `${JSON.stringify(args)}: ${found as string}`)
  return found
}

test('members that clients add are ignored, and named', async () => {
  const added = {
    toolCallId: 'x',
    sessionId: 's',
    task_progress: [],
    chatInput: '',
    _meta: {},
    __proto: 1,
    action: 'call',
  }
  const { values, ignored } = await taken({ payload: { a: 1 }, ...added })
  assert.deepEqual([values, ignored], [{ payload: { a: 1 } }, Object.keys(added)])
  assert.equal(
    noteOf('notarize', INPUT, ['tool\u202eCallId', 'x']),
    'Ignored, because notarize has no such argument: "tool\\u202eCallId", "x". It has: payload, references, type, limit, isFinal, idempotencyKey.',
  )
  const many = noteOf(
    'notarize',
    INPUT,
    Array.from({ length: 10_000 }, () => 'a'.repeat(1_000)),
  )
  assert.ok(many!.length < 1_000)
  assert.equal(noteOf('notarize', INPUT, []), null)
})

test('refuses a name that looks misspelled, and suggests the right name', async () => {
  for (const [name, meant] of [
    ['refrences', 'references'],
    ['reference', 'references'],
    ['idempotency_key', 'idempotencyKey'],
    ['IdempotencyKey', 'idempotencyKey'],
    ['idempotencykeys', 'idempotencyKey'],
    ['payloads', 'payload'],
    ['refreences', 'references'],
    ['type_id', 'type'],
    ['referenceIds', 'references'],
    ['idempotency', 'idempotencyKey'],
    ['idempotency_keys', 'idempotencyKey'],
    ['Type', 'type'],
  ] as const)
    assert.match(
      `${await read({ payload: {}, [name]: 'x' })}`,
      new RegExp(`^${name}: .* do you mean ${meant}\\?$`),
    )
  for (const name of ['tape', 'x', 'limited', 'referrer', 'constructor'])
    assert.deepEqual((await taken({ payload: {}, [name]: 1 })).ignored, [name])
})

test('null counts as absent for an optional argument, and is refused for a required one', async () => {
  assert.deepEqual((await taken({ payload: {}, references: null, limit: null })).values, { payload: {} })
  assert.match(`${await read({ payload: null })}`, /^payload: .*expected object, received null/)
})

test('converts a text to the argument’s type only if the conversion is exact', async () => {
  const texts = {
    payload: '{"a":{"b":[1]}}',
    references: '["order:1"]',
    limit: '5',
    isFinal: 'true',
    type: '7',
  }
  assert.deepEqual((await taken(texts)).values, {
    ...{ payload: { a: { b: [1] } }, references: ['order:1'], limit: 5, isFinal: true },
    type: '7',
  })
  for (const payload of ['{"a":1,"a":2}', '{"a":12345678901234567890}', 'no JSON', '[1]', '"{}"', ''])
    assert.match(`${await read({ payload })}`, /^payload: .*expected object, received string/, payload)
  for (const limit of ['11', '1.5', 'five', '', '1e400', '0x5'])
    assert.match(`${await read({ payload: {}, limit })}`, /^limit: /, limit)
})

test('arguments that are not an object are refused', async () => {
  for (const args of [null, [], 'x', 1]) assert.match(`${await read(args)}`, /expected object/)
})

test('each member of the REST API is an argument of the tool, or listed as unsupported', async () => {
  for (const [tool, body] of [
    [notarize, notarizeBody],
    [activate, activateBody],
    [complete, completionBody],
    [verdict, verdictBody],
    [requestRevision, reasonBody],
    [cancel, reasonBody],
  ] as const) {
    const members = Object.keys(body.shape)
    const missing = members.filter((name) => !Object.hasOwn(tool.input.shape, name))
    assert.deepEqual([...(tool.unsupported ?? [])].toSorted(), missing.toSorted(), tool.name)
    const { validate } = lenientSchema(tool.input, tool.unsupported)['~standard']
    for (const name of missing) {
      const { issues = [] } = await validate({ [name]: 'x' })
      const [found] = issues.filter(({ path }) => path?.[0] === name)
      assert.match(`${found?.message}`, /^this tool does not support it; use POST \/v1\/records/, name)
      const absent = (await validate({ [name]: null })).issues ?? []
      assert.ok(!absent.some(({ path }) => path?.[0] === name))
    }
  }
  assert.deepEqual([...(notarize.unsupported ?? [])].toSorted(), ['envelope', 'salt', 'share', 'tolerances'])
})
