// Peerings
export const PEERS_PER_LEDGER_MAX = 1_000
export const PEER_INVITATIONS_OPEN_MAX = 100
export const PEER_INVITATION_MS_MAX = 24 * 3_600_000

// Requests of a peer
/** Largest accepted difference in ms between a peer's clock and ours, in either direction. */
export const PEER_CLOCK_WINDOW_MS = 60_000
export const PEER_REQUEST_BYTES_MAX = 4 * 1024 * 1024
/**
 * Maximum size in bytes of a request that contains the key for its own signature. Such a request is read before the
 * sender is known. It contains an identity, which has at most 3 KiB.
 */
export const PEER_INTRODUCTION_BYTES_MAX = 8 * 1024
export const PEER_ROTATIONS_BYTES_MAX = 256 * 1024
/** Maximum size in bytes of a checkpoint that has only its log's signature, together with a proof of 63 hashes. */
export const PEER_CHECKPOINT_BYTES_MAX = 32 * 1024
export const PEER_CHECKPOINT_CHARS_MAX = 24 * 1024
/**
 * Maximum length of the verifier key by which a peer cosigns. With a key of this length, a signature line has its
 * maximum length of 512 characters.
 */
export const PEER_WITNESS_KEY_CHARS_MAX = 448
/** JSON depth at which documents begin in a peer's request. */
export const PEER_DOCUMENT_DEPTH = 4
export const PEER_ENTRIES_PER_REQUEST_MAX = 500
export const PEER_TYPES_PER_REQUEST_MAX = 64
/**
 * Maximum number of key rotations in one request. All rotations that the peer has missed must fit, because the newest
 * key signs the request. A peer that has missed more can't learn the current key.
 */
export const PEER_ROTATIONS_PER_REQUEST_MAX = 128
/** Maximum number of requests per second that one peering may send on average. */
export const PEER_REQUESTS_PER_SECOND = 50
/**
 * Number of entries that count as one more request. So a peering may send 5,000 entries a second on average, and 20,000
 * entries at once.
 */
export const PEER_ENTRIES_PER_TOKEN = 100
export const PEER_REQUESTS_BURST = 200
/**
 * Number of bytes that count as one more request. So a peering may send 12 MiB a second on average. A peer that runs
 * Tallystick sends a quarter of that.
 */
export const PEER_BYTES_PER_TOKEN = 256 * 1024

// Receiving from peers
/**
 * Maximum number of peers' requests that a server appends at the same time. The requests belong to different ledgers,
 * so that slow requests of one ledger do not delay other ledgers. Each request takes an append connection. The other
 * append connections remain for local writes.
 */
export const PEER_REQUESTS_AT_ONCE = 2
/**
 * Maximum number of waiting requests of all peers. The peers of one ledger together may have half of the slots that
 * other ledgers leave.
 */
export const PEER_REQUESTS_WAITING_MAX = 64
/**
 * Maximum number of requests of one peering, running or waiting. It is twice PEER_REQUESTS_UNDER_WAY: a sender may have
 * aborted its requests and sent new ones, while the aborted requests still run here.
 */
export const PEER_REQUESTS_PER_PEERING_MAX = 4
/**
 * Maximum number of attempts to decide about a request while other requests change the same state. After the last
 * attempt the peer is told to retry later.
 */
export const PEER_DECISIONS_MAX = 3
/**
 * Maximum number of offers of one peer for one record, including accepted and refused offers. Each offer is an entry.
 * Offers beyond the limit are refused without an entry.
 */
export const PEER_OFFERS_MAX = 2_500
export const PEER_FORKS_STORED_MAX = 1_000
/**
 * Maximum number of forks that are counted for one peering or for the metrics. Each count verifies all these forks
 * again, which takes 0.1 ms per fork.
 */
export const PEER_FORKS_COUNTED_MAX = 100
/**
 * Maximum numbers of entries and bytes that a peer may store here in 24 hours, if the ledger sets no other limits. A
 * busy peering sends about 100,000 entries of 3 KB a day. The request limits alone allow 15 MB a second, which is 1.3
 * TB a day. At that rate a peer uses up this limit of bytes in five minutes.
 */
export const PEER_ENTRIES_PER_DAY = 1_000_000
export const PEER_BYTES_PER_DAY = 4 * 1024 ** 3
/**
 * Minimum and maximum of the daily limits that a ledger can set. Below the minimum a peer could send nothing, like a
 * suspended peer.
 */
