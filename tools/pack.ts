/*
 * npm run pack
 *
 * Makes dist/tallystick-sdk-VERSION.tgz and dist/tallystick-VERSION.tgz: the packages as a registry would have them, to be
 * installed from here with `npm install FILE`. With --adapters also those of adapters/, once `npm run adapters` has installed their libraries.
 */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ADAPTERS, type AdapterName, buildAdapter } from './build-adapters.ts'
import { buildCli } from './build-cli.ts'
import { buildSdk } from './build-sdk.ts'
import { type Manifest, ROOT } from './bundle.ts'

type Source = {
  /** Folder of its sources. */
  readonly folder: string
  /** Builds into a folder, and answers the manifest that goes with that. */
  readonly build: (outDir: string) => Promise<Manifest>
}

const PACKAGES = {
  sdk: { folder: 'sdk', build: buildSdk },
  cli: { folder: 'cli', build: buildCli },
} as const satisfies Record<string, Source>
export type PackageName = keyof typeof PACKAGES

if (import.meta.main) {
  const folder = join(ROOT, 'dist')
  const packed = Object.values(await packAll(folder))
  if (process.argv.includes('--adapters')) packed.push(...Object.values(await packAdapters(folder)))
  for (const file of packed) console.log(file)
}

/** Answers the files in `folder`. */
export async function packAll(folder: string): Promise<Record<PackageName, string>> {
  await mkdir(folder, { recursive: true })
  return { sdk: await pack(PACKAGES.sdk, folder), cli: await pack(PACKAGES.cli, folder) }
}

/** They need what `npm run adapters` installs. */
export async function packAdapters(folder: string): Promise<Record<AdapterName, string>> {
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

/** All that is to be packed, and nothing else, in a folder of its own, so that no build of last week is packed. */
export function stagePackage(name: PackageName, stage: string): Promise<void> {
  return stageSource(PACKAGES[name], stage)
}

async function stageSource({ folder, build }: Source, stage: string): Promise<void> {
  const manifest = await build(join(stage, 'dist'))
  await writeFile(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await copyFile(join(ROOT, folder, 'README.md'), join(stage, 'README.md'))
  await copyFile(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'))
}

/** Output of npm: the npm that started us, or the one on the PATH. */
export async function npm(args: readonly string[], cwd: string): Promise<string> {
  const self = process.env['npm_execpath']
  const [file, before] = self && /npm-cli\.c?js$/.test(self) ? [process.execPath, [self]] : ['npm', []]
  const { stdout } = await promisify(execFile)(file, [...before, ...args, '--loglevel=error'], { cwd })
  return stdout
}
