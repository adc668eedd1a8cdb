import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../environment.ts'
import { SENDER_LOG } from './directory.ts'

/** Starts a sender that outlives this process. The new sender ends immediately if another sender is running. */
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
      .on('error', () => {}) // ignored: the next hook tries again
      .unref()
  } finally {
    if (log !== null) closeSync(log)
  }
}

/**
 * Opens the log. Returns null if the disk is full. The sender then starts without a log, because sending frees disk
 * space.
 */
function tryOpen(path: string): number | null {
  try {
    return openSync(path, 'w', 0o600)
  } catch {
    return null
  }
}
