/*
 * The second organisation: a server with its own database and keys. The runner starts it for scripts that share records
 * (GUEST_URL). The script creates a ledger on each server and peers the two ledgers through the public API, as two
 * administrators would do.
 */
import { sleep } from 'k6'
import { makeLedger, post } from './deployment.js'
import { send } from './requests.js'

const PEERED_LOOKS_MAX = 600
const LOOK_EVERY_SECONDS = 0.1

/**
 * @typedef {object} Peering
 * @property {string} id `peer_…`
 * @property {import('./deployment.js').Ledger} home
 * @property {import('./deployment.js').Ledger} guest
 * @property {{ name: string, key: string }} performer an agent of the guest; `name` is its name in records of the home
 */

/**
 * Creates a ledger on each server and peers the two.
 *
 * @param {string} name
 * @returns {Peering}
 */
export function makePeering(name) {
  const { url, operatorKey } = guestServer()
  const home = makeLedger(name)
  const guest = makeLedger(`${name}-guest`, { url, operatorKey })
  const { id, invitation } = post(home.key, '/v1/peers', { name: 'guest' })
  post(guest.key, '/v1/peers', { name: 'home', invitation }, { url })
  for (const ledger of [home, guest]) awaitActive(ledger, id)
  const made = post(
    guest.key,
    '/v1/keys',
    { name: 'performer', scopes: ['records:write', 'records:read'] },
    { url },
  )
  return { id, home, guest, performer: { name: `${guest.id}/${made.agent}`, key: made.key } }
}

/**
 * Returns the ids of the two ledgers, without keys.
 *
 * @param {{ home: { id: string }, guest: { id: string } } | undefined} peering
 */
export function peeredOf(peering) {
  return peering && { home: peering.home.id, guest: peering.guest.id }
}

/**
 * Sends a GET request to a ledger's server and returns the parsed body. Throws unless the status is 200.
 *
 * @param {import('./deployment.js').Ledger} ledger
 * @param {string} path
 * @returns {any}
 */
export function readOf({ url, key }, path) {
  const name = `GET ${path.replace(/[a-z]+_[0-9a-z]{26}/g, '{id}')}`
  const { status, body, response } = send({ method: 'GET', url, path, name, key, keepBody: true })
  if (status !== 200) throw new Error(`${name} answered ${status}: ${body ?? response.error}`)
  return JSON.parse(/** @type {string} */ (body))
}

/** @param {import('./deployment.js').Ledger} ledger @param {string} peer */
function awaitActive(ledger, peer) {
  for (let look = 0; look < PEERED_LOOKS_MAX; look++) {
    if (readOf(ledger, `/v1/peers/${peer}`).state === 'active') return
    sleep(LOOK_EVERY_SECONDS)
  }
  throw new Error(`${peer} is not active: ${JSON.stringify(readOf(ledger, `/v1/peers/${peer}`))}`)
}

function guestServer() {
  const url = __ENV.GUEST_URL ?? ''
  const operatorKey = __ENV.GUEST_OPERATOR_KEY ?? ''
  if (url === '' || operatorKey === '')
    throw new Error('GUEST_URL and GUEST_OPERATOR_KEY say who the guest is: npm run bench -- k6 sets them')
  return { url, operatorKey }
}
