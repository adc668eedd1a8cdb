// Peerings
export const PEERS_PER_LEDGER_MAX = 1_000
export const PEER_INVITATIONS_OPEN_MAX = 100
export const PEER_INVITATION_MS_MAX = 24 * 3_600_000

// A request of a peer
/** Difference between a peer's clock and ours, either way. */
export const PEER_CLOCK_WINDOW_MS = 60_000
export const PEER_REQUEST_BYTES_MAX = 4 * 1024 * 1024
/** Request that brings its key along, and is read before its sender is known. An identity has 3 KiB at most. */
export const PEER_INTRODUCTION_BYTES_MAX = 8 * 1024
export const PEER_ROTATIONS_BYTES_MAX = 256 * 1024
/** A checkpoint with only its log's signature, and a proof of 63 hashes. */
export const PEER_CHECKPOINT_BYTES_MAX = 32 * 1024
export const PEER_CHECKPOINT_CHARS_MAX = 24 * 1024
/** Verifier key by which a peer cosigns: a signature line under it has 512 characters at most. */
export const PEER_WITNESS_KEY_CHARS_MAX = 448
/** How deep in a request of a peer a document begins. */
export const PEER_DOCUMENT_DEPTH = 4
export const PEER_ENTRIES_PER_REQUEST_MAX = 500
export const PEER_TYPES_PER_REQUEST_MAX = 64
/**
 * Rotations in one request. A peer that was away for longer could not be told the key: the newest signs the request, and all
 * before it come along.
 */
export const PEER_ROTATIONS_PER_REQUEST_MAX = 128
/** Requests a second of a peering, and how many may come at once after a pause. */
export const PEER_REQUESTS_PER_SECOND = 50
/** So many entries count as a request more: 5,000 a second in the long run, and 20,000 at once. */
export const PEER_ENTRIES_OF_A_REQUEST = 100
export const PEER_REQUESTS_BURST = 200
/**
 * So many bytes count as a request more: 12 MiB a second in the long run. A peer that runs this server sends a quarter
 * of it.
 */
export const PEER_BYTES_OF_A_REQUEST = 256 * 1024

// Receiving from peers
/**
 * Requests of peers that a server appends for at once, each of another ledger, so that one ledger whose requests take long holds up no
 * other. Each holds a connection that appends, of which the others need the rest.
 */
export const PEER_REQUESTS_AT_ONCE = 2
/** All peers of one ledger may have half of what the others leave. */
export const PEER_REQUESTS_WAITING_MAX = 64
/** Requests of one peering, under way and waiting: an honest sender has PEER_REQUESTS_UNDER_WAY, and has given up as many. */
export const PEER_REQUESTS_OF_ONE_MAX = 4
/** Decisions anew when other requests decide at the same time; then the peer is asked to come again. */
export const PEER_DECISIONS_MAX = 3
/** Offers of one peer to one record, taken and refused: each is an entry, and further ones are refused without one. */
export const PEER_OFFERS_MAX = 2_500
export const PEER_FORKS_KEPT_MAX = 1_000
/** Verified each time that they are counted, 0.1 ms each: for a peering, and for all in the metrics. */
export const PEER_FORKS_COUNTED_MAX = 100
/**
 * Entries and bytes that a peer may have this side store in 24 hours, unless the ledger sets others. A busy peering has some 100,000
 * entries of 3 KB a day; at the 15 MB a second that requests allow, a peer comes to the bytes in five minutes, and not to 1.3 TB a day.
 */
export const PEER_ENTRIES_PER_DAY = 1_000_000
export const PEER_BYTES_PER_DAY = 4 * 1024 ** 3
/** As far as a ledger can set them: below the first a peer could say nothing at all, as one that is suspended. */
export const PEER_ENTRIES_PER_DAY_MIN = 1
export const PEER_ENTRIES_PER_DAY_MAX = 1_000_000_000
export const PEER_BYTES_PER_DAY_MIN = 1_024
export const PEER_BYTES_PER_DAY_MAX = 1024 ** 5
/** After which a peer that has used its budget up may ask again. */
export const PEER_FULL_RETRY_MS = 600_000

// Sending to peers
export const PEER_ENQUEUE_EVERY_MS = 50
export const PEER_ENQUEUE_TIME_SHARE_MAX = 0.1
export const PEER_DRAINS_MAX = 64
/** Requests under way to one peer: it checks one while it appends the other. */
export const PEER_REQUESTS_UNDER_WAY = 2
/** Entries in a request beside another one under way: a smaller one waits, because it costs as much as twenty entries. */
export const PEER_ENTRIES_OVERLAP_MIN = 100
/** Jobs that could be taken at once. */
export const PEER_JOBS_QUEUED_MAX = 64
/** Longer than a request may take, so that nobody else sends the same meanwhile. */
export const PEER_LEASE_MS = 30_000
/** Then others have their turn. */
export const PEER_TURN_MS_MAX = 60_000
/** With nothing to send a turn waits so long for more: the next one begins sooner than a job would. */
export const PEER_LINGER_MS = 1_000
export const PEER_LOOK_EVERY_MS = 50
/**
 * Entries that this server puts into a request: with small documents it has less than 512 KiB, which the receiver's event loop parses
 * once and a thread twice. A receiver's transaction is shorter, too, and so is the turn that other peers wait for.
 */
export const PEER_ENTRIES_SENT_MAX = 200
/** Entries looked through at once in a chain that says little to a peer. */
export const PEER_STRETCH_ENTRIES_MAX = 5_000
/** Bytes of envelopes, documents and definitions of types in a request: base64 makes 4 bytes of 3, and there are other members. */
export const PEER_REQUEST_ENTRY_BYTES_MAX = 2_500_000
/** Least that such a limit falls to where requests are refused by their size: one entry is sent all the same. */
export const PEER_REQUEST_ENTRY_BYTES_MIN = 1_000
/** A request that got no answer is followed by smaller ones down to this size: a slow way, or a proxy that cuts large bodies. */
export const PEER_REQUEST_ENTRY_BYTES_SLOW = 64 * 1024
/** Without a refusal for so long larger requests are tried again. */
export const PEER_REQUEST_GROW_AFTER_MS = 600_000
/** Length of an answer: for each entry that it is about, and beside them. A receipt has 1.5 KiB; no outcome needs more. */
export const PEER_OUTCOME_BYTES_MAX = 8 * 1024
export const PEER_ANSWER_BYTES_BASE = 64 * 1024
/** Length of any other answer: a page of a summary has 140 KiB. */
export const PEER_PAGE_BYTES_MAX = 256 * 1024
/** After the first failure, and at most; each pause is twice the one before. */
export const PEER_RETRY_MS_MIN = 1_000
export const PEER_RETRY_MS_MAX = 300_000
/** At least, after an answer of 200 that is none: to read it has cost us more than it cost the peer. */
export const PEER_RETRY_AFTER_NONSENSE_MS = 60_000
/** Longest `Retry-After` of a peer that is believed. */
export const PEER_RETRY_AFTER_MS_MAX = 3_600_000

// Comparison of both sides
/** Records on one page. */
export const PEER_SUMMARY_RECORDS_MAX = 1_000
export const PEER_SUMMARY_PAGES_MAX = 100
/** Records that a reconciliation shows; it counts all of them. */
export const PEER_DIFFERENCES_SHOWN_MAX = 100
/** Dead letters, forks and open offers that the metrics count. */
export const PEER_MATTERS_COUNTED_MAX = 10_000
