/*
 * npm run release -- VERSION [--dry-run]
 *
 * Makes a release. It writes the version into manifests, chart and pages. It turns the changelog's unreleased section
 * into a section of that version. Then it commits and tags. In dist/release it makes the packages (npm with the
 * adapters, and Python), the chart, the SBOM, the image (if there is a container engine) and SHA256SUMS.
 *
 * It pushes and publishes nothing. With --dry-run it works in a copy of this commit and leaves this folder unchanged.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'
import { installGoTool } from './go-tool.ts'
import { npm, packAdapters, packAll, packPython } from './pack.ts'

/** Files that contain the version. Each has the texts before and after the version. */
const VERSIONED: Readonly<Record<string, readonly [before: string, after: string]>> = {
  'package.json': ['"version": "', '"'],
  'sdk/package.json': ['"version": "', '"'],
  'cli/package.json': ['"version": "', '"'],
  'python/pyproject.toml': ['version = "', '"'],
  'python/src/tallystick/__init__.py': ["__version__ = '", "'"],
  'docs/start/tour.md': ['tallystick-sdk-', '.tgz'],
  'sdk/README.md': ['tallystick-sdk-', '.tgz'],
  'cli/README.md': ['tallystick-', '.tgz'],
  'docs/start/guide.md': ['-', '.tgz'],
  'docs/reference/cli.md': ['tallystick-', '.tgz'],
  'docs/operate/image.md': ['tallystick:', ' .'],
}
const UNRELEASED = '## [Unreleased]\n'

const [version = '', ...flags] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(version) || flags.some((flag) => flag !== '--dry-run')) {
  console.error('usage: npm run release -- VERSION [--dry-run], for example 1.2.3')
  process.exitCode = 64
} else if (flags.length === 0) {
  await release()
} else {
  const copy = mkdtempSync(join(tmpdir(), 'tallystick-release-'))
  git(ROOT, 'clone', '-q', ROOT, copy)
  for (const folder of ['node_modules', 'adapters/node_modules'])
    if (existsSync(join(ROOT, folder))) symlinkSync(join(ROOT, folder), join(copy, folder))
  execFileSync(process.execPath, [join(copy, 'tools/release.ts'), version], { stdio: 'inherit' })
  cpSync(join(copy, 'dist/release'), join(ROOT, 'dist/release'), { recursive: true })
  rmSync(copy, { recursive: true })
  console.log('dry run: nothing was committed or tagged here')
}

async function release(root = ROOT): Promise<void> {
  if (git(root, 'status', '--porcelain', '--untracked-files=no') !== '')
    throw new Error('there are uncommitted changes')
  if (git(root, 'tag', '--list', `v${version}`) !== '') throw new Error(`the tag v${version} exists already`)
  writeVersions(root)
  writeChangelog(root)
  git(root, 'commit', '-q', '-am', `release: ${version}`)
  git(root, 'tag', '-a', `v${version}`, '-m', version)
  const dir = join(root, 'dist', 'release')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  await packAll(dir)
  await packAdapters(dir)
  await packPython(dir)
  const helm = await installGoTool('helm4', console.log)
  makeChart(helm, root, dir)
  const sbom = await npm(['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'], root)
  writeFileSync(join(dir, `tallystick-${version}.cdx.json`), sbom)
  makeImage(root)
  writeChecksums(dir)
  console.log(`v${version} is in ${dir}:\n${readFileSync(join(dir, 'SHA256SUMS'), 'utf8')}`)
}

function writeVersions(root: string): void {
  for (const [file, [before, after]] of Object.entries(VERSIONED)) {
    replaceIn(
      root,
      file,
      new RegExp(`(${literal(before)})\\d+\\.\\d+\\.\\d+[^"\\s]*?(${literal(after)})`, 'g'),
      `$1${version}$2`,
    )
  }
  replaceIn(root, 'helm/tallystick/Chart.yaml', /^version: .*$/m, `version: ${version}`)
  replaceIn(root, 'helm/tallystick/Chart.yaml', /^appVersion: .*$/m, `appVersion: ${version}`)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  lock.version = version
  for (const part of ['', 'sdk', 'cli']) lock.packages[part].version = version
  writeFileSync(join(root, 'package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`)
}

/** Gives the changelog's unreleased section its heading. Throws if that section is empty. */
function writeChangelog(root: string): void {
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const [, said = ''] = text.split(UNRELEASED)
  if (!/^- /m.test(said.split(/^## /m)[0]!)) throw new Error('CHANGELOG.md has nothing under [Unreleased]')
  const today = new Date().toISOString().slice(0, 10)
  writeFileSync(
    join(root, 'CHANGELOG.md'),
    text.replace(UNRELEASED, `${UNRELEASED}\n## [${version}] - ${today}\n`),
  )
}

/**
 * Packs the chart and renames the file. Helm would give the chart the same name as npm gives the package of the command
 * line.
 */
function makeChart(helm: string, root: string, dir: string): void {
  const made = mkdtempSync(join(tmpdir(), 'tallystick-chart-'))
  execFileSync(helm, ['package', join(root, 'helm/tallystick'), '--destination', made], { stdio: 'ignore' })
  cpSync(join(made, `tallystick-${version}.tgz`), join(dir, `tallystick-chart-${version}.tgz`))
  rmSync(made, { recursive: true })
}

function makeImage(root: string): void {
  const engine = ['docker', 'podman', 'buildah'].find((name) => {
    try {
      execFileSync(name, ['info'], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
  if (engine === undefined) {
    console.log('no image: there is no container engine (docker, podman, buildah)')
    return
  }
  const revision = git(root, 'rev-parse', 'HEAD').trim()
  const tag = ['--tag', `tallystick:${version}`, '--build-arg', `REVISION=${revision}`]
  execFileSync(engine, ['build', ...tag, root], { stdio: 'inherit' })
}

function writeChecksums(dir: string): void {
  const lines = readdirSync(dir)
    .sort()
    .map(
      (file) =>
        `${createHash('sha256')
          .update(readFileSync(join(dir, file)))
          .digest('hex')}  ${file}\n`,
    )
  writeFileSync(join(dir, 'SHA256SUMS'), lines.join(''))
}

function replaceIn(root: string, file: string, pattern: RegExp, by: string): void {
  const text = readFileSync(join(root, file), 'utf8')
  if (!pattern.test(text)) throw new Error(`${file} has no version in the expected place`)
  writeFileSync(join(root, file), text.replace(pattern, by))
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' })
}
