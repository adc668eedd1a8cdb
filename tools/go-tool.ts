import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

/** Commands that tests need and that are built from source, because no package registry has them. */
export const GO_TOOLS = {
  helm3: { module: 'helm.sh/helm/v3', version: '3.22.0', command: '/cmd/helm' },
  helm4: { module: 'helm.sh/helm/v4', version: '4.3.1', command: '/cmd/helm' },
  'helm-unittest': {
    module: 'github.com/helm-unittest/helm-unittest',
    version: '1.0.0',
    command: '/cmd/helm-unittest',
  },
  // The version 0.316 of the Go module is Prometheus 3.16.
  promtool: { module: 'github.com/prometheus/prometheus', version: '0.316.0', command: '/cmd/promtool' },
  // An S3 server that stores objects in a directory, with Object Lock and conditional writes.
  versitygw: { module: 'github.com/versity/versitygw', version: '1.8.0', command: '/cmd/versitygw' },
  k6: { module: 'go.k6.io/k6/v2', version: '2.2.0', command: '' },
} as const
type GoTool = keyof typeof GO_TOOLS

/** Maximum time of a build in ms. promtool takes ten minutes on two busy cores, plus the download. */
const BUILD_MS_MAX = 40 * 60_000
/**
 * A build tag of Prometheus. It leaves out the clients of thirty clouds, because the proxy lacks some of their
 * modules.
 */
const TAGS = 'remove_all_sd'

export type ToolTarget = { readonly env: NodeJS.ProcessEnv; readonly platform: string; readonly arch: string }
const HERE: ToolTarget = { env: process.env, platform: process.platform, arch: process.arch }

/**
 * Returns the path of a tool. The first of these that exists is used: the path in the tool's variable
 * (`HELM3=/path/to/helm`), the tool in the cache, or a build from sources of the Go proxy. The tool's version in
 * GO_TOOLS determines the versions of its dependencies. Go checks all of them against its checksum database.
 */
export async function installGoTool(tool: GoTool, log: (line: string) => void): Promise<string> {
  const configured = process.env[variableOf(tool)]
  if (configured && !existsSync(configured))
    throw new Error(`${variableOf(tool)}=${configured}: there is no such file`)
  const found = findGoTool(tool)
  if (found !== null) return found
  const path = cachedTool(tool, HERE)
  await build(tool, findGo(process.env), path, log)
  return path
}

/** Returns the path of a tool that needs no build, or null if the tool must be built. */
export function findGoTool(tool: GoTool): string | null {
  const path = process.env[variableOf(tool)] || cachedTool(tool, HERE)
  return existsSync(path) ? resolve(path) : null
}

/**
 * Returns the path in the cache. The folder's name contains version and platform, so that no other version or machine
 * uses the same folder.
 */
export function cachedTool(tool: GoTool, { env, platform, arch }: ToolTarget): string {
  const cache = env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'tallystick', `${tool}-${GO_TOOLS[tool].version}-${platform}-${arch}`, tool)
}

/** Finds Go on the PATH, or where its installer puts it. Throws an error that says what to do. */
export function findGo(env: NodeJS.ProcessEnv): string {
  const folders = [...(env['PATH'] ?? '').split(delimiter), '/usr/local/go/bin']
  const found = folders.map((folder) => join(folder, 'go')).find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new Error(
    'k6, Helm and promtool are built from source, but there is no Go: install Go 1.26 or newer (https://go.dev/dl), ' +
      'or give the path of a built one (K6=/path/to/k6; likewise HELM3, HELM4, HELM_UNITTEST, PROMTOOL)',
  )
}

/** Builds a tool. If two builds run at the same time, both do the work, and the result of the later build stays. */
async function build(tool: GoTool, go: string, path: string, log: (line: string) => void): Promise<void> {
  const beganAt = Date.now()
  const { module, version, command } = GO_TOOLS[tool]
  log(`… building ${tool} ${version} with ${go}: takes some minutes, only once`)
  // The version is pinned in a go.mod. `go install` would also ask the proxy for the newest version, and the proxy does
  // not have a list of versions for every module.
  const dir = mkdtempSync(join(tmpdir(), `tallystick-${tool}-`))
  writeFileSync(
    join(dir, 'go.mod'),
    `module tallystick/${tool}\n\ngo 1.26\n\nrequire ${module} v${version}\n`,
  )
  const made = `${path}.${process.pid}`
  const options = ['-mod=mod', '-trimpath', '-tags', TAGS, '-ldflags', '-s -w', '-o', made]
  try {
    mkdirSync(dirname(path), { recursive: true })
    await promisify(execFile)(go, ['build', ...options, `${module}${command}`], {
      cwd: dir,
      env: buildEnvironment(process.env),
      timeout: BUILD_MS_MAX,
    })
    renameSync(made, path)
  } catch (error) {
    rmSync(made, { force: true })
    const { stderr = '' } = error as { stderr?: string }
    throw new Error(`${tool} ${version} could not be built:\n${stderr.trim() || String(error)}`)
  } finally {
    rmSync(dir, { recursive: true })
  }
  log(`  ${tool} ${version}, ${Math.round((Date.now() - beganAt) / 1000)} s, stored as ${path}`)
}

/**
 * Returns the environment without settings for other builds. GOSUMDB=off would accept unverified sources, and
 * GOFLAGS=-mod=vendor would break the build. The variables are set to be empty. Go treats an empty variable as unset,
 * so `go env -w` still applies.
 */
export function buildEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, ...Object.fromEntries(NOT_INHERITED.map((name) => [name, ''])), CGO_ENABLED: '0' }
}

const NOT_INHERITED = ['GOFLAGS', 'GOSUMDB', 'GONOSUMDB', 'GOPRIVATE', 'GOINSECURE', 'GOWORK']

/** Returns the name of a tool's variable, such as `HELM_UNITTEST` for helm-unittest. */
function variableOf(tool: GoTool): string {
  return tool.toUpperCase().replaceAll('-', '_')
}
