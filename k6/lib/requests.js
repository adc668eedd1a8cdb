/*
 * Sends all requests of the scripts, with headers, names and timeouts, and judges their outcome. One name covers all
 * requests of a kind, so that ids in paths create no metrics.
 */
import { sleep } from 'k6'
import http from 'k6/http'
import { baseUrl } from './deployment.js'
import { countOutcome, retried, sentRecords } from './outcomes.js'

/** Maximum time of a request. No answer should take longer: the slowest figure published elsewhere is a p99 of 16 s. */
const REQUEST_TIMEOUT = '60s'
const RETRY_AFTER_SECONDS_DEFAULT = 1
const RETRIES_MAX = 10

/**
 * An overloaded server answers 503, so a 503 does not count as an HTTP error. A 503 that is too slow counts as
 * `failed`.
 */
http.setResponseCallback(http.expectedStatuses({ min: 200, max: 299 }, 503))

/**
 * @typedef {object} Request
 * @property {'GET' | 'POST' | 'DELETE'} method
 * @property {string} [url] default: the server of this virtual user
 * @property {string} path
 * @property {string} name `POST /v1/records/{id}/activate`
 * @property {string} key the API key
 * @property {string} [body] JSON
 * @property {number} [records] that the request should write; without it, the request is no write
 * @property {string} [idempotencyKey]
 * @property {boolean} [keepBody] default: the answer's body is discarded, and `body` is null
 * @property {Record<string, string>} [tags]
 */

/**
 * @typedef {object} Answer
 * @property {import('./outcomes.js').Outcome} outcome
 * @property {number} status 0: there was no answer
 * @property {number} ms from the request for a connection to the last byte
 * @property {number} retryAfterSeconds `Retry-After` of a 503; else 0
 * @property {string | null} body
 * @property {import('k6/http').Response} response
 */

/**
 * Members that a caller may add to a request.
 *
 * @typedef {Partial<Request>} Extras
 */

/** @param {string} key @param {string} body @param {Extras} [extras] */
export function notarize(key, body, extras) {
  return send({ ...NOTARIZE, key, body, ...extras })
}

/**
 * Does the same as `notarize`, asynchronously.
 *
 * @param {string} key
 * @param {string} body
 * @param {Extras} [extras]
 */
export function notarizeLater(key, body, extras) {
  return sendLater({ ...NOTARIZE, key, body, ...extras })
}

/** @param {string} key @param {string} body @param {number} records in the body @param {Extras} [extras] */
export function notarizeBatch(key, body, records, extras) {
  return send({ ...NOTARIZE_BATCH, key, body, records, ...extras })
}

/** @param {string} key @param {string} record its id @param {Extras} [extras] */
export function get(key, record, extras) {
  return send({ method: 'GET', path: `/v1/records/${record}`, name: 'GET /v1/records/{id}', key, ...extras })
}

/** @param {string} key @param {string} query `limit=20&actor=agt_…`, or empty @param {Extras} [extras] */
export function list(key, query, extras) {
  const path = query === '' ? '/v1/records' : `/v1/records?${query}`
  return send({ method: 'GET', path, name: 'GET /v1/records', key, ...extras })
}

/**
 * Sends a step of a gated record: `activate`, `completions`, `verdict`, `revision`, `cancel`, `overturn`.
 *
 * @param {string} key
 * @param {string} record its id
 * @param {string} step
 * @param {string} [body]
 * @param {Extras} [extras]
 */
export function step(key, record, step, body, extras) {
  const path = `/v1/records/${record}/${step}`
  return send({ method: 'POST', path, name: `POST /v1/records/{id}/${step}`, key, body, ...extras })
}

/** @param {string} key @param {string} record its id @param {string} body @param {Extras} [extras] */
export function erasePayload(key, record, body, extras) {
  const path = `/v1/records/${record}/payload`
  return send({ method: 'DELETE', path, name: 'DELETE /v1/records/{id}/payload', key, body, ...extras })
}

const NOTARIZE = /** @type {const} */ ({
  method: 'POST',
  path: '/v1/records',
  name: 'POST /v1/records',
  records: 1,
})
const NOTARIZE_BATCH = /** @type {const} */ ({
  method: 'POST',
  path: '/v1/records/batch',
  name: 'POST /v1/records/batch',
})

/**
 * Sends a request and waits for the answer.
 *
 * @param {Request} request
 * @returns {Answer}
 */
export function send(request) {
  const { method, url = baseUrl(), path, body } = request
  countSent(request)
  return judge(request, http.request(method, url + path, body ?? null, paramsOf(request)))
}

/**
 * Sends a request and resolves with the answer.
 *
 * @param {Request} request
 * @returns {Promise<Answer>}
 */
async function sendLater(request) {
  const { method, path, body } = request
  countSent(request)
  return judge(request, await http.asyncRequest(method, baseUrl() + path, body ?? null, paramsOf(request)))
}

/**
 * Sends a request as an obedient client does. After a refusal it waits for the time of `Retry-After` and sends the
 * request again. With an idempotency key, it also sends the request again after a lost connection.
 *
 * @param {Request} request
 * @returns {Answer} the last one
 */
export function sendPatiently(request) {
  let answer = send(request)
  for (let retry = 0; retry < RETRIES_MAX && mayRetry(request, answer); retry++) {
    sleep(answer.retryAfterSeconds || RETRY_AFTER_SECONDS_DEFAULT)
    retried.add(1, { name: request.name })
    answer = send(request)
  }
  return answer
}

/** @param {Request} request */
function countSent({ records = 0, name, tags }) {
  if (records > 0) sentRecords.add(records, { name, ...tags })
}

/** @param {Request} request @param {Answer} answer */
function mayRetry(request, { status }) {
  return status === 503 || (status === 0 && request.idempotencyKey !== undefined)
}

/** @param {Request} request @returns {import('k6/http').RefinedParams<import('k6/http').ResponseType>} */
function paramsOf({ key, body, name, idempotencyKey, keepBody, tags }) {
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${key}` }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey
  return {
    headers,
    tags: { name, ...tags },
    timeout: REQUEST_TIMEOUT,
    responseType: keepBody ? 'text' : 'none',
  }
}

/** @param {Request} request @param {import('k6/http').Response} response @returns {Answer} */
function judge({ name, records = 0, tags }, response) {
  const { status, timings, headers } = response
  const ms = timings.blocked + timings.duration
  return {
    outcome: countOutcome(status, ms, records, { name, ...tags }),
    status,
    ms,
    retryAfterSeconds: status === 503 ? Number(headers['Retry-After'] ?? 0) : 0,
    body: /** @type {string | null} */ (response.body),
    response,
  }
}
