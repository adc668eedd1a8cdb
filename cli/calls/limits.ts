// Limits of tallystick hook and mcp-proxy (docs/integrations/hooks.md, docs/integrations/mcp-proxy.md)
/**
 * Maximum length of a message that is parsed exactly, in characters. A longer message is recorded by the digest of its
 * bytes, because exact parsing takes 1.5 times as long as JSON.parse.
 */
export const MESSAGE_EXACT_CHARS_MAX = 4 * 1024 * 1024
/** Maximum nesting depth of a message. A deeper message is recorded by the digest of its bytes. */
export const MESSAGE_DEPTH_MAX = 256
/** Maximum size in bytes of the JSON on standard input of `tallystick hook`. */
export const HOOK_INPUT_BYTES_MAX = 16 * 1024 * 1024
/** Time in seconds that a call waits for its record, with --fail-closed and without --timeout. */
export const FAIL_CLOSED_SECONDS_DEFAULT = 10
export const FAIL_CLOSED_SECONDS_MAX = 300
/**
 * With --fail-closed, the host's timeout is the hook's own timeout plus this time. The margin is large because Node
 * starts slowly on a busy machine. A hook that its host ends cannot deny anything.
 */
export const HOOK_HOST_EXTRA_SECONDS = 30
