/** Events of Claude Code that become records; the ones with a tool are for all tools. */
const WITH_MATCHER = [
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PermissionRequest',
  'PermissionDenied',
]
const OTHERS = ['SubagentStart', 'SubagentStop', 'SessionStart', 'SessionEnd']

/** `hooks` of a settings file of Claude Code. `timeoutSeconds`: after which the host ends the hook; null: as the host has it. */
export function settingsOf(command: string, timeoutSeconds: number | null = null): string {
  const hooks = [{ type: 'command', command, ...(timeoutSeconds !== null && { timeout: timeoutSeconds }) }]
  const entries = [
    ...WITH_MATCHER.map((event) => [event, [{ matcher: '*', hooks }]] as const),
    ...OTHERS.map((event) => [event, [{ hooks }]] as const),
  ]
  const lines = entries.map(([event, hooks]) => `    ${JSON.stringify(event)}: ${JSON.stringify(hooks)}`)
  return `{\n  "hooks": {\n${lines.join(',\n')}\n  }\n}\n`
}
