import assert from 'node:assert/strict'
import type { LightMyRequestResponse as Response } from 'fastify'
import { ERROR_CODES, type ErrorCode } from '../../src/errors.ts'

type Answer = Pick<Response, 'statusCode' | 'headers' | 'body'>

/**
 * Asserts that the answer is a well-formed problem document (RFC 9457) and returns the document. `about` names the
 * request in failure messages.
 */
export function assertProblem(
  response: Answer,
  status: number,
  code: string,
  about = '',
): Record<string, unknown> {
  assert.equal(response.statusCode, status, `${about} ${response.body}`)
  assert.equal(response.headers['content-type'], 'application/problem+json')
  const problem = JSON.parse(response.body) as Record<string, unknown>
  assert.equal(problem['code'], code, `${about} ${response.body}`)
  assert.equal(problem['status'], status)
  assert.equal(ERROR_CODES[code as ErrorCode][0], status)
  assert.equal(problem['title'], ERROR_CODES[code as ErrorCode][1])
  assert.equal(problem['type'], `https://tallystick.dev/errors/${code}`)
  assert.match(problem['requestId'] as string, /^req_[0-9a-f]{32}$/)
  assert.equal(typeof problem['retryable'], 'boolean')
  assert.ok((problem['detail'] as string).length > 0)
  assert.doesNotMatch(response.body, /node_modules|\.ts:\d|SELECT |select .* from | tallystick\.[a-z]/)
  return problem
}
