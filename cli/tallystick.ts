#!/usr/bin/env node
// The hook is handled first, and loads nothing that only other commands need, not even the standard streams. A coding
// agent waits for each of its hooks.
const [name, ...rest] = process.argv.slice(2)
if (name === 'hook') {
  const { runHook } = await import('./commands/hook.ts')
  process.exitCode = await runHook(rest)
} else {
  const { runAsProcess } = await import('./process.ts')
  await runAsProcess(process.argv.slice(2))
}
