// Limits of tallystick hook and mcp-proxy (docs/integrations/hooks.md, docs/integrations/mcp-proxy.md)
/** A longer message is recorded by the digest of its bytes, because exact parsing takes 1.5 times JSON.parse. */
export const MESSAGE_EXACT_CHARS_MAX = 4 * 1024 * 1024
/** Limit of a message's depth. A deeper message is recorded by the digest of its bytes. */
export const MESSAGE_DEPTH_MAX = 256
/** Limit of the JSON on standard input of `tallystick hook`. */
export const HOOK_INPUT_BYTES_MAX = 16 * 1024 * 1024
/** Time that a call waits for its record, with --fail-closed and without --timeout. */
export const FAIL_CLOSED_SECONDS_DEFAULT = 10
export const FAIL_CLOSED_SECONDS_MAX = 300
/**
 * With --fail-closed, the host's timeout is the hook's own timeout plus this time. The margin is large because Node
 * starts slowly on a busy machine, and a hook that its host ends denies nothing.
 */
export const HOOK_HOST_EXTRA_SECONDS = 30
