/*
 * Duration and load of each script, and the options that all scripts share. The profile `short` shows within seconds,
 * on any machine, that a script works. The profile `full` measures.
 */

/** @type {'short' | 'full'} */
export const PROFILE = parseProfile(__ENV.PROFILE ?? 'short')

/**
 * Times are in seconds, unless the name has another unit. A setting that is the same in both profiles is in the script
 * itself.
 */
const PROFILES = {
  'notarize-ramp': {
    short: { seconds: 10, peak: 50, usersMax: 200 },
    full: { seconds: 30, peak: 100, usersMax: 1_000 },
  },
  'batch-sustained': {
    short: { seconds: 8 },
    full: { seconds: 600 },
  },
  'dense-producers': {
    short: { seconds: 6, warmUpSeconds: 1 },
    full: { seconds: 60, warmUpSeconds: 5 },
  },
  'lifecycle-soak': {
    short: { seconds: 10 },
    full: { seconds: 300 },
  },
  'pipelined-messages': {
    // Few messages, because reading ten thousand messages back takes Postgres seconds.
    short: { seconds: 3 },
    full: { seconds: 60 },
  },
  'mixed-users': {
    short: { seconds: 3, users: [20, 60, 120] },
    // The last step is as large as the memory allows. A user takes about 0.8 MiB of k6's memory.
    full: { seconds: 20, users: [100, 500, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000] },
  },
  zipfian: {
    short: { seconds: 6, warmUpSeconds: 2, ledgers: 20, places: 100, users: 4 },
    // Few users, to leave CPU to the server. Otherwise the times would mostly contain waits for a CPU.
    full: { seconds: 60, warmUpSeconds: 15, ledgers: 100, places: 1_000, users: 16 },
  },
  overload: {
    short: {
      seconds: 4,
      searchWarmUpSeconds: 1,
      searchSeconds: 3,
      unloadedSeconds: 3,
      recoverySeconds: 5,
      usersMax: 600,
    },
    full: {
      seconds: 120,
      searchWarmUpSeconds: 5,
      searchSeconds: 15,
      unloadedSeconds: 30,
      recoverySeconds: 30,
      usersMax: 3_000,
    },
  },
  'webhooks-drain': {
    short: { ledgers: 2, backlog: 600, perSecond: 50, followers: 50, seconds: 5 },
    // With 1,000 followers and 500 records a second, each follower may take two seconds per record. 250 followers were
    // too few: all of them were busy for a moment.
    full: { ledgers: 8, backlog: 40_000, perSecond: 500, followers: 1_000, seconds: 60 },
  },
  'federation-drain': {
    short: { backlog: 300, perSecond: 20, followers: 20, seconds: 5 },
    full: { backlog: 20_000, perSecond: 100, followers: 400, seconds: 300 },
  },
  replicas: {
    short: { users: 32, warmUpSeconds: 1, seconds: 3 },
    full: { users: 128, warmUpSeconds: 5, seconds: 30 },
  },
}

/**
 * Returns the settings of a script in the current profile.
 *
 * @template {keyof typeof PROFILES} Name
 * @param {Name} name
 * @returns {(typeof PROFILES)[Name]['full']}
 */
export function profileOf(name) {
  return PROFILES[name][PROFILE]
}

/** Thresholds: every answer is a 2xx or a quick refusal, and has the expected content. */
const THRESHOLDS = { failed: ['rate==0'], checks: ['rate==1'] }

/**
 * Returns the k6 options of a script.
 *
 * @param {{ scenarios: Record<string, object>, thresholds?: Record<string, unknown[]>, [option: string]: unknown }}
 * options `thresholds` are added to the common ones; an empty list removes a common one
 */
export function makeOptions({ scenarios, thresholds = {}, ...others }) {
  const all = Object.entries({ ...THRESHOLDS, ...thresholds }).filter(([, list]) => list.length > 0)
  return {
    scenarios,
    thresholds: Object.fromEntries(all),
    discardResponseBodies: true,
    noConnectionReuse: false,
    // Only the tags that a report or a threshold reads, because each combination of tags is a series of its own.
    systemTags: ['name', 'method', 'status', 'error_code', 'scenario', 'expected_response', 'check', 'group'],
    summaryTrendStats: ['min', 'avg', 'p(50)', 'p(90)', 'p(95)', 'p(99)', 'p(99.9)', 'max', 'count'],
    setupTimeout: '300s',
    teardownTimeout: '300s',
    ...others,
  }
}

/**
 * Returns thresholds that always pass. They are needed because k6 reports the values of one tag, such as
 * `accepted{scenario:two}`, only if a threshold names the tag.
 *
 * @param {string} metric a Trend
 * @param {readonly string[]} tags `scenario:two`
 * @returns {Record<string, string[]>}
 */
export function watch(metric, tags) {
  return Object.fromEntries(tags.map((tag) => [`${metric}{${tag}}`, ['max>=0']]))
}

/**
 * The same as `watch`, for a Counter.
 *
 * @param {string} metric
 * @param {readonly string[]} tags
 * @returns {Record<string, string[]>}
 */
export function watchCount(metric, tags) {
  return Object.fromEntries(tags.map((tag) => [`${metric}{${tag}}`, ['count>=0']]))
}

/**
 * The same as `watch`, for a Rate.
 *
 * @param {string} metric
 * @param {readonly string[]} tags
 * @returns {Record<string, string[]>}
 */
export function watchRate(metric, tags) {
  return Object.fromEntries(tags.map((tag) => [`${metric}{${tag}}`, ['rate>=0']]))
}

/** @param {string} text @returns {'short' | 'full'} */
function parseProfile(text) {
  if (text === 'short' || text === 'full') return text
  throw new Error(`PROFILE is ${text}, neither short nor full`)
}
