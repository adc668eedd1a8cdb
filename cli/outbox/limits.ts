// tallystick flush, hook, mcp-proxy (docs/hooks.md, docs/mcp-proxy.md)
/** Between looks for what other processes have put there, where the file system does not tell. */
export const OUTBOX_POLL_MS = 500
/** Between looks whether what was taken is sent. */
export const OUTBOX_BUSY_POLL_MS = 10
/** Without work a sender lets others have the outbox; one in the background ends. */
export const OUTBOX_IDLE_MS = 10_000
/** A sender in the background takes longer to begin: another one is not begun meanwhile. */
export const OUTBOX_BEGINS_MS = 250
/** Before another look at an outbox that another process sends from. */
export const OUTBOX_RETRY_MS = 1_000
/** Before another try at what only people can mend, such as a revoked key. */
export const OUTBOX_BLOCKED_MS = 15_000
/** Between attempts to reach a server that is away. */
export const OUTBOX_DELAY_MS_MAX = 2_000
/** Between two times at which a process says the same. */
export const OUTBOX_SAID_AGAIN_MS = 60_000
/** A sender in the background gives up so long after the last success; the next hook begins another one. */
export const OUTBOX_BACKGROUND_MS_MAX = 120_000
/** `tallystick flush` without `--timeout`. */
export const FLUSH_SECONDS_DEFAULT = 60
export const FLUSH_SECONDS_MAX = 86_400
/** A call whose proxy lives on another machine or before a restart of this one is over after this silence. */
export const CALLS_STALE_MS = 60_000
/** Between signs of life of a proxy. */
export const CALLS_BEAT_MS = 10_000
