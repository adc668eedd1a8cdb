/** Patroni accepts no shorter lifetime of the leader's key. The sum of the other two times may be at most as long. */
export const LEADER_TTL_SECONDS = 20
export const LOOP_WAIT_SECONDS = 1
export const RETRY_TIMEOUT_SECONDS = 3
/**
 * A standby that is further behind is not promoted. The limit is large, because an asynchronous cluster must lose
 * entries in this test.
 */
export const LAG_BYTES_MAX = 1024 ** 3
/** Maximum time until one member leads and two follow, after a start, a rewind or a new copy. */
export const HEALTHY_MS_MAX = 180_000
export const FAILOVER_MS_MAX = 120_000
/** Maximum time of one commit of the test, which may wait for a standby. */
export const COMMIT_MS_MAX = 30_000
export const ANSWER_MS_MAX = 2_000
/** If the commits of the test's own client are further apart, the cluster was unavailable in between. */
export const PROBE_GAP_MS_MAX = 1_000
export const BEYOND_MS_MAX = 3_000
/** Maximum time of a server's answer to the operator, who polls for closed ledgers. */
export const OPERATOR_LOOK_MS_MAX = 10_000
