// tallystick hook, mcp-proxy (docs/hooks.md, docs/mcp-proxy.md)
/** A message that is longer is recorded by the digest of its bytes, because to read it exactly takes 1.5 times JSON.parse. */
export const MESSAGE_EXACT_CHARS_MAX = 4 * 1024 * 1024
/** A message that lies deeper is recorded by the digest of its bytes. */
export const MESSAGE_DEPTH_MAX = 256
/** JSON on the standard input of `tallystick hook`. */
export const HOOK_INPUT_BYTES_MAX = 16 * 1024 * 1024
/** How long a call waits until the ledger has it, with --fail-closed and without --timeout. */
export const FAIL_CLOSED_SECONDS_DEFAULT = 10
export const FAIL_CLOSED_SECONDS_MAX = 300
/**
 * Added to the hook's own timeout for the host's timeout, with --fail-closed: Node starts slowly on a busy machine, and a hook that its host
 * ends denies nothing.
 */
export const HOOK_HOST_EXTRA_SECONDS = 30
