import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { temporaryDir } from '../../helpers/postgres.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Returns the path of Chromium. If Chromium is missing, throws an error that names the package to install. */
export function findChromium(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(existsSync)
  if (found) return found
  throw new Error('npm run drill -- browser needs Chromium: apt-get install chromium')
}

/**
 * Opens a page in a headless browser, and closes the browser when `done` settles. Throws if the browser ends earlier.
 * The browser runs without a sandbox, because root cannot have one, but it opens only our own pages.
 */
export async function withPage<T>(url: string, done: Promise<T>): Promise<T> {
  const child = spawn(
    findChromium(),
    [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      `--user-data-dir=${temporaryDir()}`,
      url,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  )
  let said = ''
  child.stderr.on('data', (data) => {
    said = (said + data).slice(-2_000)
  })
  const ended = new Promise<never>((_, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => reject(new Error(`Chromium ended with code ${code}: ${said}`)))
  })
  try {
    return await Promise.race([done, ended])
  } finally {
    // The browser is many processes, so the whole process group is killed.
    if (child.exitCode === null && child.pid !== undefined) {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      process.kill(-child.pid, 'SIGKILL')
      await gone
    }
    ended.catch(() => {})
  }
}
