/** Patroni takes no shorter time to live of the leader's key, and the other two must be together at most as long. */
export const LEADER_TTL_SECONDS = 20
export const LOOP_WAIT_SECONDS = 1
export const RETRY_TIMEOUT_SECONDS = 3
/** A standby that is further behind is not promoted. Far: an asynchronous cluster is to lose something here. */
export const LAG_BYTES_MAX = 1024 ** 3
/** Until three members stand, one leads and two follow: a start, a rewind, a new copy. */
export const HEALTHY_MS_MAX = 180_000
/** From a fault to a commit on another primary. */
export const FAILOVER_MS_MAX = 120_000
/** One commit of the soak's own, which may wait for a standby. */
export const COMMIT_MS_MAX = 30_000
/** Answers of Patroni and Postgres to this test. */
export const ANSWER_MS_MAX = 2_000
/** Commits of the probe that are further apart: the cluster was away between them. */
export const PROBE_GAP_MS_MAX = 1_000
/** While the cluster commits, until records are written again. */
export const BEYOND_MS_MAX = 3_000
/** Answer of a server to the operator, who looks for closed ledgers. */
export const OPERATOR_LOOK_MS_MAX = 10_000
