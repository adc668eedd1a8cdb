/*
 * Runs a record that two organisations share from creation to verdict. The home creates the record. An agent of the
 * guest activates and delivers it at the guest's server. The home's worker verifies the delivery, and the home accepts
 * it. After each step the script waits until the other side shows the step.
 */
import { check, sleep } from 'k6'
import http from 'k6/http'
import { Counter, Trend } from 'k6/metrics'
import { escapeText, payload, rng, SEED } from './data.js'
import { sendPatiently } from './requests.js'

/** Number of records whose acceptance the guest saw. */
const complete = new Counter('shared_complete')
const abandoned = new Counter('shared_abandoned')
/** Time from sending the creation until the guest sees the verdict, including waiting. */
const wholeMs = new Trend('shared_lifecycle', true)

const WAIT_SECONDS = 20
/**
 * Interval in seconds of polls until the record arrives at the guest. Before that, a request cannot wait for a change
 * of the record and is answered immediately.
 */
const LOOK_EVERY_SECONDS = 0.1
const AWAITED_MS_MAX = 60_000

/**
 * Runs one record to its end. An unexpected answer fails a check and ends the run.
 *
 * @param {import('./guest.js').Peering} peering
 * @param {number} turn number of the record within this virtual user
 */
export function runSharedLifecycle({ id: peer, home, guest, performer }, turn) {
  const begunAt = Date.now()
  const order = `${SEED}-shared-${__VU}-${turn}`
  const evidence = { delivered: order, sealIntact: true }
  const record = takeStep('the order is created', order, 'create', home, '', {
    type: 'task/1',
    payload: payload(rng(SEED, __VU, turn), `call_${order}`),
    performer: performer.name,
    share: [{ peer, documents: 'whole' }],
  })
  const path = record === null ? '' : `/${record.id}`
  const agent = { ...guest, key: performer.key }
  const isComplete =
    record !== null &&
    awaitState(guest, path, 'CREATED') &&
    takeStep('the remote agent offers to take it on', order, 'activate', agent, `${path}/activate`, {}) &&
    awaitState(guest, path, 'ACTIVE') &&
    takeStep('… and its delivery', order, 'complete', agent, `${path}/completions`, { evidence }) &&
    awaitState(home, path, 'VERIFIED') &&
    takeStep('the verdict is taken', order, 'judge', home, `${path}/verdict`, { verdict: 'accept' }) &&
    awaitState(guest, path, 'ACCEPTED')
  if (isComplete) wholeMs.add(Date.now() - begunAt)
  const counter = isComplete ? complete : abandoned
  counter.add(1)
}

/**
 * Takes a step.
 *
 * @param {string} name
 * @param {string} order
 * @param {string} step
 * @param {Pick<import('./deployment.js').Ledger, 'url' | 'key'>} party
 * @param {string} path after `/v1/records`
 * @param {object} body
 * @returns {any} the answer's body, or null if the answer was not 2xx
 */
function takeStep(name, order, step, { url, key }, path, body) {
  const answer = sendPatiently({
    method: 'POST',
    url,
    path: `/v1/records${path}`,
    name: `shared: ${step}`,
    key,
    body: escapeText(JSON.stringify(body)),
    idempotencyKey: `${order}-${step}`,
    records: step === 'create' ? 1 : 0,
    keepBody: true,
  })
  const isDone = check(null, { [name]: () => answer.outcome === 'done' })
  if (isDone) return JSON.parse(/** @type {string} */ (answer.body))
  console.warn(`${step} of ${order} was answered ${answer.status}: ${answer.body ?? answer.response.error}`)
  return null
}

/**
 * Waits until the given server shows the record in `state`. The server answers each request when the record changes.
 */
function awaitState(
  /** @type {import('./deployment.js').Ledger} */ { url, key },
  /** @type {string} */ path,
  /** @type {string} */ state,
) {
  let seen = 'nothing'
  let version = ''
  for (const giveUpAt = Date.now() + AWAITED_MS_MAX; Date.now() < giveUpAt; ) {
    const answer = http.get(`${url}/v1/records${path}?wait=${WAIT_SECONDS}`, {
      headers: { Authorization: `Bearer ${key}`, ...(version && { 'If-None-Match': version }) },
      tags: { name: 'shared: look' },
      responseType: 'text',
      responseCallback: LOOK,
    })
    if (answer.status === 304) continue
    seen = answer.status === 200 ? String(answer.json('state')) : `${answer.status}`
    if (seen === state) return true
    version = answer.headers['Etag'] ?? ''
    if (answer.status !== 200) sleep(LOOK_EVERY_SECONDS)
  }
  console.warn(`${path} is not ${state}, but ${seen}`)
  return check(null, { 'the other side sees it in time': () => false })
}

const LOOK = http.expectedStatuses(200, 304, 404)
