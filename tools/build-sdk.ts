/*
 * npm run build
 *
 * Builds sdk/dist, the installable @tallystick/sdk: an ES module for each entry of its `exports`, shared chunks, and
 * the types.
 */
import { execFile } from 'node:child_process'
import { glob, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build, type Plugin } from 'esbuild'
import { BUNDLE_OPTIONS, type Manifest, ROOT, readManifest, replaceFolder, writeLicences } from './bundle.ts'

const SDK = join(ROOT, 'sdk')
/** Language level of the lowest supported Node, and of browsers of that time. */
export const TARGET = 'es2022'

/**
 * Makes the client import the verifier and webhooks as separate entries. In one bundle, esbuild would turn the
 * namespaces `verify` and `webhooks` into objects that no bundler can drop. Then the client in an application would
 * have 51 KiB (gzipped) instead of 12 KiB.
 */
const keepNamespacesApart: Plugin = {
  name: 'keep the namespaces apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/(verify|webhooks)\/index\.ts$/ }, ({ importer, path }) =>
      importer === join(SDK, 'index.ts') ? { path: path.replace(/\.ts$/, '.js'), external: true } : null,
    )
  },
}

type Entry = { readonly types: string; readonly default: string }
export type SdkManifest = Manifest & { readonly exports: Readonly<Record<string, Entry | string>> }

if (import.meta.main) await buildSdk()

/** Builds the SDK. Replaces `outDir` as a whole. Returns the SDK's manifest. */
export async function buildSdk(outDir = join(SDK, 'dist')): Promise<SdkManifest> {
  const manifest = readManifest<SdkManifest>(SDK)
  await replaceFolder(outDir, async (folder) => {
    await Promise.all([
      bundle(manifest, folder),
      declareTypes(join(SDK, 'tsconfig.build.json'), join(folder, 'types')),
    ])
  })
  return manifest
}

async function bundle(manifest: SdkManifest, outdir: string): Promise<void> {
  const { metafile } = await build({
    ...BUNDLE_OPTIONS,
    entryPoints: entriesOf(manifest),
    outdir,
    chunkNames: 'chunks/[name]-[hash]',
    platform: 'neutral',
    target: TARGET,
    external: ['node:*', ...Object.keys(manifest.dependencies ?? {})],
    plugins: [keepNamespacesApart],
  })
  await writeLicences(metafile, outdir)
}

/**
 * Returns the entry points that `exports` names. For example, `./dist/verify/index.js` is built from
 * sdk/verify/index.ts.
 */
function entriesOf({ exports }: SdkManifest): Record<string, string> {
  const names = Object.values(exports)
    .filter((entry) => typeof entry !== 'string')
    .map((entry) => /^\.\/dist\/(.+)\.js$/.exec(entry.default)![1]!)
  return Object.fromEntries(names.map((name) => [name, join(SDK, `${name}.ts`)]))
}

export async function declareTypes(project: string, folder: string): Promise<void> {
  const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
  await promisify(execFile)(tsc, ['-p', project, '--outDir', folder]).catch(
    ({ stdout }: { stdout: string }) => {
      throw new Error(`the types of ${project} are wrong:\n${stdout}`)
    },
  )
  for await (const name of glob('**/*.d.ts', { cwd: folder })) {
    const file = join(folder, name)
    await writeFile(file, nameJavaScript(await readFile(file, 'utf8')))
  }
}

/**
 * Replaces `.ts` by `.js` in declarations. tsc leaves names such as `./client.ts` unchanged, but an installed package
 * has no such file.
 */
function nameJavaScript(declarations: string): string {
  return declarations.replaceAll(/((?:from |import\()["']\.[^"']*)\.ts(?=["'])/g, '$1.js')
}