export const PEER_ENTRIES_PER_DAY_MIN = 1
export const PEER_ENTRIES_PER_DAY_MAX = 1_000_000_000
export const PEER_BYTES_PER_DAY_MIN = 1_024
export const PEER_BYTES_PER_DAY_MAX = 1024 ** 5
/** Time in ms after which a peer that has used up its budget may retry. */
export const PEER_FULL_RETRY_MS = 600_000

// Sending to peers
export const PEER_ENQUEUE_EVERY_MS = 50
export const PEER_ENQUEUE_TIME_SHARE_MAX = 0.1
export const PEER_DRAINS_MAX = 64
/** Maximum number of concurrent requests to one peer. While the peer appends one request, it can check the other. */
export const PEER_REQUESTS_UNDER_WAY = 2
/**
 * Minimum number of entries for a second request while another request is under way. Fewer entries wait, because a
 * request costs as much as twenty entries.
 */
export const PEER_ENTRIES_OVERLAP_MIN = 100
/** Maximum number of jobs that wait for a worker. */
export const PEER_JOBS_QUEUED_MAX = 64
/**
 * Time in ms after which a lease expires. It is longer than a request may take, so that no other worker sends the same
 * entries meanwhile.
 */
export const PEER_LEASE_MS = 30_000
/** Maximum time in ms that a worker uses one lease. Then other peerings get the slot. */
export const PEER_LEASE_USE_MS_MAX = 60_000
/**
 * Time in ms that a lease waits for more entries. An entry that comes in this time is sent without the delay of a new
 * job.
 */
export const PEER_LINGER_MS = 1_000
export const PEER_POLL_MS = 50
/**
 * Maximum number of entries that this server puts into a request. With small documents the request is then below 512
 * KiB. The receiver's event loop parses the request once, and a thread parses it twice. A short request also shortens
 * the receiver's transaction, so other peers wait less.
 */
export const PEER_ENTRIES_SENT_MAX = 200
/**
 * Maximum number of entries in the range that one read of the chain covers. Many of these entries may not be shared
 * with the peer.
 */
export const PEER_RANGE_ENTRIES_MAX = 5_000
/**
 * Maximum size in bytes of the envelopes, documents and type definitions in a request. It is below
 * PEER_REQUEST_BYTES_MAX, because base64 makes 4 bytes of 3 and the request has other members.
 */
export const PEER_REQUEST_ENTRY_BYTES_MAX = 2_500_000
/**
 * Smallest value, in bytes, to which the size limit of requests can shrink. A single entry is sent even if it is
 * larger.
 */
export const PEER_REQUEST_ENTRY_BYTES_MIN = 1_000
/**
 * Size in bytes above which a request without an answer lowers the size limit. The link may be slow, or a proxy may cut
 * large bodies.
 */
export const PEER_REQUEST_ENTRY_BYTES_SLOW = 64 * 1024
/** Time in ms without a refusal after which larger requests are tried again. */
export const PEER_REQUEST_GROW_AFTER_MS = 600_000
/**
 * Maximum size in bytes of the answer for each entry of a request. The maximum of the whole answer is the sum, plus
 * PEER_ANSWER_BYTES_BASE. A receipt has 1.5 KiB, and no outcome is larger than this limit.
 */
export const PEER_OUTCOME_BYTES_MAX = 8 * 1024
export const PEER_ANSWER_BYTES_BASE = 64 * 1024
/** Maximum size in bytes of an answer without outcomes of entries. For example, a page of a summary has 140 KiB. */
export const PEER_PAGE_BYTES_MAX = 256 * 1024
/**
 * First pause (PEER_RETRY_MS_MIN) and longest pause (PEER_RETRY_MS_MAX) in ms after failures. Each pause is twice as
 * long as the previous pause.
 */
export const PEER_RETRY_MS_MIN = 1_000
export const PEER_RETRY_MS_MAX = 300_000
/**
 * Minimum pause in ms after an invalid answer with status 200. The pause is long because such an answer costs us more
 * than it costs the peer.
 */
export const PEER_RETRY_AFTER_NONSENSE_MS = 60_000
/** Maximum `Retry-After` of a peer that is obeyed, in ms. */
export const PEER_RETRY_AFTER_MS_MAX = 3_600_000

// Comparison of both sides
export const PEER_SUMMARY_RECORDS_MAX = 1_000
export const PEER_SUMMARY_PAGES_MAX = 100
/** Maximum number of differing records that a reconciliation lists. It counts all of them. */
export const PEER_DIFFERENCES_SHOWN_MAX = 100
/** Maximum number of dead letters that the metrics count, and maximum number of open offers that they count. */
export const PEER_MATTERS_COUNTED_MAX = 10_000
