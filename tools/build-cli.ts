import { join } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild'
import {
  BUNDLE_OPTIONS,
  LOWEST_NODE,
  type Manifest,
  ROOT,
  readManifest,
  replaceFolder,
  writeLicences,
} from './bundle.ts'

/** A binary, and what only `verify --database` and archives in buckets need: loaded when they are needed. */
const EXTERNAL = ['pg', 'sodium-native', '@aws-sdk/client-s3']
/** The command line does without: it then verifies with node:crypto, and reads no bucket. */
const OPTIONAL = ['sodium-native', '@aws-sdk/client-s3']
const TARGET = `node${LOWEST_NODE}`
/**
 * Defines `require`, which CommonJS packages in the bundle call for Node's own modules. An ES module has none, and esbuild's substitute throws
 * when the chunk is loaded.
 */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/** A coding agent waits for each start of it: one file instead of 17 takes 10 ms less, and CommonJS 8 ms less again. */
const HOOK = 'cli/commands/hook.ts'
const ownHook: Plugin = {
  name: 'hook',
  setup: ({ onResolve }) =>
    onResolve({ filter: /commands\/hook\.ts$/ }, () => ({ path: './hook.cjs', external: true })),
}

type CliManifest = Manifest & { readonly private?: boolean }
export type PackedCli = CliManifest & {
  readonly bin: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/**
 * Makes what the package `tallystick` runs: the command line with a chunk for each command, `hook` by itself, and the verification thread, which
 * src/verify/entry-pool.ts looks for beside itself: all in one folder. Answers the manifest that goes with it, because in this
 * repository the command is the TypeScript source, and has what the server has installed.
 */
export async function buildCli(outDir: string): Promise<PackedCli> {
  let packages: string[] = []
  await replaceFolder(outDir, async (folder) => {
    const { metafile } = await build({
      ...BUNDLE_OPTIONS,
      entryPoints: ['cli/tallystick.ts', 'src/verify/entry-worker.ts'],
      entryNames: '[name]',
      outdir: folder,
      platform: 'node',
      target: TARGET,
      banner: { js: REQUIRE },
      external: EXTERNAL,
      plugins: [ownHook],
    })
    await build({
      ...BUNDLE_OPTIONS,
      entryPoints: { hook: HOOK },
      splitting: false,
      format: 'cjs',
      outExtension: { '.js': '.cjs' },
      outdir: folder,
      platform: 'node',
      target: TARGET,
    })
    packages = importedPackages(metafile)
    await writeLicences(metafile, folder)
  })
  return manifestOf(packages)
}

function importedPackages({ outputs }: Metafile): string[] {
  const imports = Object.values(outputs).flatMap((output) => output.imports)
  const names = imports.filter(({ external, path }) => external && !/^(node:|\.)/.test(path))
  return [...new Set(names.map(({ path }) => path))].sort()
}

/** The versions used here, where the tests run. */
function manifestOf(packages: readonly string[]): PackedCli {
  const { private: _private, ...manifest } = readManifest<CliManifest>(join(ROOT, 'cli'))
  const versions = readManifest(ROOT).dependencies!
  const pinned = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, versions[name]!] as const))
  return {
    ...manifest,
    bin: { tallystick: 'dist/tallystick.js' },
    dependencies: pinned(packages.filter((name) => !OPTIONAL.includes(name))),
    optionalDependencies: pinned(packages.filter((name) => OPTIONAL.includes(name))),
  }
}
