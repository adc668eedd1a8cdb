// Preflight (docs/preflight.md)
/** Clock difference that append_entries refuses: signed further than this off the database's clock. */
export const CLOCK_SKEW_MS_MAX = 30_000
export const PREFLIGHT_CLOCK_WARN_MS = 1_000
/** Not 30 s: a clock that drifts is past it before somebody has looked. */
export const PREFLIGHT_CLOCK_FAIL_MS = 25_000
export const PREFLIGHT_GATE_MS_DEFAULT = 5
export const PREFLIGHT_ROUND_TRIPS = 200
/** With and without a flush. A slow disk gets fewer, and at least so many. */
export const PREFLIGHT_COMMITS = 300
export const PREFLIGHT_COMMITS_MIN = 20
export const PREFLIGHT_COMMITS_MS_MAX = 4_000
/** Samples of each clock: the best one counts. */
export const PREFLIGHT_CLOCK_SAMPLES = 20
/** A record waits for two at least: its own, and that of the batch before it. */
export const PREFLIGHT_ROUND_TRIP_WARN_MS = 5
/** Length of a server's answer, which may be anybody's. */
export const PREFLIGHT_ANSWER_CHARS_MAX = 64 * 1024
/** A standby that takes longer to replay what the primary has is not read by servers either (TALLYSTICK_REPLICA_LAG_MS_MAX). */
export const PREFLIGHT_REPLAY_MS_MAX = 10_000
export const PREFLIGHT_REPLAY_POLL_MS = 10
