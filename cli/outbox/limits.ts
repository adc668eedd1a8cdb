// Limits of tallystick flush, hook and mcp-proxy (docs/integrations/hooks.md, docs/integrations/mcp-proxy.md)
/** Interval in ms of polls for records of other processes, where the file system reports no changes. */
export const OUTBOX_POLL_MS = 500
/** Interval in ms at which the sender checks whether all accepted records are sent. */
export const OUTBOX_BUSY_POLL_MS = 10
/** Time in ms without work after which a sender releases the outbox, and a background sender ends. */
export const OUTBOX_IDLE_MS = 10_000
/** Time in ms in which no second background sender is started, because starting a sender takes about this long. */
export const OUTBOX_BEGINS_MS = 250
/** Delay in ms before the next attempt while another process sends from the outbox. */
export const OUTBOX_RETRY_MS = 1_000
/** Delay in ms before the next attempt after an error that only people can fix, such as a revoked key. */
export const OUTBOX_BLOCKED_MS = 15_000
/** Maximum delay in ms between attempts to reach the server. */
export const OUTBOX_DELAY_MS_MAX = 2_000
/** Time in ms in which a process does not repeat the same message. */
export const OUTBOX_REPEAT_MS = 60_000
/** Time in ms without a success after which a background sender gives up. The next hook then starts another sender. */
export const OUTBOX_BACKGROUND_MS_MAX = 120_000
/** Default of `tallystick flush --timeout`, in seconds. */
export const FLUSH_SECONDS_DEFAULT = 60
export const FLUSH_SECONDS_MAX = 86_400
/**
 * Time in ms without a sign of life after which a call counts as ended, if its process cannot be checked. That is so if
 * the proxy runs on another machine, or ran before this machine was restarted.
 */
export const CALLS_STALE_MS = 60_000
/** Interval in ms at which a proxy shows that it is alive. */
export const CALLS_BEAT_MS = 10_000
