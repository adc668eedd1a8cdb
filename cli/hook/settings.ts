/** Claude Code events that are recorded and have a matcher. Events about tools match all tools. */
const WITH_MATCHER = [
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PermissionRequest',
  'PermissionDenied',
]
const OTHERS = ['SubagentStart', 'SubagentStop', 'SessionStart', 'SessionEnd']

/**
 * Returns `hooks` for a settings file of Claude Code. `timeoutSeconds`: time after which Claude Code ends the hook, or
 * null for the default of Claude Code.
 */
export function settingsOf(command: string, timeoutSeconds: number | null = null): string {
  const hooks = [{ type: 'command', command, ...(timeoutSeconds !== null && { timeout: timeoutSeconds }) }]
  const entries = [
    ...WITH_MATCHER.map((event) => [event, [{ matcher: '*', hooks }]] as const),
    ...OTHERS.map((event) => [event, [{ hooks }]] as const),
  ]
  const lines = entries.map(([event, hooks]) => `    ${JSON.stringify(event)}: ${JSON.stringify(hooks)}`)
  return `{\n  "hooks": {\n${lines.join(',\n')}\n  }\n}\n`
}
