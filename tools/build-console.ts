/*
 * node tools/run.mjs tools/build-console.ts [--if-stale]
 *
 * Builds console/dist, which a server serves at /console:
 *
 * - index.html and its files, with a hash of their content in their names. The verifier is in separate files that are
 *   loaded on demand.
 * - verify.html, everything in one file, for browsers that open it from a disk, where modules do not load.
 *
 * With --if-stale it builds only if a source has changed.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { type BuildOptions, build, type Metafile } from 'esbuild'
import { TARGET } from './build-sdk.ts'
import { BUNDLE_OPTIONS, ROOT, replaceFolder, writeLicences } from './bundle.ts'

const CONSOLE = join(ROOT, 'console')
const DIST = join(CONSOLE, 'dist')
/** File with the names of a build's sources and their digest. */
const SOURCES = 'sources.json'
const ICON = 'icon.svg'
const TEMPLATES = ['index.html', 'verify.html', ICON].map((name) => `console/${name}`)
const SELF = 'tools/build-console.ts'

const OPTIONS = {
  ...BUNDLE_OPTIONS,
  minify: true,
  platform: 'browser',
  target: TARGET,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
} as const satisfies BuildOptions

if (import.meta.main) {
  if (!(process.argv.includes('--if-stale') && isFresh())) await buildConsole()
}

/** Builds the console. Replaces `outDir` as a whole. */
export async function buildConsole(outDir = DIST): Promise<void> {
  await replaceFolder(outDir, async (folder) => {
    const [pages, offline] = await Promise.all([bundlePages(folder), bundleOffline()])
    await writeFile(join(folder, 'index.html'), await makeIndex(pages))
    await writeFile(join(folder, 'verify.html'), await makeOffline(offline.code, offline.styles))
    await copyFile(join(CONSOLE, ICON), join(folder, ICON))
    await writeLicences(pages, folder)
    await compress(folder)
    const sources = [
      ...new Set([...Object.keys(pages.inputs), ...Object.keys(offline.inputs), ...TEMPLATES, SELF]),
    ]
    await writeFile(join(folder, SOURCES), JSON.stringify({ sources, digest: digestOf(sources) }))
  })
}

async function bundlePages(outdir: string): Promise<Metafile> {
  const entryPoints = { console: 'console/main.tsx', styles: 'console/styles.css' }
  return (await build({ ...OPTIONS, entryPoints, outdir })).metafile
}

async function bundleOffline() {
  const entryPoints = ['console/offline.tsx', 'console/styles.css']
  const { outputFiles, metafile } = await build({
    ...OPTIONS,
    splitting: false,
    format: 'iife',
    entryPoints,
    outdir: DIST,
    write: false,
  })
  const textOf = (extension: string) => outputFiles.find(({ path }) => path.endsWith(extension))!.text
  return { code: textOf('.js'), styles: textOf('.css'), inputs: metafile.inputs }
}

async function makeIndex({ outputs }: Metafile): Promise<string> {
  const made = Object.entries(outputs)
  const nameOf = (source: string) => {
    const [path] = made.find(([, { entryPoint }]) => entryPoint === source)!
    return path.split('/').at(-1)!
  }
  const template = await readFile(join(CONSOLE, 'index.html'), 'utf8')
  return template
    .replace('STYLES', nameOf('console/styles.css'))
    .replace('SCRIPT', nameOf('console/main.tsx'))
}

/**
 * Builds verify.html. The page's content security policy names script and styles by digest, and permits no request to
 * any server.
 */
async function makeOffline(code: string, styles: string): Promise<string> {
  const script = code.replaceAll('</script', '<\\/script')
  const [ofScript, ofStyles] = [script, styles].map(
    (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  )
  const policy = `default-src 'none'; script-src ${ofScript}; style-src ${ofStyles}; base-uri 'none'; form-action 'none'`
  const template = await readFile(join(CONSOLE, 'verify.html'), 'utf8')
  const parts: Record<string, string> = { POLICY: policy, STYLES: styles, SCRIPT: script }
  return template.replaceAll(/POLICY|STYLES|SCRIPT/g, (name) => parts[name]!)
}

/** Writes compressed copies of the files. The server sends a copy to browsers that accept its compression. */
async function compress(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /\.(html|js|css)$/.test(name))
  await Promise.all(
    names.map(async (name) => {
      const bytes = await readFile(join(folder, name))
      await writeFile(join(folder, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }))
      await writeFile(join(folder, `${name}.br`), await promisify(brotliCompress)(bytes))
    }),
  )
}

function isFresh(): boolean {
  try {
    const { sources, digest } = JSON.parse(readFileSync(join(DIST, SOURCES), 'utf8'))
    return digestOf(sources) === digest
  } catch {
    return false
  }
}

function digestOf(sources: readonly string[]): string {
  const digest = createHash('sha256')
  for (const source of sources) digest.update(readFileSync(join(ROOT, source)))
  return digest.digest('hex')
}
