import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const MODULE_DIR = resolve(import.meta.dirname, '..', '..', 'tools', 'k6')
/** On two busy cores it takes five minutes, on quiet ones one and a half, and the download besides. */
const BUILD_MS_MAX = 20 * 60_000
const LOCK_POLL_MS = 500

type Place = { readonly env: NodeJS.ProcessEnv; readonly platform: string; readonly arch: string }
const HERE: Place = { env: process.env, platform: process.platform, arch: process.arch }

/**
 * The path of k6: the one that `K6` names, else the cached one, else it is built, of the version and with the checksums that
 * tools/k6 pins, from the sources of the Go proxy. Two that come at once build it once.
 */
export async function installK6(log: (line: string) => void): Promise<string> {
  const given = process.env['K6']
  if (given) return requireRunning(resolve(given))
  const path = cachedK6(pinnedVersion(), HERE)
  if (existsSync(path)) return path
  const release = await lock(`${path}.lock`, log)
  try {
    if (!existsSync(path)) await build(findGo(process.env), path, log)
    return path
  } finally {
    release()
  }
}

/** k6, if it needs neither to be built nor to be fetched. */
export function findK6(): string | null {
  const path = process.env['K6'] || cachedK6(pinnedVersion(), HERE)
  return existsSync(path) ? path : null
}

/** The version that go.mod requires, without its `v`. */
export function pinnedVersion(): string {
  const text = readFileSync(join(MODULE_DIR, 'go.mod'), 'utf8')
  const version = /^\s*(?:require )?go\.k6\.io\/k6\/v2 v(\S+)$/m.exec(text)?.[1]
  if (version === undefined) throw new Error('tools/k6/go.mod requires no go.k6.io/k6/v2')
  return version
}

/** Its folder says what it is of, so that another version or machine never finds it. */
export function cachedK6(version: string, { env, platform, arch }: Place): string {
  const cache = env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'tallystick', `k6-${version}-${platform}-${arch}`, 'k6')
}

/** Go on the PATH, or where its own installer puts it. Throws with what to do. */
export function findGo(env: NodeJS.ProcessEnv): string {
  const folders = [...(env['PATH'] ?? '').split(delimiter), '/usr/local/go/bin']
  const found = folders.map((folder) => join(folder, 'go')).find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new Error(
    `k6 ${pinnedVersion()} is built from source, and there is no Go: install Go 1.25 or newer (https://go.dev/dl), or name a ` +
      'k6 that is built already with K6=/path/to/k6',
  )
}

async function build(go: string, path: string, log: (line: string) => void): Promise<void> {
  const beganAt = Date.now()
  log(`… building k6 ${pinnedVersion()} with ${go}: some minutes, once`)
  const made = `${path}.${process.pid}`
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' }
  const args = ['build', '-trimpath', '-ldflags', '-s -w', '-o', made, '.']
  try {
    await promisify(execFile)(go, args, { cwd: MODULE_DIR, env, timeout: BUILD_MS_MAX })
  } catch (error) {
    rmSync(made, { force: true })
    const { stderr = '' } = error as { stderr?: string }
    throw new Error(`k6 could not be built (${go} build in tools/k6):\n${stderr.trim() || String(error)}`)
  }
  // One that does not run is not kept.
  const version = describeK6(made)
  renameSync(made, path)
  log(`  ${version}, ${Math.round((Date.now() - beganAt) / 1000)} s, kept as ${path}`)
}

/** Looked at before minutes of work, not after them. */
function requireRunning(path: string): string {
  try {
    describeK6(path)
    return path
  } catch (error) {
    throw new Error(`K6=${path} does not run (${(error as Error).message})`)
  }
}

/** What it says of itself: `k6 v2.2.0 (go1.26.8, linux/amd64)`. */
export function describeK6(path: string): string {
  return execFileSync(path, ['version'], { encoding: 'utf8' }).split('\n', 1)[0]!.trim()
}

/** A file with the pid of whoever builds; one whose process is gone is taken over. */
async function lock(path: string, log: (line: string) => void): Promise<() => void> {
  mkdirSync(resolve(path, '..'), { recursive: true })
  for (let waits = 0; ; waits++) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' })
      return () => rmSync(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    if (isAbandoned(path)) rmSync(path, { force: true })
    else {
      if (waits === 0) log(`… another process builds k6 (${path}): waiting for it`)
      await sleep(LOCK_POLL_MS)
    }
  }
}

function isAbandoned(path: string): boolean {
  try {
    if (Date.now() - statSync(path).mtimeMs > BUILD_MS_MAX) return true
    process.kill(Number(readFileSync(path, 'utf8')), 0)
    return false
  } catch (error) {
    // EPERM: it lives, under another user.
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
