/*
 * Thirty users, each with five messages in flight. Each user numbers its messages and checks three things:
 *
 * - Each answer belongs to its message.
 * - If a message was answered before another message was sent, the later message has a higher position.
 * - At the end, the user's list contains every acknowledged number exactly once, with the id of its answer.
 */
import { check, sleep } from 'k6'
import { Counter, Trend } from 'k6/metrics'
import { setTimeout } from 'k6/timers'
import { makeRecordBodies } from './lib/data.js'
import { makeKey, makeLedger } from './lib/deployment.js'
import { retried } from './lib/outcomes.js'
import { makeOptions, profileOf, watch } from './lib/profile.js'
import { list, notarizeLater } from './lib/requests.js'
import { makeSummary, measured } from './lib/summary.js'

const seconds = Number(__ENV.SECONDS ?? profileOf('pipelined-messages').seconds)
const users = 30
const inFlight = 5
/**
 * Number of messages that were answered within the duration. Messages that are answered later do not count in the rate.
 */
const inTime = new Counter('messages_in_time')
/** Time that a user needs to read all of its messages back. */
const readBackMs = new Trend('read_back', true)
/**
 * Interval in seconds at which users start to read back. Reading back is not part of the load. A server runs four
 * searches at a time, so the users start one after another.
 */
const READ_BACK_EVERY_SECONDS = 0.2
const READ_BACK_SECONDS_MAX = 600

export const options = makeOptions({
  scenarios: {
    users: {
      executor: 'per-vu-iterations',
      vus: users,
      iterations: 1,
      maxDuration: `${seconds + READ_BACK_SECONDS_MAX}s`,
    },
  },
  thresholds: {
    messages_in_time: ['count>0'],
    unanswered_records: ['count==0'],
    // Each user must finish its only iteration.
    iterations: [`count==${users}`],
    ...watch('accepted', ['name:POST /v1/records']),
  },
})

/** The number of a message is the counter in its call id: `call_0a1b2c3d_<user>.<number>`. */
const nextBody = makeRecordBodies()
const NUMBER = /^call_[0-9a-f]{8}_(\d+)\.(\d+)$/
const ID = '{"id":"'
const ID_LENGTH = 'rec_'.length + 26
const SEQ = '"seq":'
const SEQ_DIGITS_MAX = 16
const RETRIES_MAX = 10
const PAGE_RECORDS = 200

/**
 * State of one user.
 *
 * @typedef {object} User
 * @property {string} key
 * @property {string} agent
 * @property {number} endsAt
 * @property {number} sent count of numbers used so far
 * @property {(string | null)[]} ids of the answers, by number; null if the message was refused each time, or never
 *   answered
 * @property {number} seqHighest highest seq in the answers so far
 */

export function setup() {
  const ledger = makeLedger('pipelined-messages')
  const scopes = ['records:write', 'records:read:own']
  const keys = Array.from({ length: users }, (_, i) => makeKey(ledger, { name: `user-${i}`, scopes }))
  return { ledger: ledger.id, keys }
}

/** @param {ReturnType<typeof setup>} data */
export default async function ({ keys }) {
  const { key, agent } = keys[__VU - 1]
  /** @type {User} */
  const user = { key, agent, endsAt: Date.now() + seconds * 1000, sent: 0, ids: [], seqHighest: -1 }
  await Promise.all(Array.from({ length: inFlight }, () => sendMessages(user)))
  sleep(__VU * READ_BACK_EVERY_SECONDS)
  const readAt = Date.now()
  readBack(user)
  readBackMs.add(Date.now() - readAt)
}

/**
 * Sends one message after another. A user runs this function several times in parallel, once for each message in
 * flight.
 *
 * @param {User} user
 */
async function sendMessages(user) {
  while (Date.now() < user.endsAt) {
    const number = user.sent++
    const seqBefore = user.seqHighest
    const answer = await sendMessage(user, nextBody())
    user.ids[number] = null
    if (answer.outcome !== 'done') {
      console.warn(`message ${number} was answered ${answer.status}: ${answer.body ?? answer.response.error}`)
      continue
    }
    const { id, seq, isOwn } = readAnswer(/** @type {string} */ (answer.body), user, number)
    check(null, {
      "an answer is its own message's": () => isOwn,
      'a message comes after those that were answered before it': () => seq > seqBefore,
    })
    user.ids[number] = id
    user.seqHighest = Math.max(user.seqHighest, seq)
    if (Date.now() <= user.endsAt) inTime.add(1)
  }
}

