import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../environment.ts'
import { SENDER_LOG } from './directory.ts'

/** Begins a sender that outlives this process. If there is one already, it ends at once. */
export function sendInBackground(directory: string, args: readonly string[]): void {
  const log = tryOpen(join(directory, SENDER_LOG))
  try {
    const command = [process.argv[1]!, 'flush', '--background', '--spool', directory, ...args]
    spawn(process.execPath, [...process.execArgv, ...command], {
      detached: true,
      env: environment.forSender(),
      stdio: ['ignore', 'ignore', log ?? 'ignore'],
      windowsHide: true,
    })
      .on('error', () => {}) // the next one tries again
      .unref()
  } finally {
    if (log !== null) closeSync(log)
  }
}

/** null: a full disk has no room for it, and the sender is what makes room. */
function tryOpen(path: string): number | null {
  try {
    return openSync(path, 'w', 0o600)
  } catch {
    return null
  }
}
