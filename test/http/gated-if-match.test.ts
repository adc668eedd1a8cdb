import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectStatus } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { STEP_NAMES, type StepName, sharedGatedApp } from '../helpers/gated-app.ts'

const BEFORE: Record<StepName, string> = {
  activate: 'CREATED',
  completions: 'ACTIVE',
  verdict: 'VERIFIED',
  revision: 'DISCREPANT',
  cancel: 'ACTIVE',
  overturn: 'REJECTED',
}

test('If-Match on the steps of a gated record', async (t) => {
  const app = await sharedGatedApp()

  for (const step of STEP_NAMES) {
    await t.test(
      `${step}: refuses another version with 412, and accepts the version of the ETag`,
      async () => {
        const { id, version, state } = await app.reach(BEFORE[step])
        const { etag } = (await app.send('GET', `/v1/records/${id}`)).headers
        assert.equal(etag, `"${version}"`)
        const before = await app.written()
        for (const other of [version - 1, version + 1].filter((n) => n > 0)) {
          const response = await app.step(id, step, { headers: { 'if-match': `"${other}"` } })
          const problem = assertProblem(response, 412, 'version_mismatch')
          assert.deepEqual([problem['version'], problem['state']], [version, state])
        }
        assert.deepEqual(await app.written(), before)
        const taken = expectStatus(200, await app.step(id, step, { headers: { 'if-match': etag as string } }))
        assert.equal(taken.headers['etag'], `"${version + 1}"`)
      },
    )
  }

  await t.test('accepts any version with *', async () => {
    const { id } = await app.create()
    expectStatus(200, await app.step(id, 'activate', { headers: { 'if-match': '*' } }))
  })

  // If-Match uses strong comparison with each tag of a list (RFC 9110 §13.1.1).
  for (const value of [
    'W/"1"',
    '"x"',
    '""',
    '"01"',
    '"1.0"',
    '"-1"',
    '"99999999999"',
    '"1-gzip"',
    '"2", W/"1"',
  ]) {
    await t.test(`refuses ${value} with 412 version_mismatch`, async () => {
      const { id } = await app.create()
      const before = await app.written()
      const response = await app.step(id, 'activate', { headers: { 'if-match': value } })
      assert.equal(assertProblem(response, 412, 'version_mismatch')['version'], 1)
      assert.deepEqual(await app.written(), before)
    })
  }

  await t.test('accepts a list that contains the version', async () => {
    for (const value of ['"1", "2"', 'W/"1" , "7","1"', '"7", *']) {
      const { id } = await app.create()
      expectStatus(200, await app.step(id, 'activate', { headers: { 'if-match': value } }))
    }
  })

  for (const value of ['1', '01', 'x', '', ',']) {
    await t.test(`refuses ${JSON.stringify(value)} with 422 invalid_request`, async () => {
      const { id } = await app.create()
      const before = await app.written()
      const response = await app.step(id, 'activate', { headers: { 'if-match': value } })
      assert.equal(assertProblem(response, 422, 'invalid_request')['path'], '/if-match')
      assert.deepEqual(await app.written(), before)
    })
  }

  await t.test('is checked after the party and before the state', async () => {
    const accepted = await app.reach('ACCEPTED')
    const headers = { 'if-match': '"1"' }
    assertProblem(await app.step(accepted.id, 'verdict', { as: 'performer', headers }), 403, 'not_entitled')
    assertProblem(await app.step(accepted.id, 'verdict', { headers }), 412, 'version_mismatch')
    const current = { 'if-match': `"${accepted.version}"` }
    assertProblem(await app.step(accepted.id, 'verdict', { headers: current }), 409, 'state_conflict')
  })

  await t.test('lets one of several requests with the same version succeed, the others get 412', async () => {
    for (let round = 0; round < 5; round++) {
      const { id, version } = await app.reach('VERIFIED')
      const headers = { 'if-match': `"${version}"` }
      const answers = await Promise.all([
        app.step(id, 'verdict', { headers }),
        app.step(id, 'revision', { headers }),
        app.step(id, 'verdict', { headers, body: { verdict: 'reject' } }),
      ])
      assert.deepEqual(answers.map((answer) => answer.statusCode).sort(), [200, 412, 412])
      assert.equal((await app.get(id)).version, version + 1)
    }
  })

  await t.test('also applies to the version of a notarized record', async () => {
    const { id } = await app.notarize()
    assert.equal((await app.send('GET', `/v1/records/${id}`)).headers['etag'], '"1"')
    const headers = { 'if-match': '"2"' }
    assertProblem(await app.step(id, 'cancel', { headers }), 412, 'version_mismatch')
  })
})
