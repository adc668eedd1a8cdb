/*
 * npm run pack
 *
 * Makes dist/tallystick-sdk-VERSION.tgz and dist/tallystick-VERSION.tgz: the packages as a registry would have them, to be
 * installed from here with `npm install FILE`.
 */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildCli } from './build-cli.ts'
import { buildSdk } from './build-sdk.ts'
import { ROOT } from './bundle.ts'

/** Each by the folder of its sources; they build into a folder, and answer the manifest that goes with that. */
const PACKAGES = { sdk: buildSdk, cli: buildCli }
export type PackageName = keyof typeof PACKAGES

if (import.meta.main) {
  for (const file of Object.values(await packAll(join(ROOT, 'dist')))) console.log(file)
}

/** Answers the files in `folder`. */
export async function packAll(folder: string): Promise<Record<PackageName, string>> {
  await mkdir(folder, { recursive: true })
  return { sdk: await pack('sdk', folder), cli: await pack('cli', folder) }
}

async function pack(name: PackageName, folder: string): Promise<string> {
  const stage = await mkdtemp(join(tmpdir(), 'tallystick-pack-'))
  try {
    await stagePackage(name, stage)
    const [packed] = JSON.parse(await npm(['pack', '--json', '--pack-destination', folder], stage)) as [
      { filename: string },
    ]
    return join(folder, packed.filename)
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}

/** All that is to be packed, and nothing else, in a folder of its own, so that no build of last week is packed. */
export async function stagePackage(name: PackageName, stage: string): Promise<void> {
  const manifest = await PACKAGES[name](join(stage, 'dist'))
  await writeFile(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await copyFile(join(ROOT, name, 'README.md'), join(stage, 'README.md'))
  await copyFile(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'))
}

/** Output of npm: the npm that started us, or the one on the PATH. */
export async function npm(args: readonly string[], cwd: string): Promise<string> {
  const self = process.env['npm_execpath']
  const [file, before] = self && /npm-cli\.c?js$/.test(self) ? [process.execPath, [self]] : ['npm', []]
  const { stdout } = await promisify(execFile)(file, [...before, ...args, '--loglevel=error'], { cwd })
  return stdout
}
