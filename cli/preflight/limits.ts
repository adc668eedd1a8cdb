// Limits of preflight (docs/operate/settings.md#preflight)
/** Maximum clock difference in ms. Above it, append_entries refuses entries. */
export const CLOCK_SKEW_MS_MAX = 30_000
export const PREFLIGHT_CLOCK_WARN_MS = 1_000
/**
 * Clock difference in ms above which the check fails. It is less than 30 s, because a drifting clock would exceed 30 s
 * before a person reacts.
 */
export const PREFLIGHT_CLOCK_FAIL_MS = 25_000
export const PREFLIGHT_GATE_MS_DEFAULT = 5
export const PREFLIGHT_ROUND_TRIPS = 200
/**
 * Number of commits with a flush, and number of commits without. On a slow disk fewer commits are measured, but at
 * least the minimum.
 */
export const PREFLIGHT_COMMITS = 300
export const PREFLIGHT_COMMITS_MIN = 20
export const PREFLIGHT_COMMITS_MS_MAX = 4_000
/** Number of samples of each clock. The most exact sample is used. */
export const PREFLIGHT_CLOCK_SAMPLES = 20
/**
 * Round-trip time in ms above which the check warns. A record waits for at least two round trips: that of its own
 * commit batch, and that of the batch before.
 */
export const PREFLIGHT_ROUND_TRIP_WARN_MS = 5
/**
 * Maximum number of characters of an answer. The number is limited, because the given address may be that of any
 * server.
 */
export const PREFLIGHT_ANSWER_CHARS_MAX = 64 * 1024
/**
 * Maximum replay delay of a standby in ms. Servers do not read from a slower standby either
 * (TALLYSTICK_REPLICA_LAG_MS_MAX).
 */
export const PREFLIGHT_REPLAY_MS_MAX = 10_000
export const PREFLIGHT_REPLAY_POLL_MS = 10
