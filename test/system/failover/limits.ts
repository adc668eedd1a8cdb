/**
 * Lifetime of the leader's key in seconds. Patroni accepts no shorter lifetime. LOOP_WAIT_SECONDS plus twice
 * RETRY_TIMEOUT_SECONDS may be at most this lifetime.
 */
export const LEADER_TTL_SECONDS = 20
export const LOOP_WAIT_SECONDS = 1
export const RETRY_TIMEOUT_SECONDS = 3
/**
 * Maximum lag in bytes with which a standby can be promoted. The limit is large, because an asynchronous cluster must
 * lose entries in this test.
 */
export const LAG_BYTES_MAX = 1024 ** 3
/** Maximum time in ms until one member leads and two members follow, after a start, a rewind or a new copy. */
export const HEALTHY_MS_MAX = 180_000
export const FAILOVER_MS_MAX = 120_000
/** Maximum time in ms of one commit of the test, which may wait for a standby. */
export const COMMIT_MS_MAX = 30_000
export const ANSWER_MS_MAX = 2_000
/**
 * Maximum time in ms between two commits of the test's own client. If the time is longer, the cluster was unavailable
 * in between.
 */
export const PROBE_GAP_MS_MAX = 1_000
export const BEYOND_MS_MAX = 3_000
/** Maximum time in ms of a server's answer to the operator, who polls for closed ledgers. */
export const OPERATOR_LOOK_MS_MAX = 10_000
