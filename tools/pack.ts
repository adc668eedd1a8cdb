/*
 * npm run pack
 *
 * Makes dist/tallystick-sdk-VERSION.tgz and dist/tallystick-VERSION.tgz for `npm install FILE`: the same packages as
 * in a registry. With --adapters it also installs the libraries of adapters/ and packs the adapters. With --python it
 * makes the wheel and the source distribution of python/.
 */
import { execFile } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ADAPTERS, type AdapterName, buildAdapter } from './build-adapters.ts'
import { buildCli } from './build-cli.ts'
import { buildSdk } from './build-sdk.ts'
import { type Manifest, ROOT, readManifest } from './bundle.ts'
import { installPythonTool } from './python-tool.ts'

type Source = {
  readonly folder: string
  /** Builds into a folder and returns the package's manifest. */
  readonly build: (outDir: string) => Promise<Manifest>
}

type Engines = { readonly engines: { readonly node: string } }

const PACKAGES = {
  sdk: { folder: 'sdk', build: buildSdk },
  cli: { folder: 'cli', build: buildCli },
} as const satisfies Record<string, Source>
export type PackageName = keyof typeof PACKAGES

/** Files that tools leave in python/. They are not packed. */
const NOT_PACKED = /[/\\](__pycache__|dist|\.[^/\\]+)$/

if (import.meta.main) {
  const folder = join(ROOT, 'dist')
  const packed = Object.values(await packAll(folder))
  if (process.argv.includes('--adapters')) packed.push(...Object.values(await packAdapters(folder)))
  if (process.argv.includes('--python')) packed.push(...(await packPython(folder)))
  for (const file of packed) console.log(file)
}

/** Packs the SDK and the command line. Returns the paths of the packages in `folder`. */
export async function packAll(folder: string): Promise<Record<PackageName, string>> {
  await mkdir(folder, { recursive: true })
  return { sdk: await pack(PACKAGES.sdk, folder), cli: await pack(PACKAGES.cli, folder) }
}

/** Installs the adapters' libraries. Installs them again if the lockfile has changed. */
export async function installAdapters(): Promise<void> {
  const adapters = join(ROOT, 'adapters')
  const lock = readFileSync(join(adapters, 'package-lock.json'), 'utf8')
  const installed = join(adapters, 'node_modules', '.installed-lock.json')
  if (globSync(installed).length > 0 && readFileSync(installed, 'utf8') === lock) return
  await npm(['ci', '--no-audit', '--no-fund'], adapters)
  // The lockfile's copy is written last, so that an interrupted installation is repeated.
  writeFileSync(installed, lock)
}

/** Makes wheel and source distribution with the build system that python/'s manifest names. */
export async function packPython(folder: string): Promise<string[]> {
  const hatchling = installPythonTool('hatchling', join(ROOT, 'tools', 'python-build.txt'))
  const stage = await mkdtemp(join(tmpdir(), 'tallystick-pack-'))
  try {
    await cp(join(ROOT, 'python'), stage, { recursive: true, filter: (path) => !NOT_PACKED.test(path) })
    await copyFile(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'))
    const made = join(stage, 'dist')
    await promisify(execFile)(hatchling, ['build', '--directory', made], { cwd: stage })
    const names = (await readdir(made)).sort()
    for (const name of names) await copyFile(join(made, name), join(folder, name))
    return names.map((name) => join(folder, name))
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}

/** Packs the adapters. The SDK is built first, because the adapters' types need it. */
export async function packAdapters(folder: string): Promise<Record<AdapterName, string>> {
  await installAdapters()
  await buildSdk()
  const files = ADAPTERS.map(async (name) => {
    const source = { folder: `adapters/${name}`, build: (outDir: string) => buildAdapter(name, outDir) }
    return [name, await pack(source, folder)] as const
  })
  return Object.fromEntries(await Promise.all(files)) as Record<AdapterName, string>
}

async function pack(source: Source, folder: string): Promise<string> {
  const stage = await mkdtemp(join(tmpdir(), 'tallystick-pack-'))
  try {
    await stageSource(source, stage)
    const [packed] = JSON.parse(await npm(['pack', '--json', '--pack-destination', folder], stage)) as [
      { filename: string },
    ]
    return join(folder, packed.filename)
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}

/**
 * Writes the files of a package into a new folder, so that no old build is packed. The package requires the lowest
 * supported Node, unless its own manifest requires a later one.
 */
export function stagePackage(name: PackageName, stage: string): Promise<void> {
  return stageSource(PACKAGES[name], stage)
}

async function stageSource({ folder, build }: Source, stage: string): Promise<void> {
  const { engines } = readManifest<Engines>(ROOT)
  const manifest = { engines, ...(await build(join(stage, 'dist'))) }
  await writeFile(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await copyFile(join(ROOT, folder, 'README.md'), join(stage, 'README.md'))
  await copyFile(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'))
}

/** Runs npm and returns its output. Uses the npm that started this process, or otherwise the npm on the PATH. */
export async function npm(args: readonly string[], cwd: string): Promise<string> {
  const self = process.env['npm_execpath']
  const [file, before] = self && /npm-cli\.c?js$/.test(self) ? [process.execPath, [self]] : ['npm', []]
  const { stdout } = await promisify(execFile)(file, [...before, ...args, '--loglevel=error'], { cwd })
  return stdout
}
