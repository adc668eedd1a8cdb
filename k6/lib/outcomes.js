/*
 * Outcomes of requests: metrics of the same names in every script, because the audit and the report read them.
 */
import { Counter, Rate, Trend } from 'k6/metrics'

/** A refusal that takes longer than this is no quick one: its client could have been served in that time. */
const REFUSED_QUICKLY_MS = 20

/** Records in 2xx answers to writes: each of them is in a ledger, or the run has failed. */
const acknowledgedRecords = new Counter('acknowledged_records')
/** Records that were sent, and whose request ended without an answer that says whether they were written. */
const unansweredRecords = new Counter('unanswered_records')
/** Records that were sent, and of these the ones whose request came to an end: where k6 ends an iteration, it does not. */
export const sentRecords = new Counter('sent_records')
const settledRecords = new Counter('settled_records')
/** Duration of 2xx answers, from asking for a connection to the last byte. */
const accepted = new Trend('accepted', true)
/** The same of 503. */
const rejected = new Trend('rejected', true)
/** Anything but 2xx or a quick 503. */
const failed = new Rate('failed')
/** Requests that were sent again after a refusal or a lost connection. */
export const retried = new Counter('retried')

/**
 * How a request ended. `done`: 2xx. `refused`: 503 within 20 ms, nothing was written. `failed`: all else.
 * @typedef {'done' | 'refused' | 'failed'} Outcome
 */

/**
 * Judges an answer and counts it.
 * @param {number} status 0: there was no answer
 * @param {number} ms
 * @param {number} records that the request wanted to write; 0: it is no write
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
  // A slow 503 may be `outcome_unknown`: the connection to the database was lost while it committed.
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
