/*
 * What is measured: the API processes that the runner started, and the ledgers, agents, keys and types that `setup` makes there.
 * Each function throws with the server's answer: a script that cannot be set up must not run.
 */
import http from 'k6/http'

const URLS = (__ENV.TALLYSTICK_URLS ?? '').split(',').filter((url) => url !== '')
const OPERATOR_KEY = __ENV.OPERATOR_KEY ?? ''
if (URLS.length === 0 || OPERATOR_KEY === '')
  throw new Error('TALLYSTICK_URLS and OPERATOR_KEY say what is to be measured: npm run k6 sets them')

/** The API process of this virtual user, which stays with it. */
export function baseUrl() {
  return URLS[__VU % URLS.length]
}

/**
 * @typedef {object} Ledger
 * @property {string} id `led_…`
 * @property {string} url of an API process
 * @property {string} key its first API key, with all scopes
 */

/** @param {string} name @returns {Ledger} */
export function makeLedger(name) {
  const made = post(OPERATOR_KEY, '/v1/ledgers', { name }, [201])
  return { id: made.ledger.id, url: baseUrl(), key: made.key.key }
}

/** @param {string} name each gets this name and a number @param {number} count @returns {Ledger[]} */
export function makeLedgers(name, count) {
  return Array.from({ length: count }, (_, i) => makeLedger(`${name}-${i}`))
}

/**
 * @param {Pick<Ledger, 'key'>} ledger
 * @param {{ name: string, scopes: readonly string[], agent?: string }} options without an agent it gets one of its name
 * @returns {{ id: string, agent: string, key: string }}
 */
export function makeKey({ key }, options) {
  return post(key, '/v1/keys', options, [201])
}

/** @param {Pick<Ledger, 'key'>} ledger @param {object} definition @returns {string} `name/version` */
export function registerType({ key }, definition) {
  return post(key, '/v1/types', definition, [200, 201]).type
}

/**
 * For what only one script sets up. Answers the parsed body; throws on another status.
 * @param {string} key
 * @param {string} path
 * @param {object} body
 * @param {readonly number[]} statuses
 * @returns {any}
 */
export function post(key, path, body, statuses = [200, 201]) {
  const answer = http.post(baseUrl() + path, JSON.stringify(body), {
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    tags: { name: `setup: POST ${path.replace(/[a-z]+_[0-9a-z]{26}/g, '{id}')}` },
    responseType: 'text',
  })
  if (!statuses.includes(answer.status))
    throw new Error(`POST ${path} answered ${answer.status}: ${answer.body ?? answer.error}`)
  return answer.json()
}
