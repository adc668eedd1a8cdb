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

/**
 * Packages that are not bundled, because they are loaded only when they are needed. `verify --database` needs pg.
 * Archives in buckets need the S3 client. sodium-native is a native module.
 */
const EXTERNAL = ['pg', 'sodium-native', '@aws-sdk/client-s3']
/**
 * Optional packages. Without sodium-native the command line verifies with node:crypto. Without the S3 client it cannot
 * read buckets.
 */
const OPTIONAL = ['sodium-native', '@aws-sdk/client-s3']
const TARGET = `node${LOWEST_NODE}`
/**
 * Defines `require`, which CommonJS packages in the bundle call for Node's modules. An ES module has no `require`,
 * and esbuild's substitute throws when the chunk is loaded.
 */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

/**
 * The hook is one CommonJS file, because a coding agent waits for each start of it. One file instead of 17 saves 10
 * ms, and CommonJS saves another 8 ms.
 */
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
 * Builds the package `tallystick` in one folder: a chunk for each command, `hook` as a separate file, and the
 * verification thread. src/verify/entry-pool.ts looks for the thread in its own folder.
 *
 * Returns the package's manifest. The manifest in cli/ does not fit, because in this repository the command is
 * TypeScript source and uses the server's packages.
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

/** Makes the manifest. It pins the versions of this repository, because the tests run with them. */
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
