import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { BuildOptions, Metafile } from 'esbuild'

export const ROOT = resolve(import.meta.dirname, '..')

export type Manifest = {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Options for ES modules that an auditor can read: they are not minified, so they need no source maps. */
export const BUNDLE_OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  splitting: true,
  format: 'esm',
  charset: 'utf8',
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions

/**
 * The lowest version of Node that the packages support. It comes from `engines` of package.json, which is the only file
 * that states it.
 */
export const LOWEST_NODE = /^>=(\d+\.\d+)$/.exec(
  readManifest<{ engines: { node: string } }>(ROOT).engines.node,
)![1]!

export function readManifest<T = Manifest>(folder: string): T {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as T
}

/**
 * Builds a new folder beside the old folder, and then replaces the old folder. So a process that reads the old folder,
 * or builds at the same time, never finds a partial build.
 */
export async function replaceFolder(folder: string, make: (beside: string) => Promise<void>): Promise<void> {
  const build = randomUUID()
  const beside = `${folder}.new-${build}`
  const old = `${folder}.old-${build}`
  try {
    await make(beside)
    for (;;) {
      try {
        return await rename(beside, folder)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
      }
      await rename(folder, old).catch(ignoreMissing)
      await rm(old, { recursive: true, force: true })
    }
  } finally {
    await rm(beside, { recursive: true, force: true })
  }
}

/** Ignores the error that the old folder is missing. Another build has moved it away first. */
function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/** Writes the licences of the bundled packages, because each licence requires its notice in every copy. */
export async function writeLicences(metafile: Metafile, folder: string): Promise<void> {
  const notices = bundledPackages(metafile).map((name) => {
    const path = join(ROOT, 'node_modules', name)
    const { version } = readManifest(path)
    return `# ${name} ${version}\n\n${readFileSync(join(path, 'LICENSE'), 'utf8').trim()}\n`
  })
  await writeFile(
    join(folder, 'LICENSES.md'),
    `Code of these packages is part of this one.\n\n${notices.join('\n')}`,
  )
}

function bundledPackages({ inputs }: Metafile): string[] {
  const names = Object.keys(inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
  return [...new Set(names.filter((name) => name !== undefined))].sort()
}
