/*
 * The measured deployment: API processes that the runner started, and the ledgers, agents, keys and types that `setup`
 * creates. A function throws an error with the server's answer if a request fails, so that the script stops.
 */
import http from 'k6/http'

const URLS = (__ENV.TALLYSTICK_URLS ?? '').split(',').filter((url) => url !== '')
const OPERATOR_KEY = __ENV.OPERATOR_KEY ?? ''
if (URLS.length === 0 || OPERATOR_KEY === '')
  throw new Error(
    'TALLYSTICK_URLS and OPERATOR_KEY say what is to be measured: npm run bench -- k6 sets them',
  )

const SUCCESSES = [200, 201, 202]

/** Returns the URL of this virtual user's API process. It stays the same for the whole run. */
export function baseUrl() {
  return URLS[__VU % URLS.length]
}

/**
 * @typedef {object} Ledger
 * @property {string} id `led_…`
 * @property {string} url of an API process
 * @property {string} key its first API key, with all scopes
 */

/**
 * @param {string} name
 * @param {{ url: string, operatorKey: string }} [server] default: the measured server
 * @returns {Ledger}
 */
export function makeLedger(name, { url, operatorKey } = { url: baseUrl(), operatorKey: OPERATOR_KEY }) {
  const made = post(operatorKey, '/v1/ledgers', { name }, { statuses: [201], url })
  return { id: made.ledger.id, url, key: made.key.key }
}

/**
 * @param {string} name prefix of each ledger's name; a number follows
 * @param {number} count
 * @returns {Ledger[]}
 */
export function makeLedgers(name, count) {
  return Array.from({ length: count }, (_, i) => makeLedger(`${name}-${i}`))
}

/**
 * @param {Pick<Ledger, 'key'>} ledger
 * @param {{ name: string, scopes: readonly string[], agent?: string }} options without `agent`, an agent called
 * `name` is created
 * @returns {{ id: string, agent: string, key: string }}
 */
export function makeKey({ key }, options) {
  return post(key, '/v1/keys', options, { statuses: [201] })
}

/** @param {Pick<Ledger, 'key'>} ledger @param {object} definition @returns {string} `name/version` */
export function registerType({ key }, definition) {
  return post(key, '/v1/types', definition).type
}

/**
 * Sends a setup request and returns the parsed body. Throws if the status is not one of `statuses`.
 *
 * @param {string} key
 * @param {string} path
 * @param {object} body
 * @param {{ statuses?: readonly number[], url?: string }} [options] `url`: by default the URL of the measured server
 * @returns {any}
 */
export function post(key, path, body, { statuses = SUCCESSES, url = baseUrl() } = {}) {
  const answer = http.post(url + path, JSON.stringify(body), {
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    tags: { name: `setup: POST ${path.replace(/[a-z]+_[0-9a-z]{26}/g, '{id}')}` },
    responseType: 'text',
  })
  if (!statuses.includes(answer.status))
    throw new Error(`POST ${path} answered ${answer.status}: ${answer.body ?? answer.error}`)
  return answer.json()
}
