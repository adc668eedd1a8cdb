/*
 * Payloads of the load scripts. They are:
 *
 * - Seeded, so that a run can be repeated. No two payloads are equal.
 * - Cheap. If k6 and the server share a machine, the server lacks the CPU time that k6 uses. Each virtual user makes a
 *   few bodies once and splits them at the counter. For each request the parts are joined with the counter.
 * - In ASCII. Other characters are escaped (`\u00fc`), as many serialisers do. Sobek, k6's JavaScript engine, stores
 *   ASCII as bytes and all other text as UTF-16. With one umlaut in 20, a batch of 1,000 (430 KB) is joined and sent in
 *   3.5 ms of k6's time.
 */

/** @type {number} */
export const SEED = Number(__ENV.SEED ?? 1)

const PAYLOAD_BYTES = 400
const BODIES_PER_USER = 8
const MARK = '\u0000'
const WORDS =
  'order checked against contract and delivery note price within tolerance sent to buyer for review'.split(
    ' ',
  )

/**
 * @typedef {object} Random
 * @property {() => number} next at least 0 and less than 1
 * @property {(from: number, to: number) => number} integer both bounds are inclusive
 * @property {<T>(choices: readonly T[]) => T} pick
 * @property {(digits: number) => string} hex
 * @property {(length: number) => string} words exactly `length` ASCII characters
 */

/**
 * mulberry32: small, seeded, not for secrets. The same arguments give the same sequence.
 *
 * @param {number} seed
 * @param {number} [vu]
 * @param {number} [iteration]
 * @returns {Random}
 */
export function rng(seed, vu = 0, iteration = 0) {
  let state =
    (Math.imul(seed, 0x9e3779b1) ^ Math.imul(vu + 1, 0x85ebca6b) ^ Math.imul(iteration + 1, 0xc2b2ae35)) >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  /** @param {number} from @param {number} to */
  const integer = (from, to) => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    integer,
    pick: (choices) => choices[integer(0, choices.length - 1)],
    hex: (digits) => Array.from({ length: digits }, () => integer(0, 15).toString(16)).join(''),
    words(length) {
      let text = ''
      while (text.length < length) text += `${WORDS[integer(0, WORDS.length - 1)]} `
      return text.slice(0, length)
    },
  }
}

/**
 * Returns one tool call of a purchasing agent: nested members, integers, decimals and some text that is not ASCII.
 *
 * @param {Random} random
 * @param {string} callId makes the payload unique
 * @param {number} [bytes] approximate length of its JSON; at least 350
 */
export function payload(random, callId, bytes = PAYLOAD_BYTES) {
  const order = {
    action: random.pick(['tool_call', 'handover', 'approval', 'lookup']),
    tool: random.pick(['purchase_order.create', 'invoice.match', 'supplier.search', 'delivery.confirm']),
    callId,
    session: `${random.hex(8)}-${random.hex(4)}-${random.hex(12)}`,
    input: {
      supplier: random.pick(['Nordwind GmbH', 'Zürcher & Söhne', 'Blue Harbor Ltd', 'Café Olé S.A.']),
      sku: `BX-${random.integer(1000, 9999)}`,
      quantity: random.integer(1, 500),
      unitPrice: { amount: `${random.integer(1, 900)}.${random.integer(10, 99)}`, currency: 'EUR' },
    },
    confidence: random.integer(1, 999) / 1000,
    latencyMs: random.integer(20, 4000),
    approved: random.integer(0, 1) === 1,
    note: '',
  }
  const missing = bytes - JSON.stringify(order).length
  return { ...order, note: random.words(Math.max(0, missing)) }
}

/**
 * Returns a generator of `POST /v1/records` bodies for this virtual user.
 *
 * @param {{ type?: string, bytes?: number }} [options]
 * @returns {() => string}
 */
export function makeRecordBodies({ type = 'generic/1', bytes } = {}) {
  return cycle((random) =>
    JSON.stringify({ type, payload: payload(random, `call_${random.hex(8)}_${MARK}`, bytes) }),
  )
}

/**
 * Returns a generator of `POST /v1/records/batch` bodies. Each item has a different pair of item number and batch
 * counter.
 *
 * @param {number} items
 * @param {{ type?: string, bytes?: number }} [options]
 * @returns {() => string}
 */
export function makeBatchBodies(items, { type = 'generic/1', bytes } = {}) {
  return cycle((random) => {
    // The items are numbered copies of ITEM_KINDS items. With 64 producers, generating each item separately would take
    // k6 seconds at its start.
    const kinds = Array.from({ length: ITEM_KINDS }, () =>
      JSON.stringify({ type, payload: payload(random, `call_${random.hex(8)}_${MARK}_${ITEM_MARK}`, bytes) }),
    )
    const records = Array.from({ length: items }, (_, i) =>
      kinds[i % ITEM_KINDS].replace(ITEM_MARK, String(i)),
    )
    return `{"records":[${records.join(',')}]}`
  }, 1)
}

const ITEM_KINDS = 16
const ITEM_MARK = '<item>'

/**
 * Returns a generator that cycles through the bodies. They are made on first use, because k6 runs the top level of a
 * script in one more virtual user, which sends nothing.
 *
 * @param {(random: Random) => string} make
 * @param {number} [count] number of different bodies
 * @returns {() => string}
 */
function cycle(make, count = BODIES_PER_USER) {
  /** @type {string[][] | null} */
  let bodies = null
  let turn = 0
  return () => {
    bodies ??= makeTemplates(make, count)
    const counter = `${__VU}.${turn}`
    return bodies[turn++ % count].join(counter)
  }
}

/** @param {(random: Random) => string} make @param {number} count @returns {string[][]} */
function makeTemplates(make, count) {
  const random = rng(SEED, __VU)
  return Array.from({ length: count }, () => escapeText(make(random)).split('\\u0000'))
}

/**
 * Returns the same JSON in ASCII.
 *
 * @param {string} json
 * @returns {string}
 */
export function escapeText(json) {
  return json.replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
