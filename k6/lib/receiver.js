/*
 * The receiver of deliveries, which the runner started in a process of its own (bench/webhook-receiver.ts). Sends its
 * commands, and reads the list of arrived deliveries. Endpoint n is at `/n`.
 */
import http from 'k6/http'

const RECEIVER_URL = __ENV.RECEIVER_URL ?? ''

/** @param {number} number */
export function urlOf(number) {
  return `${RECEIVER_URL}/${number}`
}

/** @returns {number} of endpoints so far, which is the number of the next one */
export function countEndpoints() {
  return command({ kind: 'add', endpoints: [] })
}

/** The next endpoint; it answers at once. @param {string} secret of its webhook */
export function addEndpoint(secret) {
  command({ kind: 'add', endpoints: [{ secret, answerMs: 0 }] })
}

/** From here on arrivals are of a new window. */
export function beginWindow() {
  command({ kind: 'begin' })
}

/**
 * Since the receiver was started. `events`: each counted once for each endpoint.
 * @returns {{ requests: number, events: number, signaturesChecked: number, signaturesBad: number }}
 */
export function arrivals() {
  return command({ kind: 'read', windows: [] })
}

/** Arrivals a second at these endpoints, from the first to the last of the window. @param {readonly number[]} endpoints */
export function rateOf(endpoints) {
  const { requests, firstAtMs, lastAtMs } = command({ kind: 'read', windows: [endpoints] }).windows[0]
  return requests < 2 ? 0 : ((requests - 1) * 1000) / Math.max(1, lastAtMs - firstAtMs)
}

/** Lag of each arrival in the window, whole milliseconds since its entry's `recordedAt`. @returns {number[]} */
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
