/*
 * Client of the webhook receiver, a process that the runner starts (bench/webhook-receiver.ts). The client sends
 * commands and reads the deliveries that have arrived. Endpoint n has the path `/n`.
 */
import http from 'k6/http'

const RECEIVER_URL = __ENV.RECEIVER_URL ?? ''

/** @param {number} number */
export function urlOf(number) {
  return `${RECEIVER_URL}/${number}`
}

/** @returns {number} of endpoints so far, which is the number of the next endpoint */
export function countEndpoints() {
  return command({ kind: 'add', endpoints: [] })
}

/**
 * Adds the next endpoint. It answers deliveries without delay.
 *
 * @param {string} secret of its webhook
 */
export function addEndpoint(secret) {
  command({ kind: 'add', endpoints: [{ secret, answerMs: 0 }] })
}

/** Starts a new window. Later arrivals count in this window. */
export function beginWindow() {
  command({ kind: 'begin' })
}

/**
 * Returns counts since the receiver's start. `events`: an event counts once for each endpoint, however often it
 * arrives.
 *
 * @returns {{ requests: number, events: number, signaturesChecked: number, signaturesBad: number }}
 */
export function arrivals() {
  return command({ kind: 'read', windows: [] })
}

/**
 * Returns the arrivals per second at the given endpoints, from the first to the last arrival of the window.
 *
 * @param {readonly number[]} endpoints
 */
export function rateOf(endpoints) {
  const { requests, firstAtMs, lastAtMs } = command({ kind: 'read', windows: [endpoints] }).windows[0]
  return requests < 2 ? 0 : ((requests - 1) * 1000) / Math.max(1, lastAtMs - firstAtMs)
}

/**
 * Returns the lag of each arrival in the window: whole milliseconds since its entry's `recordedAt`.
 *
 * @returns {number[]}
 */
export function lags() {
  return command({ kind: 'lags' })
}

/** @param {object} asked a command of bench/webhook-receiver.ts @returns {any} its result */
function command(asked) {
  if (RECEIVER_URL === '')
    throw new Error('RECEIVER_URL says where deliveries go: npm run bench -- k6 sets it')
  const answer = http.put(RECEIVER_URL, JSON.stringify(asked), {
    tags: { name: 'the receiver' },
    responseType: 'text',
  })
  if (answer.status !== 200) throw new Error(`the receiver answered ${answer.status}: ${answer.error}`)
  return answer.json()
}
