/** Patroni accepts no shorter lifetime of the leader's key. The other two together may be at most as long. */
export const LEADER_TTL_SECONDS = 20
export const LOOP_WAIT_SECONDS = 1
export const RETRY_TIMEOUT_SECONDS = 3
/**
 * A standby that is further behind is not promoted. The limit is large, because an asynchronous cluster must lose
 * something here.
 */
export const LAG_BYTES_MAX = 1024 ** 3
/** Until one member leads and two follow: a start, a rewind or a new copy. */
export const HEALTHY_MS_MAX = 180_000
/** From a fault to a commit on another primary. */
export const FAILOVER_MS_MAX = 120_000
/** One commit of the test's own, which may wait for a standby. */
export const COMMIT_MS_MAX = 30_000
export const ANSWER_MS_MAX = 2_000
/** If the probe's commits are further apart, the cluster was unavailable in between. */
export const PROBE_GAP_MS_MAX = 1_000
/** Maximum time without records while the cluster commits. */
export const BEYOND_MS_MAX = 3_000
/** Time for a server's answer to the operator, who polls for closed ledgers. */
export const OPERATOR_LOOK_MS_MAX = 10_000
