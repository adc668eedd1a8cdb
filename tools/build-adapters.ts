import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { declareTypes, TARGET } from './build-sdk.ts'
import { BUNDLE_OPTIONS, type Manifest, ROOT, readManifest, replaceFolder } from './bundle.ts'

/** Names of the adapters. Each is also the name of the folder with the adapter's sources. */
export const ADAPTERS = ['openai-agents', 'langchain', 'ai-sdk', 'a2a'] as const
export type AdapterName = (typeof ADAPTERS)[number]

type AdapterManifest = Manifest & { readonly peerDependencies: Readonly<Record<string, string>> }

/** The manifest in adapters/. The adapter's version and the SDK's version come from sdk/. */
type AdapterSource = Omit<AdapterManifest, 'version'>

/**
 * Builds an adapter for installation: one ES module, including the code that adapters share, and its types. Needs the
 * built SDK and the packages of adapters/package-lock.json. Returns the adapter's manifest, which has the SDK's
 * version.
 */
export async function buildAdapter(name: AdapterName, outDir: string): Promise<AdapterManifest> {
  const source = join(ROOT, 'adapters', name)
  const manifest = readManifest<AdapterSource>(source)
  const { version } = readManifest(join(ROOT, 'sdk'))
  const peers = { ...manifest.peerDependencies, '@tallystick/sdk': version }
  await replaceFolder(outDir, async (folder) => {
    await Promise.all([
      build({
        ...BUNDLE_OPTIONS,
        splitting: false,
        entryPoints: [join(source, 'index.ts')],
        outdir: folder,
        platform: 'neutral',
        target: TARGET,
        external: ['node:*', ...Object.keys(peers).flatMap((peer) => [peer, `${peer}/*`])],
      }),
      declareTypesOf(name, join(folder, 'types')),
    ])
  })
  return { ...manifest, version, peerDependencies: peers }
}

async function declareTypesOf(name: AdapterName, folder: string): Promise<void> {
  const config = join(ROOT, 'adapters', name, 'dist', 'tsconfig.json')
  await mkdir(dirname(config), { recursive: true })
  const compilerOptions = {
    rootDir: '../..',
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    noEmitOnError: true,
  }
  const include = ['../index.ts']
  await writeFile(
    config,
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include, exclude: [] }),
  )
  await declareTypes(config, folder)
}
