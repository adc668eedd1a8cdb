import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { NONCE_BYTES, signRequest } from '../../src/outside/federation/http-signature.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { sharedApp } from '../helpers/shared-app.ts'
import { makeId, makeSigner } from '../helpers/test-chain.ts'

const PATH = '/v1/federation/peerings'
const BODY = '{"invitation":1}'

test('a peer’s body that differs from the signed digest gets content_digest_mismatch before validation', async () => {
  const app = await sharedApp()
  const parties = { peering: makeId('peer'), from: makeId('led'), to: makeId('led') }
  const targetUri = `${app.deps.publicUrl}${PATH}`
  const signing = { nowMs: Date.now(), nonce: randomBytes(NONCE_BYTES) }
  const headers = signRequest({ method: 'POST', targetUri, body: BODY, ...parties }, makeSigner(), signing)
  const send = (text: string) => app.send('POST', PATH, { key: null, text, headers })
  assertProblem(await send(BODY.replace('1', '2')), 401, 'content_digest_mismatch')
  const answer = await send(BODY)
  assert.notEqual(answer.json().code, 'content_digest_mismatch', answer.body)
})
