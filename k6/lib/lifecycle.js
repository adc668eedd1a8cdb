/*
 * Runs gated records from creation to verdict. Each party has an API key of its own. An order with a deadline is
 * created, activated, delivered, verified by the worker, and judged. Every tenth delivery costs more than was agreed.
 * So the script knows beforehand what result each rule must have, and checks this result.
 */
import { check } from 'k6'
import { Counter, Trend } from 'k6/metrics'
import { escapeText, payload, rng, SEED } from './data.js'
import { makeKey, registerType } from './deployment.js'
import { ORDER_TYPE } from './order-type.js'
import { sendPatiently } from './requests.js'

/** Number of records whose verdict got the expected answer. */
const complete = new Counter('lifecycles_complete')
/** Number of records that were started, and were given up after an unexpected answer to a step. */
const abandoned = new Counter('lifecycles_abandoned')
/** Time from sending the creation to the answer to the verdict, including waiting. */
const wholeMs = new Trend('lifecycle', true)
/** Time from the completion's answer until the client sees the verification. */
const verifiedMs = new Trend('lifecycle_verified', true)
/** Number of times that a client polls until its completion is verified. */
const looks = new Trend('lifecycle_looks')

export const STEPS = /** @type {const} */ (['create', 'activate', 'complete', 'look', 'judge'])
const stepMs = Object.fromEntries(STEPS.map((step) => [step, new Trend(`step_${step}`, true)]))

/**
 * Maximum time in seconds that one request waits for the worker. The server answers it when the completion is verified.
 */
const WAIT_SECONDS = 20
/** Maximum number of polls. After them the completion counts as never verified. */
const LOOKS_MAX = 3
const DEADLINE_MS = 86_400_000
/** Of this many deliveries, one breaks the price rule. */
const OVERPRICED_EVERY = 10

/**
 * @typedef {object} Parties
 * @property {string} type
 * @property {string} principalKey
 * @property {string} performerKey
 * @property {string} performer agent named by the records
 */

/**
 * Registers the type and creates a performer. The ledger's first agent is the principal. For use in `setup`.
 *
 * @param {import('./deployment.js').Ledger} ledger
 * @returns {Parties}
 */
export function makeParties(ledger) {
  const performer = makeKey(ledger, { name: 'performer', scopes: ['records:write', 'records:read:own'] })
  return {
    type: registerType(ledger, ORDER_TYPE),
    principalKey: ledger.key,
    performerKey: performer.key,
    performer: performer.agent,
  }
}

/**
 * Runs one record from creation to verdict. An unexpected answer fails a check and ends the run.
 *
 * @param {Parties} parties
 * @param {number} turn number of the record within this virtual user
 * @returns {boolean} whether the record reached its verdict
 */
export function runLifecycle(parties, turn) {
  const begunAt = Date.now()
  const order = makeOrder(turn)
  const record = create(parties, order)
  const isComplete =
    record !== null &&
    activate(parties, order, record) &&
    deliver(parties, order, record) &&
    awaitVerification(parties, order, record) &&
    judge(parties, order, record)
  if (isComplete) wholeMs.add(Date.now() - begunAt)
  const counter = isComplete ? complete : abandoned
  counter.add(1)
  return isComplete
}

/**
 * @typedef {object} Order
 * @property {string} id unique in the run
 * @property {ReturnType<typeof payload>} payload
 * @property {boolean} isOverpriced
 */

/** @param {number} turn @returns {Order} */
function makeOrder(turn) {
  const random = rng(SEED, __VU, turn)
  const id = `${SEED}-${__VU}-${turn}`
  return { id, payload: payload(random, `call_${id}`), isOverpriced: (turn + __VU) % OVERPRICED_EVERY === 0 }
}

/** @param {Parties} parties @param {Order} order @returns {string | null} the record's id */
function create({ type, performer, principalKey }, order) {
  const deadline = new Date(Date.now() + DEADLINE_MS).toISOString()
  const body = { type, payload: order.payload, performer, gate: 'principal', deadline }
  const record = take('create', 'POST', '/v1/records', order, principalKey, body)
  const isCreated = record?.state === 'CREATED' && record.payload.callId === order.payload.callId
  return verdictOf('the order is created', isCreated && record.gated.performer === performer)
    ? record.id
    : null
}

