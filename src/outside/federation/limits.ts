// Peerings
export const PEERS_PER_LEDGER_MAX = 1_000
export const PEER_INVITATIONS_OPEN_MAX = 100
export const PEER_INVITATION_MS_MAX = 24 * 3_600_000

// Requests of a peer
/** Difference between a peer's clock and ours, either way. */
export const PEER_CLOCK_WINDOW_MS = 60_000
export const PEER_REQUEST_BYTES_MAX = 4 * 1024 * 1024
/** Request that contains its own key and is read before the sender is known. An identity has at most 3 KiB. */
export const PEER_INTRODUCTION_BYTES_MAX = 8 * 1024
export const PEER_ROTATIONS_BYTES_MAX = 256 * 1024
/** A checkpoint with one signature, its log's, and a proof of 63 hashes. */
export const PEER_CHECKPOINT_BYTES_MAX = 32 * 1024
export const PEER_CHECKPOINT_CHARS_MAX = 24 * 1024
/** Verifier key by which a peer cosigns. A signature line under it has at most 512 characters. */
export const PEER_WITNESS_KEY_CHARS_MAX = 448
/** Depth at which a document begins in a request of a peer. */
export const PEER_DOCUMENT_DEPTH = 4
export const PEER_ENTRIES_PER_REQUEST_MAX = 500
export const PEER_TYPES_PER_REQUEST_MAX = 64
/**
 * Rotations in one request. With more of them a peer could never get the current key: the newest key signs the
 * request, and all earlier rotations are in it.
 */
export const PEER_ROTATIONS_PER_REQUEST_MAX = 128
/** Requests a second of a peering, and requests at once after a pause. */
export const PEER_REQUESTS_PER_SECOND = 50
/** So many entries count as one more request: 5,000 a second in the long run, 20,000 at once. */
export const PEER_ENTRIES_PER_TOKEN = 100
export const PEER_REQUESTS_BURST = 200
/**
 * So many bytes count as one more request: 12 MiB a second in the long run. A peer that runs this server sends a
 * quarter of it.
 */
export const PEER_BYTES_PER_TOKEN = 256 * 1024

// Receiving from peers
/**
 * Requests of peers that a server appends at a time, each for another ledger, so that one ledger's slow requests
 * delay no other. Each takes an append connection, and others need the rest.
 */
export const PEER_REQUESTS_AT_ONCE = 2
/** Peers of one ledger together may have half of what the others leave. */
export const PEER_REQUESTS_WAITING_MAX = 64
/**
 * Requests of one peering, under way and waiting. An honest sender has PEER_REQUESTS_UNDER_WAY, and as many that it
 * has aborted.
 */
export const PEER_REQUESTS_PER_PEERING_MAX = 4
/** Retries of a decision when other requests decide at the same time. Then the peer is told to retry later. */
export const PEER_DECISIONS_MAX = 3
/**
 * Offers of one peer for one record, taken and refused. Each is an entry; further ones are refused without an entry.
 */
export const PEER_OFFERS_MAX = 2_500
export const PEER_FORKS_STORED_MAX = 1_000
/** Forks that are counted, of one peering or for the metrics. Each is verified each time, in 0.1 ms. */
export const PEER_FORKS_COUNTED_MAX = 100
/**
 * Entries and bytes that a peer may store here in 24 hours, unless the ledger sets others. A busy peering has some
 * 100,000 entries of 3 KB a day. At 15 MB a second, which the request limits allow, a peer uses up the bytes in five
 * minutes instead of storing 1.3 TB a day.
 */
export const PEER_ENTRIES_PER_DAY = 1_000_000
export const PEER_BYTES_PER_DAY = 4 * 1024 ** 3
/** Range that a ledger can set. Below the minimum a peer could send nothing, as if suspended. */
export const PEER_ENTRIES_PER_DAY_MIN = 1
export const PEER_ENTRIES_PER_DAY_MAX = 1_000_000_000
export const PEER_BYTES_PER_DAY_MIN = 1_024
export const PEER_BYTES_PER_DAY_MAX = 1024 ** 5
/** Retry delay for a peer that has used up its budget. */
export const PEER_FULL_RETRY_MS = 600_000

// Sending to peers
export const PEER_ENQUEUE_EVERY_MS = 50
export const PEER_ENQUEUE_TIME_SHARE_MAX = 0.1
export const PEER_DRAINS_MAX = 64
/** Requests under way to one peer: the peer checks one while it appends the other. */
export const PEER_REQUESTS_UNDER_WAY = 2
/** Entries in a request that is sent beside another. Fewer wait, because a request costs as much as twenty entries. */
export const PEER_ENTRIES_OVERLAP_MIN = 100
/** Jobs ready to be taken at once. */
export const PEER_JOBS_QUEUED_MAX = 64
/** Longer than a request may take, so that no other worker sends the same entries meanwhile. */
export const PEER_LEASE_MS = 30_000
/** After this time other peerings get the slot. */
export const PEER_LEASE_USE_MS_MAX = 60_000
/** Time that a lease waits for more entries. The next entry is then sent sooner than by a job. */
export const PEER_LINGER_MS = 1_000
export const PEER_POLL_MS = 50
/**
 * Entries that this server puts into a request. With small documents it has less than 512 KiB, which the receiver's
 * event loop parses once and a thread twice. The receiver's transaction is also shorter, and other peers wait less.
 */
export const PEER_ENTRIES_SENT_MAX = 200
/** Entries of the chain that one query searches for shared ones. */
export const PEER_RANGE_ENTRIES_MAX = 5_000
/**
 * Bytes of envelopes, documents and type definitions in a request. Base64 makes 4 bytes of 3, and there are other
 * members.
 */
export const PEER_REQUEST_ENTRY_BYTES_MAX = 2_500_000
/** Smallest limit after refusals because of size. One entry is sent even if it is larger. */
export const PEER_REQUEST_ENTRY_BYTES_MIN = 1_000
/** Requests that got no answer shrink to this size: the link may be slow, or a proxy may cut large bodies. */
export const PEER_REQUEST_ENTRY_BYTES_SLOW = 64 * 1024
/** After this time without a refusal, larger requests are tried again. */
export const PEER_REQUEST_GROW_AFTER_MS = 600_000
/** Length of an answer: so much for each entry, plus the base. A receipt has 1.5 KiB; no outcome needs more. */
export const PEER_OUTCOME_BYTES_MAX = 8 * 1024
export const PEER_ANSWER_BYTES_BASE = 64 * 1024
/** Length of any other answer. A page of a summary has 140 KiB. */
export const PEER_PAGE_BYTES_MAX = 256 * 1024
/** Pause after the first failure, and longest pause. Each pause is twice the one before. */
export const PEER_RETRY_MS_MIN = 1_000
export const PEER_RETRY_MS_MAX = 300_000
/** Minimum pause after an invalid answer with status 200: reading it cost us more than sending it cost the peer. */
export const PEER_RETRY_AFTER_NONSENSE_MS = 60_000
/** Upper bound for `Retry-After` of a peer. */
export const PEER_RETRY_AFTER_MS_MAX = 3_600_000

// Comparison of both sides
export const PEER_SUMMARY_RECORDS_MAX = 1_000
export const PEER_SUMMARY_PAGES_MAX = 100
/** Records that a reconciliation shows; it counts all. */
export const PEER_DIFFERENCES_SHOWN_MAX = 100
/** Dead letters and open offers that the metrics count. */
export const PEER_MATTERS_COUNTED_MAX = 10_000
