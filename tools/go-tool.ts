import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** Each is a module in a folder of its own beside this file: go.mod names the version, go.sum what it and its parts have to be. */
export const GO_TOOLS = ['helm3', 'helm4', 'helm-unittest', 'helm-docs', 'promtool', 'k6'] as const
type GoTool = (typeof GO_TOOLS)[number]

/** promtool takes ten minutes on two busy cores, and the download besides. */
const BUILD_MS_MAX = 40 * 60_000
/** Build tags: promtool without the clients of thirty clouds, some of whose modules the proxy does not have. */
const TAGS: { readonly [tool in GoTool]?: string } = { promtool: 'remove_all_sd' }
const LOCK_POLL_MS = 500

export type Place = { readonly env: NodeJS.ProcessEnv; readonly platform: string; readonly arch: string }
const HERE: Place = { env: process.env, platform: process.platform, arch: process.arch }

/**
 * The path of the tool: the one that its variable names (`HELM3=/path/to/helm`), else the cached one, else it is built of the
 * sources of the Go proxy, in the version and with the checksums that its folder pins. Two that come at once build it once.
 */
export async function installGoTool(tool: GoTool, log: (line: string) => void): Promise<string> {
  const variable = variableOf(tool)
  const given = process.env[variable]
  if (given) return requireThere(variable, resolve(given))
  const path = cachedTool(tool, pinned(tool).version, HERE)
  if (existsSync(path)) return path
  const release = await lock(`${path}.lock`, tool, log)
  try {
    if (!existsSync(path)) await build(tool, findGo(tool, process.env), path, log)
    return path
  } finally {
    release()
  }
}

/** The tool, if it needs neither to be built nor to be fetched. */
export function findGoTool(tool: GoTool): string | null {
  const path = process.env[variableOf(tool)] || cachedTool(tool, pinned(tool).version, HERE)
  return existsSync(path) ? path : null
}

/** Package that go.mod builds, and the version (without its `v`) of its module. */
export function pinned(tool: GoTool): { readonly target: string; readonly version: string } {
  const text = readFileSync(join(moduleDir(tool), 'go.mod'), 'utf8')
  const named = /^tool (\S+)$/m.exec(text)?.[1]
  // k6 has a main.go of its own, because its module's main package can't be named: it requires one module itself.
  const found = [...text.matchAll(/^\s*(?:require )?(\S+) v(\S+)(.*)$/gm)].find(([, module, , comment]) =>
    named === undefined ? !comment!.includes('indirect') : `${named}/`.startsWith(`${module}/`),
  )
  if (found === undefined) throw new Error(`tools/${tool}/go.mod requires no module of ${named ?? tool}`)
  return { target: named ?? '.', version: found[2]! }
}

/** Its folder says what it is of, so that another version or machine never finds it. */
export function cachedTool(tool: GoTool, version: string, { env, platform, arch }: Place): string {
  const cache = env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'tallystick', `${tool}-${version}-${platform}-${arch}`, tool)
}

/** Go on the PATH, or where its own installer puts it. Throws with what to do. */
export function findGo(tool: GoTool, env: NodeJS.ProcessEnv): string {
  const folders = [...(env['PATH'] ?? '').split(delimiter), '/usr/local/go/bin']
  const found = folders.map((folder) => join(folder, 'go')).find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new Error(
    `${tool} ${pinned(tool).version} is built from source, and there is no Go: install Go 1.26 or newer (https://go.dev/dl), ` +
      `or name a ${tool} that is built already with ${variableOf(tool)}=/path/to/${tool}`,
  )
}

async function build(tool: GoTool, go: string, path: string, log: (line: string) => void): Promise<void> {
  const beganAt = Date.now()
  const { target, version } = pinned(tool)
  log(`… building ${tool} ${version} with ${go}: some minutes, once`)
  const made = `${path}.${process.pid}`
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' }
  const args = ['build', '-trimpath', '-tags', TAGS[tool] ?? '', '-ldflags', '-s -w', '-o', made, target]
  try {
    await promisify(execFile)(go, args, { cwd: moduleDir(tool), env, timeout: BUILD_MS_MAX })
  } catch (error) {
    rmSync(made, { force: true })
    const { stderr = '' } = error as { stderr?: string }
    throw new Error(
      `${tool} could not be built (${go} build in tools/${tool}):\n${stderr.trim() || String(error)}`,
    )
  }
  renameSync(made, path)
  log(`  ${tool} ${version}, ${Math.round((Date.now() - beganAt) / 1000)} s, kept as ${path}`)
}

/** `HELM_UNITTEST` of helm-unittest. */
function variableOf(tool: GoTool): string {
  return tool.toUpperCase().replaceAll('-', '_')
}

function moduleDir(tool: GoTool): string {
  return join(import.meta.dirname, tool)
}

/** Looked at before minutes of work, not after them. */
function requireThere(variable: string, path: string): string {
  if (existsSync(path)) return path
  throw new Error(`${variable}=${path}: there is no such file`)
}

/** A file with the pid of whoever builds; one whose process is gone is taken over. */
async function lock(path: string, tool: GoTool, log: (line: string) => void): Promise<() => void> {
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
      if (waits === 0) log(`… another process builds ${tool} (${path}): waiting for it`)
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
