/* Outcomes of requests. The metrics have the same names in every script, because the audit and the report read them. */
import { Counter, Rate, Trend } from 'k6/metrics'

/** Maximum time in ms of a quick refusal. In a longer time, the server could have served the client. */
const REFUSED_QUICKLY_MS = 20

/** Number of records in 2xx answers to writes. If one of them is missing in its ledger, the run has failed. */
const acknowledgedRecords = new Counter('acknowledged_records')
/** Number of records in requests whose answer does not show whether the records were written. */
const unansweredRecords = new Counter('unanswered_records')
/**
 * Number of records that were sent. `settledRecords`: number of records whose request ended. The two differ if k6 cuts
 * an iteration off.
 */
export const sentRecords = new Counter('sent_records')
const settledRecords = new Counter('settled_records')
/** Duration of 2xx answers, from the request for a connection to the last byte. */
const accepted = new Trend('accepted', true)
const rejected = new Trend('rejected', true)
/** Share of requests that got neither a 2xx nor a quick 503. */
const failed = new Rate('failed')
/** Number of requests that were sent again after a refusal or a lost connection. */
export const retried = new Counter('retried')

/**
 * How a request ended.
 *
 * - `done`: the status was 2xx.
 * - `refused`: the status was 503 within 20 ms, and nothing was written.
 * - `failed`: every other end.
 *
 * @typedef {'done' | 'refused' | 'failed'} Outcome
 */

/**
 * Judges an answer and counts it.
 *
 * @param {number} status 0 if there was no answer
 * @param {number} ms
 * @param {number} records number of records that the request should write; 0 if it does not write
 * @param {Record<string, string>} tags
 * @returns {Outcome}
 */
export function countOutcome(status, ms, records, tags) {
  const outcome = judge(status, ms)
  failed.add(outcome === 'failed', tags)
  if (status >= 200 && status < 300) {
    accepted.add(ms, tags)
    if (records > 0) acknowledgedRecords.add(records, tags)
  } else if (status === 503) rejected.add(ms, tags)
  // A slow 503 may be `outcome_unknown`, which means that the connection to the database was lost during the commit.
  const isUnknown = outcome === 'failed' && (status === 0 || status >= 500)
  if (isUnknown && records > 0) unansweredRecords.add(records, tags)
  if (records > 0) settledRecords.add(records, tags)
  return outcome
}

/**
 * @param {number} status
 * @param {number} ms
 * @returns {Outcome}
 */
function judge(status, ms) {
  if (status >= 200 && status < 300) return 'done'
  return status === 503 && ms < REFUSED_QUICKLY_MS ? 'refused' : 'failed'
}