/**
 * Cuts the values out of the answer's text, in the order in which the server writes them. Parsing the whole answer
 * takes k6 ten times as long (85 µs instead of 8), at 7,500 answers a second on the server's own cores.
 *
 * @param {string} body
 * @param {User} user
 * @param {number} number
 */
function readAnswer(body, { agent }, number) {
  const seqAt = body.indexOf(SEQ) + SEQ.length
  return {
    id: body.slice(ID.length, ID.length + ID_LENGTH),
    seq: Number.parseInt(body.slice(seqAt, seqAt + SEQ_DIGITS_MAX), 10),
    isOwn:
      body.startsWith(ID) &&
      body.includes(`_${__VU}.${number}"`, ID.length) &&
      body.includes(`"actor":"${agent}"`),
  }
}

/**
 * Sends a message, and sends it again after each `overloaded` answer.
 *
 * @param {User} user
 * @param {string} body
 */
async function sendMessage({ key }, body) {
  let answer = await notarizeLater(key, body, { keepBody: true })
  for (let retry = 0; retry < RETRIES_MAX && isOverloaded(answer); retry++) {
    const { retryAfterSeconds } = answer
    await new Promise((resolve) => setTimeout(resolve, retryAfterSeconds * 1000))
    retried.add(1)
    answer = await notarizeLater(key, body, { keepBody: true })
  }
  return answer
}

/**
 * Returns true if the record was refused and not written. After another 503 (`outcome_unknown`) the record may have
 * been written, so it is not sent again.
 *
 * @param {import('./lib/requests.js').Answer} answer
 */
function isOverloaded({ status, body }) {
  return status === 503 && /"code":"overloaded"/.test(body ?? '')
}

/**
 * Reads every page of this user's records, oldest first.
 *
 * @param {User} user
 */
function readBack({ key, agent, ids, sent }) {
  /** @type {Map<number, string>} */
  const found = new Map()
  let repeated = 0
  let cursor = ''
  do {
    const { outcome, status, body } = list(key, `actor=${agent}&order=asc&limit=${PAGE_RECORDS}${cursor}`, {
      keepBody: true,
    })
    if (!check(null, { 'a page of its messages is answered': () => outcome === 'done' })) {
      console.warn(`a page was answered ${status}: ${body}`)
      return
    }
    const page = JSON.parse(/** @type {string} */ (body))
    for (const { id, payload } of page.data) {
      const number = numberOf(payload)
      if (found.has(number)) repeated++
      found.set(number, id)
    }
    cursor = page.nextCursor === null ? '' : `&cursor=${encodeURIComponent(page.nextCursor)}`
  } while (cursor !== '')
  check(null, {
    'every acknowledged message is there, under the id of its answer': () =>
      ids.length === sent && ids.every((id, number) => id === null || found.get(number) === id),
    'no message is there twice': () => repeated === 0,
    'nothing is there that was not sent': () => [...found.keys()].every((number) => number < sent),
  })
}

/**
 * Returns the number of a message from its call id.
 *
 * @param {{ callId: string }} payload
 * @returns {number} NaN if the record is not a message of this user
 */
function numberOf({ callId }) {
  const [, user, number] = NUMBER.exec(callId) ?? []
  return Number(user) === __VU ? Number(number) : Number.NaN
}

export const handleSummary = makeSummary('pipelined-messages', (data) => ({
  figures: {
    rate: (measured(data, 'messages_in_time', 'count') ?? 0) / seconds,
    p50: measured(data, 'accepted{name:POST /v1/records}', 'p(50)'),
    p99: measured(data, 'accepted{name:POST /v1/records}', 'p(99)'),
  },
  extras: {
    users,
    inFlight,
    seconds,
    retried: measured(data, 'retried', 'count') ?? 0,
    readBackP99Ms: measured(data, 'read_back', 'p(99)'),
  },
}))