/** @param {Parties} parties @param {Order} order @param {string} id */
function activate({ performerKey }, order, id) {
  const record = take('activate', 'POST', `/v1/records/${id}/activate`, order, performerKey, {})
  return verdictOf('the performer takes it on', record?.state === 'ACTIVE' && record.version === 2)
}

/** @param {Parties} parties @param {Order} order @param {string} id */
function deliver({ performerKey }, order, id) {
  const { quantity, unitPrice } = order.payload.input
  const price = order.isOverpriced ? { ...unitPrice, amount: `1${unitPrice.amount}` } : unitPrice
  const evidence = { deliveryNote: `dn_${order.id}`, quantity, unitPrice: price, sealIntact: true }
  const record = take('complete', 'POST', `/v1/records/${id}/completions`, order, performerKey, { evidence })
  return verdictOf('the completion is taken', record?.state === 'SUBMITTED' && record.version === 3)
}

/** @param {Parties} parties @param {Order} order @param {string} id */
function awaitVerification({ principalKey }, order, id) {
  const deliveredAt = Date.now()
  for (let look = 1; look <= LOOKS_MAX; look++) {
    const record = take('look', 'GET', `/v1/records/${id}?wait=${WAIT_SECONDS}`, order, principalKey)
    if (record?.state === 'SUBMITTED') continue
    verifiedMs.add(Date.now() - deliveredAt)
    looks.add(look)
    return verdictOf('the rules say what is so', isVerifiedAsItIs(record, order))
  }
  return verdictOf('the worker verifies it in time', false)
}

/** @param {any} record @param {Order} order */
function isVerifiedAsItIs(record, { isOverpriced }) {
  const rules = record?.gated?.verification?.rules
  if (
    record?.state !== (isOverpriced ? 'DISCREPANT' : 'VERIFIED') ||
    rules.length !== ORDER_TYPE.rules.length
  )
    return false
  return rules.every(
    (/** @type {{ id: string, outcome: string }} */ { id, outcome }) =>
      outcome === (isOverpriced && id === 'price' ? 'fail' : 'pass'),
  )
}

/** @param {Parties} parties @param {Order} order @param {string} id */
function judge({ principalKey }, order, id) {
  const body = order.isOverpriced
    ? { verdict: 'reject', reason: 'dearer than agreed' }
    : { verdict: 'accept' }
  const record = take('judge', 'POST', `/v1/records/${id}/verdict`, order, principalKey, body)
  const isJudged = record?.state === (order.isOverpriced ? 'REJECTED' : 'ACCEPTED') && record.version === 5
  const decision = order.isOverpriced ? 'HOLD' : 'SETTLE'
  return verdictOf('the verdict is settled', isJudged && record.gated.verdict.signal.decision === decision)
}

/**
 * Sends a step, and sends it again while the server refuses it. Returns the record, or null without a 2xx answer.
 *
 * @param {(typeof STEPS)[number]} step
 * @param {'GET' | 'POST'} method
 * @param {string} path
 * @param {Order} order
 * @param {string} key
 * @param {object} [body]
 * @returns {any}
 */
function take(step, method, path, order, key, body) {
  const answer = sendPatiently({
    method,
    path,
    name: `${method} ${path.replace(/rec_[0-9a-z]+/, '{id}')}`,
    key,
    ...(body && { body: escapeText(JSON.stringify(body)), idempotencyKey: `${order.id}-${step}` }),
    records: step === 'create' ? 1 : 0,
    keepBody: true,
  })
  stepMs[step].add(answer.ms)
  if (answer.outcome === 'done') return JSON.parse(/** @type {string} */ (answer.body))
  console.warn(
    `${step} of ${order.id} was answered ${answer.status}: ${answer.body ?? answer.response.error}`,
  )
  return null
}

/** @param {string} name @param {boolean} holds @returns {boolean} */
function verdictOf(name, holds) {
  return check(null, { [name]: () => holds })
}
