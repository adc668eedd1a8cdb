/* Outcomes of requests. The metrics have the same names in every script, because the audit and the report read them. */
import { Counter, Rate, Trend } from 'k6/metrics'

/** A refusal within this time is quick. In a longer time, the client could have been served. */
const REFUSED_QUICKLY_MS = 20

/** Records in 2xx answers to writes. If one of them is missing in its ledger, the run has failed. */
const acknowledgedRecords = new Counter('acknowledged_records')
/** Records sent in requests that ended without an answer that shows whether they were written. */
const unansweredRecords = new Counter('unanswered_records')
/** Records that were sent, and records whose request came to an end. The two differ where k6 cuts an iteration off. */
export const sentRecords = new Counter('sent_records')
const settledRecords = new Counter('settled_records')
/** Duration of 2xx answers, from the request for a connection to the last byte. */
const accepted = new Trend('accepted', true)
const rejected = new Trend('rejected', true)
/** Share of requests that got neither a 2xx nor a quick 503. */
const failed = new Rate('failed')
/** Requests that were sent again after a refusal or a lost connection. */
export const retried = new Counter('retried')

/**
 * How a request ended.
 *
 * - `done`: 2xx.
 * - `refused`: 503 within 20 ms, nothing was written.
 * - `failed`: everything else.
 *
 * @typedef {'done' | 'refused' | 'failed'} Outcome
 */

/**
 * Judges an answer and counts it.
 *
 * @param {number} status 0: there was no answer
 * @param {number} ms
 * @param {number} records that the request should write; 0: it is no write
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
  // A slow 503 may be `outcome_unknown`: the connection to the database was lost during the commit.
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
